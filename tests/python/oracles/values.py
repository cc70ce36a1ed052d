"""Element types by bessemer's names, tolerances and comparison.

NumPy has no bfloat16: an array "of bf16" is here a float32 array whose values are bfloat16 values,
and travels with the name ``"bf16"`` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i8", "u8", "i16", "i32", "i64", "u32")
BOOL = ("bool",)

_NUMPY: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u32": np.uint32,
    "bool": np.bool_,
}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype that carries values of `name` here (float32 for bf16)."""
    dtype: np.dtype[Any] = np.dtype(_NUMPY[name])
    return dtype


def is_float(name: str) -> bool:
    return name in ("f32", "f16", "bf16", "f64")


def bf16_bits(x: Array) -> NDArray[np.uint16]:
    """float32 to bfloat16 bit patterns, to nearest, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + np.uint64(0x7FFF) + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    quiet = (bits >> np.uint64(16)) | np.uint64(0x40)
    result: NDArray[np.uint16] = np.where(np.isnan(x), quiet, rounded).astype(np.uint16)
    return result.reshape(np.shape(x))  # ascontiguousarray gives zero dimensions one


def bf16_values(bits: Array) -> NDArray[np.float32]:
    """bfloat16 bit patterns (uint16) to float32."""
    wide = np.ascontiguousarray(bits, dtype=np.uint16).astype(np.uint32) << 16
    return wide.view(np.float32).reshape(np.shape(bits))


def rounded(x: Array, dtype: str) -> Array:
    """`x` in dtype `dtype`, rounded to nearest; integers wrap (as NumPy's ``astype``)."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "bf16":
            return bf16_values(bf16_bits(np.asarray(x, dtype=np.float32)))
        return np.asarray(x).astype(numpy_dtype(dtype))


@dataclass(frozen=True)
class Tolerance:
    """|actual - expected| <= absolute + relative * |expected|, of float results."""

    relative: float
    absolute: float = 0.0


# One unit in the last place relative to the value: 2**-23, 2**-10, 2**-7.
ULP = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f64": 2.0**-52}


def tolerances(f32: Tolerance) -> dict[str, Tolerance]:
    """The tolerance of a float32 computation, and of one rounded to a half type afterwards."""
    return {
        "f32": f32,
        "f64": f32,
        "f16": Tolerance(f32.relative + ULP["f16"], f32.absolute + 2.0**-24),
        "bf16": Tolerance(f32.relative + ULP["bf16"], f32.absolute),
    }


EXACT: Mapping[str, Tolerance] = {name: Tolerance(0.0) for name in ("f32", "f16", "bf16", "f64")}


def mismatch(actual: Array, expected: Array, tolerance: Tolerance) -> str | None:
    """None where the arrays agree, else one line that says where and by how much they do not.

    NaN agrees with NaN, an infinity with the same infinity, 0 with -0; bool and integers are equal.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if actual.size == 0:
        return None
    if not np.issubdtype(expected.dtype, np.floating):
        bad = actual != expected
    else:
        a, e = actual.astype(np.float64), expected.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(a - e) <= tolerance.absolute + tolerance.relative * np.abs(e)
        same = np.where(
            np.isfinite(e), near & np.isfinite(a), (a == e) | (np.isnan(a) & np.isnan(e))
        )
        bad = ~same
    if not bad.any():
        return None
    at = np.unravel_index(int(np.argmax(bad)), bad.shape)
    where = ", ".join(str(int(i)) for i in at)
    return (
        f"{int(bad.sum())} of {bad.size} differ, first at [{where}]: "
        f"got {actual[at]}, expected {expected[at]} (tolerance {tolerance})"
    )
