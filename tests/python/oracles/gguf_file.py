"""A small reader of GGUF files (versions 2 and 3, little-endian), for tests only.

Source: the GGUF specification (``docs/gguf.md`` of ggml). It trusts its input: the files of the
test models. Shapes are in NumPy order (slowest dimension first), the reverse of the file's.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dequant import FORMAT_OF_ID, BlockFormat, dequantize

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file; `data` are its bytes, mapped and read-only."""

    name: str
    shape: tuple[int, ...]
    format: BlockFormat
    data: NDArray[np.uint8]

    def dequantized(self) -> NDArray[np.float32]:
        """A new float32 array of `shape`."""
        return dequantize(self.format.name, self.data).reshape(self.shape)


class GgufFile:
    """Metadata and tensors of one file. `metadata` holds Python scalars, strings and lists."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._bytes = np.memmap(self.path, dtype=np.uint8, mode="r")
        self._buffer = memoryview(self._bytes.data)
        self._at = 0
        if bytes(self._take(4)) != b"GGUF":
            raise ValueError(f"{path}: not a GGUF file")
        self.version = int(self._scalar("<I"))
        if self.version not in (2, 3):
            raise ValueError(f"{path}: GGUF version {self.version}, expected 2 or 3")
        tensor_count = int(self._scalar("<Q"))
        key_count = int(self._scalar("<Q"))
        keys_start = self._at
        self.metadata: dict[str, Any] = {}
        for _ in range(key_count):
            key = self._string()
            self.metadata[key] = self._value(int(self._scalar("<I")))
        self._keys = (key_count, keys_start, self._at)
        infos: list[tuple[str, tuple[int, ...], BlockFormat, int]] = []
        for _ in range(tensor_count):
            name = self._string()
            rank = int(self._scalar("<I"))
            dims = struct.unpack(f"<{rank}Q", self._take(8 * rank))
            fmt = FORMAT_OF_ID[int(self._scalar("<I"))]
            infos.append((name, tuple(reversed(dims)), fmt, int(self._scalar("<Q"))))
        alignment = int(self.metadata.get("general.alignment", 32))
        start = _round_up(self._at, alignment)
        self.tensors: dict[str, Tensor] = {}
        for name, shape, fmt, offset in infos:
            size = int(np.prod(shape)) // fmt.block_elements * fmt.block_bytes
            data = self._bytes[start + offset : start + offset + size]
            self.tensors[name] = Tensor(name, shape, fmt, data)

    def get(self, key: str, default: Any = None) -> Any:
        """Metadata of the file's architecture: ``get("block_count")`` is ``llama.block_count``."""
        return self.metadata.get(f"{self.metadata['general.architecture']}.{key}", default)

    def write_as_f32(self, path: str | Path) -> None:
        """Write the same model with every tensor expanded to F32 and the same metadata."""
        key_count, keys_start, keys_end = self._keys
        alignment = int(self.metadata.get("general.alignment", 32))
        with Path(path).open("wb") as out:
            out.write(b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), key_count))
            out.write(self._buffer[keys_start:keys_end])
            offset = 0
            for t in self.tensors.values():
                name = t.name.encode()
                out.write(struct.pack("<Q", len(name)) + name)
                out.write(struct.pack(f"<I{len(t.shape)}Q", len(t.shape), *reversed(t.shape)))
                out.write(struct.pack("<IQ", 0, offset))
                offset = _round_up(offset + 4 * int(np.prod(t.shape)), alignment)
            for t in self.tensors.values():
                out.write(b"\0" * (_round_up(out.tell(), alignment) - out.tell()))
                t.dequantized().tofile(out)

    def _take(self, count: int) -> memoryview:
        piece = self._buffer[self._at : self._at + count]
        if len(piece) != count:
            raise ValueError(f"{self.path}: ends at {self._at + len(piece)}")
        self._at += count
        return piece

    def _scalar(self, code: str) -> Any:
        return struct.unpack(code, self._take(struct.calcsize(code)))[0]

    def _string(self) -> str:
        return bytes(self._take(int(self._scalar("<Q")))).decode("utf-8", errors="surrogateescape")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._scalar(_SCALARS[kind])
        element = int(self._scalar("<I"))
        count = int(self._scalar("<Q"))
        if element in (_STRING, _ARRAY):
            return [self._value(element) for _ in range(count)]
        code = _SCALARS[element]
        return list(struct.unpack(f"<{count}{code[1]}", self._take(count * struct.calcsize(code))))


def _round_up(value: int, multiple: int) -> int:
    return (value + multiple - 1) // multiple * multiple
