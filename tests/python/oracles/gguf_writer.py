"""Writes small GGUF files (version 3, little endian), for tests only.

Source: the GGUF specification (``docs/gguf.md`` of ggml).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Tensor = tuple[str, tuple[int, ...], int, bytes]
"""Name, shape (row-major), type code, data."""


def text(value: str) -> bytes:
    """A length-prefixed string; lone surrogates stand for raw bytes (``surrogateescape``)."""
    raw = value.encode("utf-8", errors="surrogateescape")
    return struct.pack("<Q", len(raw)) + raw


def value_bytes(value: Any) -> bytes:
    """Type code and value: bools, u32, f32, strings, and lists of i32, f32 or strings."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    kind = {str: 8, int: 5, float: 6}[type(value[0])] if value else 8
    head = struct.pack("<IIQ", 9, kind, len(value))
    if kind == 8:
        return head + b"".join(text(v) for v in value)
    return head + struct.pack(f"<{len(value)}{'i' if kind == 5 else 'f'}", *value)


def gguf_bytes(metadata: Mapping[str, Any], tensors: Sequence[Tensor] = ()) -> bytes:
    """A whole file, tensor data aligned to 32 bytes."""
    out = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
    for key, value in metadata.items():
        out += text(key) + value_bytes(value)
    offset = 0
    for name, shape, code, data in tensors:
        out += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        out += struct.pack("<IQ", code, offset)
        offset += (len(data) + 31) // 32 * 32
    for _, _, _, data in tensors:
        out += bytes(-len(out) % 32) + data
    return bytes(out)


def write_gguf(path: Path, metadata: Mapping[str, Any], tensors: Sequence[Tensor] = ()) -> Path:
    """Writes the file and gives its path back."""
    path.write_bytes(gguf_bytes(metadata, tensors))
    return path
