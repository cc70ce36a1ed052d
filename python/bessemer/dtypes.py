"""Element types: ``bs.f32``, ``bs.q4_1``, ...; block-quantised ones are storage of weights only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bessemer.errors import DtypeError, UnsupportedError


@dataclass(frozen=True)
class DType:
    """An element type.

    Attributes:
        name: the spelling in text forms, "f32".
        block_elements: elements of one block; 1 unless block-quantised.
        block_bytes: bytes of one element, or of one block.
    """

    name: str
    block_elements: int = 1
    block_bytes: int = 4

    @property
    def is_quantised(self) -> bool:
        """Whether elements are stored in blocks."""
        return self.block_elements > 1

    def __repr__(self) -> str:
        return f"bessemer.{self.name}"


f32: Final = DType("f32", 1, 4)
f16: Final = DType("f16", 1, 2)
bf16: Final = DType("bf16", 1, 2)
f64: Final = DType("f64", 1, 8)
i8: Final = DType("i8", 1, 1)
u8: Final = DType("u8", 1, 1)
i16: Final = DType("i16", 1, 2)
i32: Final = DType("i32", 1, 4)
i64: Final = DType("i64", 1, 8)
u32: Final = DType("u32", 1, 4)
bool_: Final = DType("bool", 1, 1)
q4_0: Final = DType("q4_0", 32, 18)
q4_1: Final = DType("q4_1", 32, 20)
q5_0: Final = DType("q5_0", 32, 22)
q5_1: Final = DType("q5_1", 32, 24)
q8_0: Final = DType("q8_0", 32, 34)
q4_k: Final = DType("q4_k", 256, 144)
q5_k: Final = DType("q5_k", 256, 176)
q6_k: Final = DType("q6_k", 256, 210)

ALL: Final = (
    f32, f16, bf16, f64, i8, u8, i16, i32, i64, u32, bool_,
    q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k,
)  # fmt: skip
BY_NAME: Final[dict[str, DType]] = {d.name: d for d in ALL}

_NUMPY: Final[dict[str, str]] = {
    "f32": "float32", "f16": "float16", "f64": "float64", "i8": "int8", "u8": "uint8",
    "i16": "int16", "i32": "int32", "i64": "int64", "u32": "uint32", "bool": "bool",
}  # fmt: skip
_FROM_NUMPY: Final[dict[str, DType]] = {
    **{numpy: BY_NAME[name] for name, numpy in _NUMPY.items()},
    "bfloat16": bf16,
}


def as_dtype(value: DType | str | np.dtype[Any] | type) -> DType:
    """The dtype meant by a DType, its name, or a NumPy dtype.

    Raises:
        DtypeError: nothing of the kind.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in BY_NAME:
        return BY_NAME[value]
    try:
        name = np.dtype(value).name
    except TypeError:
        name = ""
    if name not in _FROM_NUMPY:
        raise DtypeError(f"no dtype {value!r}; there are {', '.join(BY_NAME)}")
    return _FROM_NUMPY[name]


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of arrays of ``dtype``; bf16 needs the package ml_dtypes.

    Raises:
        UnsupportedError: block-quantised, or bf16 without ml_dtypes.
    """
    if dtype.name in _NUMPY:
        return np.dtype(_NUMPY[dtype.name])
    if dtype is bf16:
        try:
            import ml_dtypes
        except ImportError as error:
            raise UnsupportedError("bf16 arrays need the package ml_dtypes") from error
        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    raise UnsupportedError(f"NumPy has no form of {dtype.name}; pass its raw blocks as uint8")
