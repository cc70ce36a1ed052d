"""Oracles of the structured ops, attention apart: plain NumPy, float64 inside.

Float results come back in float64 (``values.rounded`` takes them to the dtype under test); integer
and bool results in their own dtype. Axes may be negative as in NumPy. Inputs are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dequant import FORMATS, dequantize
from .values import Array, is_float, numpy_dtype, rounded

Axes = int | Sequence[int] | None


def _wide(x: Array) -> Array:
    """Floats to float64; other dtypes as they are."""
    return x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x


def cast(x: Array, dtype: str) -> Array:
    """`x` converted to `dtype`.

    Floats to integers drop the fraction, saturate outside the range, and turn NaN into 0; integers
    to narrower integers wrap; to bool is ``x != 0``; floats round to nearest, ties to even.
    """
    if dtype == "bool":
        return np.asarray(x != 0)
    if is_float(dtype) or not np.issubdtype(x.dtype, np.floating):
        return rounded(x, dtype)
    limits = np.iinfo(numpy_dtype(dtype))
    flat = [
        0 if np.isnan(v) else limits.max if v > limits.max else max(int(v), limits.min)
        for v in np.clip(x.astype(np.float64).ravel(), -1e30, 1e30)
    ]
    return np.array(flat, dtype=numpy_dtype(dtype)).reshape(x.shape)


def matmul(a: Array, b: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    """[..., m, k] @ [..., k, n]; leading axes broadcast. Transposing is of the last two axes."""
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    return np.asarray(_wide(a) @ _wide(b))


def matmul_quantized(x: Array, format_name: str, blocks: NDArray[np.uint8], rows: int) -> Array:
    """x [..., k] times the transpose of a block-quantised weight [rows, k]: [..., rows].

    `format_name` is GGUF's, such as ``"Q4_K"``; `blocks` are the weight's bytes.
    """
    weight = dequantize(format_name, blocks).reshape(rows, -1)
    return np.asarray(_wide(x) @ weight.astype(np.float64).T)


def _axes(axis: Axes, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    return tuple(a % rank for a in axes)


def _reduce(function: Callable[..., Array], x: Array, axis: Axes, keepdims: bool) -> Array:
    return np.asarray(function(_wide(x), axis=_axes(axis, x.ndim), keepdims=keepdims))


def sum_(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Sum over `axis` (all by default); integers wrap in their own dtype."""
    dtype = np.dtype(np.float64) if np.issubdtype(x.dtype, np.floating) else x.dtype
    return np.asarray(np.sum(x, axis=_axes(axis, x.ndim), keepdims=keepdims, dtype=dtype))


def prod(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Product over `axis`; integers wrap in their own dtype."""
    dtype = np.dtype(np.float64) if np.issubdtype(x.dtype, np.floating) else x.dtype
    return np.asarray(np.prod(x, axis=_axes(axis, x.ndim), keepdims=keepdims, dtype=dtype))


def mean(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Mean of floats over `axis`."""
    return _reduce(np.mean, x, axis, keepdims)


def max_(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Largest over `axis`; NaN if any is."""
    return _reduce(np.max, x, axis, keepdims)


def min_(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Smallest over `axis`; NaN if any is."""
    return _reduce(np.min, x, axis, keepdims)


def any_(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether any bool over `axis` is true."""
    return _reduce(np.any, x, axis, keepdims)


def all_(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether every bool over `axis` is true."""
    return _reduce(np.all, x, axis, keepdims)


def argmax(x: Array, axis: int = -1, keepdims: bool = False) -> Array:
    """int32 index of the first largest along `axis`; the first NaN wins."""
    return np.asarray(np.argmax(x, axis=axis, keepdims=keepdims)).astype(np.int32)


def argmin(x: Array, axis: int = -1, keepdims: bool = False) -> Array:
    """int32 index of the first smallest along `axis`; the first NaN wins."""
    return np.asarray(np.argmin(x, axis=axis, keepdims=keepdims)).astype(np.int32)


def top_k(x: Array, k: int) -> tuple[Array, Array]:
    """The `k` largest along the last axis, descending, and their int32 indices.

    Equal values come in the order of their indices; NaN counts as the largest.
    """
    key = _wide(x)
    order = np.empty(x.shape, dtype=np.int64)
    for at in np.ndindex(x.shape[:-1]):
        row = key[at].tolist()
        order[at] = sorted(range(len(row)), key=lambda i: (row[i] == row[i], _minus(row[i]), i))
    indices = order[..., :k]
    return np.take_along_axis(x, indices, axis=-1), indices.astype(np.int32)


def _minus(value: float) -> float:
    return -value if value == value else 0.0


def softmax(x: Array, axis: int = -1) -> Array:
    """exp(x) / sum(exp(x)) along `axis`. A row of -inf only gives zeros."""
    x = _wide(x)
    top = np.max(x, axis=axis, keepdims=True)
    with np.errstate(invalid="ignore"):
        e = np.exp(x - np.where(top == -np.inf, 0.0, top))
        total = np.sum(e, axis=axis, keepdims=True)
        return np.asarray(np.where(total == 0, 0.0, e / total))


def log_softmax(x: Array, axis: int = -1) -> Array:
    """log(softmax(x)) along `axis`, without the cancellation; for rows with a finite value."""
    x = _wide(x)
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)))


