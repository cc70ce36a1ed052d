"""GGUF block formats to float32, from the format specification.

Source: the block layouts of the GGUF / ggml format (``docs/gguf.md`` and the ``block_*`` structs
of ggml). Each row of a tensor is a sequence of blocks; all fields are little-endian. A block's
value is exact in float32 up to one rounding, so any correct implementation agrees bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]

# Elements dequantised at a time; bounds the temporaries to a few tens of MB.
_CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class BlockFormat:
    """A tensor type of GGUF: its number in the file, elements and bytes of a block."""

    name: str
    type_id: int
    block_elements: int
    block_bytes: int
    decode: Callable[[U8], F32]
    """(blocks, block_bytes) uint8 -> (blocks, block_elements) float32."""


def _f16(column: U8) -> F32:
    """(blocks, 2) bytes -> (blocks, 1) float32."""
    return np.ascontiguousarray(column).view(np.dtype("<f2")).astype(np.float32)


def _nibbles(qs: U8) -> U8:
    """(blocks, 16) bytes -> (blocks, 32): all low halves, then all high halves."""
    return np.concatenate([qs & 0x0F, qs >> 4], axis=-1)


def _fifth_bits(qh: U8) -> U8:
    """(blocks, 4) bytes, a little-endian u32 -> (blocks, 32) values 0 or 16."""
    result: U8 = np.unpackbits(qh, axis=-1, bitorder="little") << np.uint8(4)
    return result


def _decode_f32(b: U8) -> F32:
    return np.ascontiguousarray(b).view(np.dtype("<f4")).astype(np.float32)


def _decode_f16(b: U8) -> F32:
    return _f16(b)


def _decode_bf16(b: U8) -> F32:
    half = np.ascontiguousarray(b).view(np.dtype("<u2")).astype(np.uint32)
    result: F32 = (half << np.uint32(16)).view(np.float32)
    return result


def _decode_q4_0(b: U8) -> F32:
    result: F32 = _f16(b[:, 0:2]) * (_nibbles(b[:, 2:18]).astype(np.float32) - np.float32(8))
    return result


def _decode_q4_1(b: U8) -> F32:
    return _f16(b[:, 0:2]) * _nibbles(b[:, 4:20]).astype(np.float32) + _f16(b[:, 2:4])


def _decode_q5_0(b: U8) -> F32:
    q = _nibbles(b[:, 6:22]) | _fifth_bits(b[:, 2:6])
    result: F32 = _f16(b[:, 0:2]) * (q.astype(np.float32) - np.float32(16))
    return result


def _decode_q5_1(b: U8) -> F32:
    q = _nibbles(b[:, 8:24]) | _fifth_bits(b[:, 4:8])
    return _f16(b[:, 0:2]) * q.astype(np.float32) + _f16(b[:, 2:4])


def _decode_q8_0(b: U8) -> F32:
    q = np.ascontiguousarray(b[:, 2:34]).view(np.int8)
    return _f16(b[:, 0:2]) * q.astype(np.float32)


def _k_scales(s: U8) -> tuple[U8, U8]:
    """(blocks, 12) packed bytes -> scales and minima, (blocks, 8) each, 6 bits a value.

    Bytes 0-3 hold scales 0-3 and bytes 4-7 minima 0-3 in their low six bits. Bytes 8-11 hold the
    low four bits of scales 4-7 (low half) and minima 4-7 (high half); their top two bits are the
    top two bits of bytes 0-3 and 4-7.
    """
    first, second, third = s[:, 0:4], s[:, 4:8], s[:, 8:12]
    scale = np.concatenate([first & 63, (third & 15) | ((first >> 6) << 4)], axis=-1)
    minimum = np.concatenate([second & 63, (third >> 4) | ((second >> 6) << 4)], axis=-1)
    return scale, minimum


def _k_affine(b: U8, q: U8) -> F32:
    """Value ``d*scale*q - dmin*minimum`` for q of shape (blocks, 8 sub-blocks, 32)."""
    scale, minimum = _k_scales(b[:, 4:16])
    d = _f16(b[:, 0:2]) * scale.astype(np.float32)
    m = _f16(b[:, 2:4]) * minimum.astype(np.float32)
    return (d[:, :, None] * q.astype(np.float32) - m[:, :, None]).reshape(b.shape[0], 256)


def _decode_q4_k(b: U8) -> F32:
    # Each 32 bytes hold two sub-blocks: low halves the even one, high halves the odd one.
    qs = b[:, 16:144].reshape(-1, 4, 1, 32)
    q = np.concatenate([qs & 15, qs >> 4], axis=2).reshape(-1, 8, 32)
    return _k_affine(b, q)


def _decode_q5_k(b: U8) -> F32:
    qh = b[:, None, 16:48]
    qs = b[:, 48:176].reshape(-1, 4, 1, 32)
    low = np.concatenate([qs & 15, qs >> 4], axis=2).reshape(-1, 8, 32)
    sub_block = np.arange(8, dtype=np.uint8).reshape(1, 8, 1)
    return _k_affine(b, low | (((qh >> sub_block) & 1) << 4))


def _decode_q6_k(b: U8) -> F32:
    n = b.shape[0]
    ql = b[:, 0:128].reshape(n, 2, 2, 32)  # half, (first, second) 32 bytes, byte
    qh = b[:, 128:192].reshape(n, 2, 1, 32)
    scale = np.ascontiguousarray(b[:, 192:208]).view(np.int8).astype(np.float32)
    low = np.concatenate([ql & 15, ql >> 4], axis=2)  # half, quarter, element
    shift = np.array([0, 2, 4, 6], dtype=np.uint8).reshape(1, 1, 4, 1)
    q = (low | (((qh >> shift) & 3) << 4)).astype(np.float32) - np.float32(32)
    d = _f16(b[:, 208:210]) * scale
    values: F32 = d[:, :, None] * q.reshape(n, 16, 16)
    return values.reshape(n, 256)


FORMATS: dict[str, BlockFormat] = {
    f.name: f
    for f in (
        BlockFormat("F32", 0, 1, 4, _decode_f32),
        BlockFormat("F16", 1, 1, 2, _decode_f16),
        BlockFormat("Q4_0", 2, 32, 18, _decode_q4_0),
        BlockFormat("Q4_1", 3, 32, 20, _decode_q4_1),
        BlockFormat("Q5_0", 6, 32, 22, _decode_q5_0),
        BlockFormat("Q5_1", 7, 32, 24, _decode_q5_1),
        BlockFormat("Q8_0", 8, 32, 34, _decode_q8_0),
        BlockFormat("Q4_K", 12, 256, 144, _decode_q4_k),
        BlockFormat("Q5_K", 13, 256, 176, _decode_q5_k),
        BlockFormat("Q6_K", 14, 256, 210, _decode_q6_k),
        BlockFormat("BF16", 30, 1, 2, _decode_bf16),
    )
}
FORMAT_OF_ID: dict[int, BlockFormat] = {f.type_id: f for f in FORMATS.values()}


def dequantize(name: str, data: U8) -> F32:
    """Dequantise whole blocks of format `name` (such as ``"Q4_K"``).

    `data` is uint8 of any shape and a multiple of the block's bytes; the result is flat float32
    with ``data.size // block_bytes * block_elements`` elements. Raises ValueError on a partial
    block.
    """
    fmt = FORMATS[name]
    if data.dtype != np.uint8 or data.size % fmt.block_bytes != 0:
        raise ValueError(
            f"{name}: expected uint8 in blocks of {fmt.block_bytes} bytes, "
            f"got {data.size} values of {data.dtype}"
        )
    blocks = data.reshape(-1, fmt.block_bytes)
    out = np.empty((blocks.shape[0], fmt.block_elements), dtype=np.float32)
    step = max(1, _CHUNK_ELEMENTS // fmt.block_elements)
    for start in range(0, blocks.shape[0], step):
        out[start : start + step] = fmt.decode(blocks[start : start + step])
    return out.reshape(-1)


def random_blocks(name: str, count: int, rng: np.random.Generator) -> U8:
    """(count, block_bytes) random blocks of `name`: every quant pattern, small finite scales."""
    fmt = FORMATS[name]
    if fmt.block_elements == 1:
        values = rng.standard_normal(count).astype(np.float32)
        if name == "F16":
            return values.astype(np.float16).view(np.uint8).reshape(count, 2)
        if name == "BF16":
            result: U8 = values.view(np.uint8).reshape(count, 4)[:, 2:4].copy()
            return result
        return values.view(np.uint8).reshape(count, 4)
    blocks = rng.integers(0, 256, (count, fmt.block_bytes), dtype=np.uint8)
    halves = {"Q4_1": 2, "Q5_1": 2, "Q4_K": 2, "Q5_K": 2}.get(name, 1)
    start = 208 if name == "Q6_K" else 0
    scales = (rng.standard_normal((count, halves)) * 0.02).astype(np.float16)
    blocks[:, start : start + 2 * halves] = scales.view(np.uint8).reshape(count, 2 * halves)
    return blocks
