"""Reads GGUF files through the native reader.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little endian.
"""

from __future__ import annotations

import difflib
import os
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from bessemer import _core
from bessemer.dtypes import BY_NAME, numpy_dtype
from bessemer.errors import Error, ParseError, UnknownNameError

__all__ = ["GgufFile", "Metadata", "MetadataValue", "TensorInfo"]

TensorInfo = _core.GgufTensor
"""Where a tensor lies and what it is.

``name``; ``dtype`` (a dtype's name: ``"f32"``, ``"q4_1"``); ``shape`` (row-major: a linear weight
is ``(outputs, inputs)``, the reverse of the file's order); ``offset`` (bytes from the start of the
file); ``nbytes``; ``data()`` (its bytes, without a copy).
"""

MetadataValue: TypeAlias = (
    "int | float | bool | str | list[str] | list[bool] | array[int] | array[float]"
)

T = TypeVar("T")
_REQUIRED: Any = object()


def _describe(value: object) -> str:
    if isinstance(value, list):
        kind = "strings" if value and isinstance(value[0], str) else "bools"
        return f"an array of {len(value)} {kind}"
    if isinstance(value, array):
        return f"an array of {len(value)} numbers of type `{value.typecode}`"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


class Metadata(Mapping[str, MetadataValue]):
    """The key-value part of a GGUF file: a read-only mapping whose values are made when asked for.

    Numbers are ``int`` or ``float``, strings ``str``, arrays of strings ``list[str]``, arrays of
    bools ``list[bool]``, arrays of numbers ``array.array`` (NumPy takes it as it is).

    Indexing with an unknown key raises ``KeyError``, as any mapping does. The typed getters raise
    :class:`~bessemer.errors.ParseError` for a key that is missing, unless a default is given, and
    for a value of another type. Text that is not UTF-8 raises ``ParseError`` when it is asked for.
    """

    def __init__(self, core: _core.GgufFile) -> None:
        self._core = core
        self._keys: list[str] = core.keys()

    def __getitem__(self, key: str) -> MetadataValue:
        if key not in self:
            raise KeyError(key)
        value: MetadataValue = self._core.value(key)
        return value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._core

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"Metadata({len(self)} entries of {self._core.path!r})"

    def _error(self, key: str, found: str, expected: str) -> Error:
        return ParseError(
            f"GGUF: metadata `{key}` is {found}, expected {expected}", [f"in `{self._core.path}`"]
        )

    def _get(self, key: str, types: tuple[type, ...], expected: str, default: Any) -> Any:
        if key not in self:
            if default is _REQUIRED:
                raise self._error(key, "missing", expected)
            return default
        value = self[key]
        # A bool is an int to isinstance, but not to whoever asks for a size.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise self._error(key, _describe(value), expected)
        return value

    @overload
    def integer(self, key: str) -> int: ...
    @overload
    def integer(self, key: str, default: T) -> int | T: ...
    def integer(self, key: str, default: Any = _REQUIRED) -> Any:
        """An integer of any width."""
        return self._get(key, (int,), "an integer", default)

    @overload
    def number(self, key: str) -> float: ...
    @overload
    def number(self, key: str, default: T) -> float | T: ...
    def number(self, key: str, default: Any = _REQUIRED) -> Any:
        """A floating-point number; f32 values are widened exactly."""
        return self._get(key, (float,), "a floating-point number", default)

    @overload
    def flag(self, key: str) -> bool: ...
    @overload
    def flag(self, key: str, default: T) -> bool | T: ...
    def flag(self, key: str, default: Any = _REQUIRED) -> Any:
        """A bool."""
        return self._get(key, (bool,), "a bool", default)

    @overload
    def text(self, key: str) -> str: ...
    @overload
    def text(self, key: str, default: T) -> str | T: ...
    def text(self, key: str, default: Any = _REQUIRED) -> Any:
        """A string."""
        return self._get(key, (str,), "a string", default)

    @overload
    def strings(self, key: str) -> list[str]: ...
    @overload
    def strings(self, key: str, default: T) -> list[str] | T: ...
    def strings(self, key: str, default: Any = _REQUIRED) -> Any:
        """An array of strings; a new list at each call."""
        value = self._get(key, (list,), "an array of strings", default)
        # An array has elements of one type.
        if value is not default and value and not isinstance(value[0], str):
            raise self._error(key, _describe(value), "an array of strings")
        return value

    @overload
    def numbers(self, key: str) -> array[Any]: ...
    @overload
    def numbers(self, key: str, default: T) -> array[Any] | T: ...
    def numbers(self, key: str, default: Any = _REQUIRED) -> Any:
        """An array of numbers, of the file's type; a copy."""
        return self._get(key, (array,), "an array of numbers", default)


class GgufFile:
    """A GGUF file, mapped into memory; tensor data is used where it lies, without a copy.

    Immutable; safe to use from any thread. The file stays mapped while this object, an array from
    :meth:`tensor`, or a program that uses its weights lives.

    Args:
        path: of a regular file.

    Attributes:
        path: as given, made a string.
        metadata: a read-only mapping, see :class:`Metadata`.
        tensors: descriptions by name, in file order.
        core: the native file, for what binds weights; it supports the buffer protocol.

    Raises:
        InvalidArgumentError: the file cannot be opened, is empty, or is not a regular file.
        ParseError: the file is not GGUF, is cut short, or contradicts itself: counts or offsets
            past its end, names that occur twice, sizes that overflow.
        UnsupportedError: a version, byte order or tensor type that this build cannot read, named.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.core = _core.GgufFile(path)
        self.path: str = self.core.path
        self.metadata = Metadata(self.core)
        self.tensors: dict[str, TensorInfo] = self.core.tensors()

    def __repr__(self) -> str:
        return f"GgufFile({self.path!r}, {len(self.tensors)} tensors)"

    @property
    def version(self) -> int:
        """Version of the format: 2 or 3."""
        return self.core.version

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return self.core.nbytes

    def info(self, name: str) -> TensorInfo:
        """The description of one tensor.

        Raises:
            UnknownNameError: there is none of that name; the message names the closest ones.
        """
        try:
            return self.tensors[name]
        except KeyError:
            close = difflib.get_close_matches(name, self.tensors, n=3)
            hint = f"; did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else ""
            raise UnknownNameError(
                f"no tensor `{name}` among the file's {len(self.tensors)}{hint}",
                [f"in `{self.path}`"],
            ) from None

    def tensor(self, name: str) -> npt.NDArray[Any]:
        """A tensor as a read-only array over the mapping, without a copy.

        Of the tensor's dtype and shape; a block-quantised tensor as its blocks, a flat array of
        ``uint8``.

        Raises:
            UnknownNameError: there is none of that name; the message names the closest ones.
            UnsupportedError: bf16 without the package ml_dtypes.
        """
        info = self.info(name)
        dtype = BY_NAME[info.dtype]
        if dtype.is_quantised:
            return np.frombuffer(info.data(), np.uint8)
        return np.frombuffer(info.data(), numpy_dtype(dtype)).reshape(info.shape)