def _cumulative(
    function: np.ufunc, x: Array, axis: int, exclusive: bool, reverse: bool, first: float
) -> Array:
    x = np.moveaxis(_wide(x), axis, -1)
    x = x[..., ::-1] if reverse else x
    out = function.accumulate(x, axis=-1, dtype=x.dtype)
    if exclusive:
        start = np.full_like(out[..., :1], first)
        out = np.concatenate([start, out[..., :-1]], axis=-1)
    out = out[..., ::-1] if reverse else out
    return np.ascontiguousarray(np.moveaxis(out, -1, axis))


def cumsum(x: Array, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Array:
    """Running sum along `axis`, from the end if `reverse`; `exclusive` leaves out the element."""
    return _cumulative(np.add, x, axis, exclusive, reverse, 0)


def cumprod(x: Array, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Array:
    """Running product along `axis`; see `cumsum`."""
    return _cumulative(np.multiply, x, axis, exclusive, reverse, 1)


def cummax(x: Array, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Array:
    """Running maximum along `axis`; see `cumsum`. Exclusive starts from the dtype's least value."""
    return _cumulative(np.maximum, x, axis, exclusive, reverse, _least(x.dtype))


def cummin(x: Array, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Array:
    """Running minimum along `axis`; see `cumsum`. Exclusive starts from the dtype's largest."""
    return _cumulative(np.minimum, x, axis, exclusive, reverse, _largest(x.dtype))


def _least(dtype: np.dtype[Any]) -> float:
    return -np.inf if np.issubdtype(dtype, np.floating) else int(np.iinfo(dtype).min)


def _largest(dtype: np.dtype[Any]) -> float:
    return np.inf if np.issubdtype(dtype, np.floating) else int(np.iinfo(dtype).max)


def layer_norm(
    x: Array, weight: Array | None = None, bias: Array | None = None, epsilon: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis (Ba et al. 2016)."""
    x = _wide(x)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    out = centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + epsilon)
    out = out if weight is None else out * _wide(weight)
    return np.asarray(out if bias is None else out + _wide(bias))


def rms_norm(x: Array, weight: Array | None = None, epsilon: float = 1e-6) -> Array:
    """x / sqrt(mean(x*x) + epsilon) * weight over the last axis (Zhang and Sennrich 2019)."""
    x = _wide(x)
    out = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + epsilon)
    return np.asarray(out if weight is None else out * _wide(weight))


def group_norm(
    x: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    groups: int = 1,
    epsilon: float = 1e-5,
) -> Array:
    """Layer norm over each of `groups` groups of channels of x [n, channels, ...] (Wu, He 2018).

    weight and bias are [channels].
    """
    n, channels = x.shape[:2]
    grouped = _wide(x).reshape(n, groups, -1)
    out = layer_norm(grouped, epsilon=epsilon).reshape(x.shape)
    by_channel = (1, channels) + (1,) * (x.ndim - 2)
    out = out if weight is None else out * _wide(weight).reshape(by_channel)
    return out if bias is None else out + _wide(bias).reshape(by_channel)


def rope(
    x: Array,
    positions: Array,
    factors: Array | None = None,
    *,
    base: float = 10_000.0,
    n_rot: int | None = None,
    interleaved: bool = False,
    scale: float = 1.0,
) -> Array:
    """Rotary position embedding (Su et al. 2021) of x [tokens, heads, head_dim].

    Of the first `n_rot` elements of a head (all by default), pair i turns by ``positions[token] *
    scale * base**(-2 i / n_rot) / factors[i]`` radians; the others stay. A pair is
    elements ``2i, 2i+1`` if `interleaved`, else ``i, i + n_rot/2`` (the NeoX order).
    """
    n_rot = x.shape[-1] if n_rot is None else n_rot
    out: Array = _wide(x).copy()
    for i in range(n_rot // 2):
        frequency = base ** (-2.0 * i / n_rot)
        if factors is not None:
            frequency /= float(factors[i])
        angle = positions.astype(np.float64)[:, None] * scale * frequency
        first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + n_rot // 2)
        a, b = _wide(x)[..., first], _wide(x)[..., second]
        out[..., first] = a * np.cos(angle) - b * np.sin(angle)
        out[..., second] = a * np.sin(angle) + b * np.cos(angle)
    return out


def gather(x: Array, indices: Array, axis: int = 0) -> Array:
    """``numpy.take``: the shape of `indices` stands in the place of `axis`. 0 <= index < size."""
    return np.take(x, indices, axis=axis)


def gather_elements(x: Array, indices: Array, axis: int = -1) -> Array:
    """``numpy.take_along_axis``: one index an element of the result."""
    return np.take_along_axis(x, indices.astype(np.int64), axis=axis)


def embedding(table: Array, ids: Array) -> Array:
    """Rows `ids` of table [rows, width]: ids.shape + (width,)."""
    return np.asarray(table[ids])


def embedding_quantized(
    format_name: str, blocks: NDArray[np.uint8], rows: int, ids: Array
) -> NDArray[np.float32]:
    """`embedding` of a block-quantised table of `rows` rows, as float32."""
    fmt = FORMATS[format_name]
    picked = blocks.reshape(rows, -1, fmt.block_bytes)[ids]
    width = picked.shape[-2] * fmt.block_elements
    return dequantize(format_name, picked).reshape(*ids.shape, width)


def scatter_rows(x: Array, rows: Array, seq: Array, pos: Array | None = None) -> Array:
    """A copy of x in which ``x[seq[i]] = rows[i]``, or ``x[seq[i], pos[i]] = rows[i]``.

    The second form is the append to a KV state [sequences, context, ...]. Of rows with the same
    address the last one stays.
    """
    out: Array = x.copy()
    for i in range(rows.shape[0]):
        out[int(seq[i]) if pos is None else (int(seq[i]), int(pos[i]))] = rows[i]
    return out


def slice_(x: Array, start: Sequence[int], stop: Sequence[int], step: Sequence[int]) -> Array:
    """The elements ``range(start, stop, step)`` of each axis, one entry an axis.

    Bounds do not count from the end: with a negative step, -1 is before the first element (as in
    what Python's ``slice.indices`` gives).
    """
    for axis, bounds in enumerate(zip(start, stop, step, strict=True)):
        x = np.take(x, np.array(range(*bounds), dtype=np.int64), axis=axis)
    return x


def concat(tensors: Sequence[Array], axis: int = 0) -> Array:
    """Joins along `axis`."""
    return np.concatenate(tensors, axis=axis)


def split(x: Array, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Pieces of `sizes` along `axis`, which they fill."""
    return [piece.copy() for piece in np.split(x, np.cumsum(sizes)[:-1], axis=axis)]


def reshape(x: Array, shape: Sequence[int]) -> Array:
    """Row-major order; one -1 is inferred."""
    result: Array = x.reshape(tuple(shape)).copy()
    return result


def transpose(x: Array, axes: Sequence[int]) -> Array:
    """Result axis i is x's axis ``axes[i]``."""
    return np.ascontiguousarray(np.transpose(x, tuple(axes)))


def expand(x: Array, shape: Sequence[int]) -> Array:
    """Broadcast to `shape`."""
    result: Array = np.broadcast_to(x, tuple(shape)).copy()
    return result


def pad(x: Array, widths: Sequence[tuple[int, int]], value: float = 0.0) -> Array:
    """`widths` elements of `value` before and after each axis."""
    return np.pad(x, list(widths), constant_values=value)


def reverse(x: Array, axis: Axes = None) -> Array:
    """The opposite order along `axis` (all by default)."""
    result: Array = np.flip(x, _axes(axis, x.ndim)).copy()
    return result


def tile(x: Array, repeats: Sequence[int]) -> Array:
    """The whole repeated ``repeats[i]`` times along axis i."""
    return np.tile(x, tuple(repeats))


def tril(x: Array, k: int = 0) -> Array:
    """Zero where column > row + k, in the last two axes."""
    return np.tril(x, k)


def triu(x: Array, k: int = 0) -> Array:
    """Zero where column < row + k, in the last two axes."""
    return np.triu(x, k)


def iota(shape: Sequence[int], axis: int = 0, dtype: str = "i32") -> Array:
    """0, 1, 2, ... along `axis` of `shape`, the same along the others."""
    shape = tuple(shape)
    column = [1] * len(shape)
    column[axis] = shape[axis]
    counts = rounded(np.arange(shape[axis]).reshape(column), dtype)
    result: Array = np.broadcast_to(counts, shape).copy()
    return result
