"""Structured functions of graphs: products, reductions, norms, attention, movement.

Names and behaviour follow NumPy and the array API. All raise ShapeError, DtypeError or
InvalidArgumentError while the graph is built, naming the op, the operands and the user's line.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from bessemer import _core
from bessemer.dtypes import DType, as_dtype
from bessemer.errors import InvalidArgumentError, ShapeError
from bessemer.graph import DimLike, Graph, Tensor

Dim = int | _core.Dim

__all__ = [
    "all", "any", "argmax", "argmin", "attention", "cast", "concat", "cummax", "cummin", "cumprod",
    "cumsum", "embedding", "expand", "gather", "getitem", "group_norm", "iota", "layer_norm",
    "log_softmax", "matmul", "max", "mean", "min", "pad", "prod", "reshape", "reverse", "rms_norm",
    "rope", "scatter_rows", "slice", "softmax", "split", "sum", "tile", "top_k", "transpose",
    "tril", "triu",
]  # fmt: skip


def cast(x: Tensor, dtype: DType | str) -> Tensor:
    """``x`` converted. Floats to integers truncate and saturate, NaN gives 0; wider is exact."""
    return x.graph.op("cast", [x], {"dtype": as_dtype(dtype)})[0]


def matmul(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product over the last two axes; leading axes broadcast. Accumulates in f32.

    ``b`` may be a block-quantised param ``[n, k]`` with ``transpose_b=True``. Float dtypes promote.
    """
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return a.graph.op("matmul", [a, b], {k: v for k, v in flags.items() if v})[0]


def _axes(x: Tensor, axis: int | Sequence[int] | None) -> list[int]:
    if axis is None:
        return list(range(x.ndim))
    return [axis] if isinstance(axis, int) else list(axis)


def _reduce(name: str, x: Tensor, axis: int | Sequence[int] | None, keepdims: bool) -> Tensor:
    return x.graph.op(name, [x], {"axes": _axes(x, axis), "keepdims": keepdims})[0]


def sum(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Sum over ``axis`` (all axes by default)."""
    return _reduce("sum", x, axis, keepdims)


def mean(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Mean over ``axis`` of a float tensor."""
    return _reduce("mean", x, axis, keepdims)


def prod(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Product over ``axis``."""
    return _reduce("prod", x, axis, keepdims)


def max(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Largest over ``axis``; NaN wins."""
    return _reduce("max", x, axis, keepdims)


def min(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """Smallest over ``axis``; NaN wins."""
    return _reduce("min", x, axis, keepdims)


def any(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """True where any is true, over ``axis`` of a bool tensor."""
    return _reduce("any", x, axis, keepdims)


def all(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """True where all are true, over ``axis`` of a bool tensor."""
    return _reduce("all", x, axis, keepdims)


def argmax(x: Tensor, axis: int = -1, keepdims: bool = False) -> Tensor:
    """Index (i32) of the first largest along ``axis``; the first NaN wins."""
    return x.graph.op("argmax", [x], {"axis": axis, "keepdims": keepdims})[0]


def argmin(x: Tensor, axis: int = -1, keepdims: bool = False) -> Tensor:
    """Index (i32) of the first smallest along ``axis``; the first NaN wins."""
    return x.graph.op("argmin", [x], {"axis": axis, "keepdims": keepdims})[0]


def top_k(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The ``k`` largest of the last axis, descending, and their indices (i32).

    Ties take the lower index; NaN counts as largest.
    """
    values, indices = x.graph.op("top_k", [x], {"k": k})
    return values, indices


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x - max) / sum over ``axis``, in f32. A row of -inf gives zeros."""
    return x.graph.op("softmax", [x], {"axis": axis})[0]


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """log(softmax(x)) over ``axis``, in f32."""
    return x.graph.op("log_softmax", [x], {"axis": axis})[0]


def _cumulative(name: str, x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    return x.graph.op(name, [x], attrs)[0]


def cumsum(x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running sum along ``axis``; exclusive leaves each element out of its own sum."""
    return _cumulative("cumsum", x, axis, exclusive, reverse)


def cumprod(x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running product along ``axis``."""
    return _cumulative("cumprod", x, axis, exclusive, reverse)


def cummax(x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running maximum along ``axis``."""
    return _cumulative("cummax", x, axis, exclusive, reverse)


def cummin(x: Tensor, axis: int = -1, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running minimum along ``axis``."""
    return _cumulative("cummin", x, axis, exclusive, reverse)


def _norm(
    name: str,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    attrs: dict[str, Any],
) -> Tensor:
    # Kernels take f32 weights; 16-bit ones widen exactly.
    operands = [x] + [
        cast(t, "f32") if t.dtype.name in ("f16", "bf16") else t
        for t in (weight, bias)
        if t is not None
    ]
    if weight is not None:
        attrs["has_weight"] = True
    if bias is not None:
        attrs["has_bias"] = True
    return x.graph.op(name, operands, attrs)[0]


def layer_norm(
    x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, epsilon: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(var + epsilon) * weight + bias over the last axis, in f32."""
    return _norm("layer_norm", x, weight, bias, {"epsilon": epsilon})


def rms_norm(x: Tensor, weight: Tensor | None = None, epsilon: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x*x) + epsilon) * weight over the last axis, in f32."""
    return _norm("rms_norm", x, weight, None, {"epsilon": epsilon})


def group_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    groups: int = 1,
    epsilon: float = 1e-5,
) -> Tensor:
    """Layer norm over ``groups`` groups of the channels of ``[n, channels, ...]``."""
    return _norm("group_norm", x, weight, bias, {"groups": groups, "epsilon": epsilon})


def rope(
    x: Tensor,
    positions: Tensor,
    factors: Tensor | None = None,
    *,
    base: float = 10000.0,
    scale: float = 1.0,
    n_rot: int | None = None,
    interleaved: bool = False,
) -> Tensor:
    """Rotary position embedding (Su et al., 2021).

    Args:
        x: [tokens, heads, head_dim], float.
        positions: [tokens], integer.
        factors: [n_rot / 2] f32 divisors of the frequencies.
        base: frequency i is base ** (-2i / n_rot).
        scale: positions are multiplied by it.
        n_rot: leading elements of a head that are rotated; all by default.
        interleaved: pairs are (2i, 2i + 1) instead of (i, i + n_rot / 2).
    """
    operands = [x, positions] + ([] if factors is None else [factors])
    attrs = {"base": base, "scale": scale, "n_rot": n_rot or 0, "interleaved": interleaved}
    return x.graph.op("rope", operands, attrs)[0]


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    seq: Tensor,
    pos: Tensor,
    *,
    key_seq: Tensor | None = None,
    key_pos: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = True,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> Tensor:
    """Scaled dot-product attention over a flat list of tokens: prefill, decode and ragged batches.

    Args:
        q: [tokens, heads, head_dim].
        k, v: states [sequences, context, kv_heads, head_dim], or, state-less,
            [keys, kv_heads, head_dim] with key_seq and key_pos [keys]. v may have its own size.
        seq, pos: [tokens] i32: each query's sequence and position.
        mask: bool [tokens, keys or context]; True may be attended.
        bias: f32 [1 or heads, tokens, keys or context], added to the scores.
        causal: keys at positions above the query's are not seen.
        window: only keys less than this far behind are seen.
        scale: of the scores; head_dim ** -0.5 by default.
        softcap: scores become softcap * tanh(score / softcap).

    Returns:
        [tokens, heads, head_dim of v]. A query with nothing to attend to gives zeros.
    """
    operands = [q, k, v, seq, pos]
    if (key_seq is None) != (key_pos is None):
        raise InvalidArgumentError("attention takes key_seq and key_pos together")
    attrs: dict[str, Any] = {"causal": causal}
    if key_seq is not None and key_pos is not None:
        operands += [key_seq, key_pos]
    if mask is not None:
        operands.append(mask)
        attrs["has_mask"] = True
    if bias is not None:
        operands.append(bias)
        attrs["has_bias"] = True
    if window is not None:
        attrs["window"] = window
    if scale is not None:
        attrs["scale"] = scale
    if softcap is not None:
        attrs["softcap"] = softcap
    return q.graph.op("attention", operands, attrs)[0]


def gather(x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """Slices of ``x`` along ``axis`` at integer ``indices``, as NumPy's take.

    An index out of range makes the run raise InvalidArgumentError.
    """
    return x.graph.op("gather", [x, indices], {"axis": axis})[0]


def embedding(table: Tensor, ids: Tensor, dtype: DType | str = "f32") -> Tensor:
    """Rows ``ids`` of ``table`` [n, k], which may be block-quantised, as ``dtype``: [..., k].

    An id out of range makes the run raise InvalidArgumentError.
    """
    return table.graph.op("embedding", [table, ids], {"dtype": as_dtype(dtype)})[0]


def scatter_rows(x: Tensor, rows: Tensor, *indices: Tensor) -> Tensor:
    """``x`` with x[indices[0][t], indices[1][t]] = rows[t]: one or two leading axes are indexed.

    In place when ``x`` is a state that the result updates. The last of equal indices wins. Floats
    are converted to x's dtype. An index out of range makes the run raise InvalidArgumentError.
    """
    return x.graph.op("scatter_rows", [x, rows, *indices])[0]


def slice(
    x: Tensor,
    start: Sequence[DimLike],
    stop: Sequence[DimLike],
    step: Sequence[int] | None = None,
) -> Tensor:
    """x[start:stop:step] of every axis; ``x[...]`` is the usual way to write it."""
    g = x.graph
    attrs = {"start": g._shape(start), "stop": g._shape(stop), "step": list(step or [1] * x.ndim)}
    return g.op("slice", [x], attrs)[0]


def getitem(x: Tensor, index: Any) -> Tensor:
    """Basic indexing: ints, slices, None and Ellipsis."""
    items = list(index) if isinstance(index, tuple) else [index]
    given = [i for i in items if i is not None and i is not Ellipsis]
    if len(given) > x.ndim:
        raise ShapeError(f"{len(given)} indices for {x!r}")
    if Ellipsis not in items:
        items.append(Ellipsis)
    where = items.index(Ellipsis)
    items[where : where + 1] = [builtins.slice(None)] * (x.ndim - len(given))
    start: list[Dim] = []
    stop: list[Dim] = []
    step: list[int] = []
    shape: list[Dim | None] = []  # None: this axis goes away
    new_axes: list[int] = []
    axis = 0
    for item in items:
        if item is None:
            new_axes.append(len(shape))
            shape.append(1)
            continue
        size = x.shape[axis]
        axis += 1
        if isinstance(item, int):
            at: Dim = item
            if item < 0:
                at = size + item
            elif isinstance(size, int) and item >= size:
                raise ShapeError(f"index {item} is outside axis {axis - 1} of {x!r}")
            if isinstance(at, int) and at < 0:
                raise ShapeError(f"index {item} is outside axis {axis - 1} of {x!r}")
            start.append(at)
            stop.append(at + 1)
            step.append(1)
            shape.append(None)
        elif isinstance(item, builtins.slice):
            a, b, s = _bounds(item, size)
            start.append(a)
            stop.append(b)
            step.append(s)
            shape.append(0)  # filled below
        else:
            raise InvalidArgumentError(
                f"index {item!r} is not an int, slice, None or Ellipsis; use bs.gather"
            )
    out = slice(x, start, stop, step)
    if new_axes or None in shape:
        sizes = iter(out.shape)
        final: list[Dim] = []
        for i, entry in enumerate(shape):
            if i in new_axes:
                final.append(1)
                continue
            size = next(sizes)
            if entry is not None:
                final.append(size)
        out = reshape(out, final)
    return out


def _bounds(item: builtins.slice, size: Dim) -> tuple[Dim, Dim, int]:
    """start, stop and step of a slice of an axis, as NumPy clips them when the size is known."""
    step = 1 if item.step is None else item.step
    if not isinstance(step, int) or step == 0:
        raise InvalidArgumentError(f"a slice's step is a non-zero int, got {step!r}")
    if isinstance(size, int) and _all_ints(item.start, item.stop):
        return builtins.slice(item.start, item.stop, step).indices(size)
    if step < 0:
        raise InvalidArgumentError("a negative step over a variable axis; use bs.reverse")
    start = _edge(item.start, size, 0)
    stop = _edge(item.stop, size, size)
    return start, stop, step


def _all_ints(*values: Any) -> bool:
    """Whether each is an int or None."""
    return builtins.all(v is None or isinstance(v, int) for v in values)


def _edge(value: Any, size: Dim, otherwise: Dim) -> Dim:
    if value is None:
        return otherwise
    if isinstance(value, int) and value < 0:
        return size + value
    if isinstance(value, int | _core.Dim):
        return value
    raise InvalidArgumentError(f"a slice bound is an int or a dim, got {value!r}")


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Joins tensors along ``axis``; other sizes are equal."""
    if not tensors:
        raise InvalidArgumentError("concat needs at least one tensor")
    return tensors[0].graph.op("concat", tensors, {"axis": axis})[0]


def split(x: Tensor, sizes: int | Sequence[DimLike], axis: int = -1) -> tuple[Tensor, ...]:
    """Pieces along ``axis``: of the given sizes, or that many equal ones.

    Raises:
        ShapeError: the sizes do not add up.
    """
    if isinstance(sizes, int):
        size = x.shape[axis]
        piece = size // sizes if not isinstance(size, int) or size % sizes == 0 else None
        if piece is None:
            raise ShapeError(f"axis {axis} of {x!r} does not split into {sizes} equal pieces")
        sizes = [piece] * sizes
    return x.graph.op("split", [x], {"sizes": x.graph._shape(sizes), "axis": axis})


def reshape(x: Tensor, shape: Sequence[DimLike]) -> Tensor:
    """The same elements in row-major order; one size may be -1.

    Raises:
        ShapeError: another number of elements.
    """
    sizes: list[Any] = x.graph._shape(shape)
    unknown = [i for i, s in enumerate(sizes) if isinstance(s, int) and s == -1]
    if len(unknown) > 1:
        raise ShapeError("only one size of a reshape may be -1")
    if unknown:
        total: Any = 1
        for size in x.shape:
            total = total * size
        for i, size in enumerate(sizes):
            if i == unknown[0]:
                continue
            if size == 0 or (isinstance(total, int) and isinstance(size, int) and total % size):
                raise ShapeError(f"{x!r} does not reshape to {tuple(shape)}")
            total = (
                total // size
                if not (isinstance(total, int) and not isinstance(size, int))
                else None
            )
            if total is None:
                raise ShapeError(f"{x!r} does not reshape to {tuple(shape)}")
        sizes[unknown[0]] = total
    return x.graph.op("reshape", [x], {"shape": sizes})[0]


def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """Axes permuted; reversed by default."""
    perm = list(axes) if axes is not None else list(range(x.ndim))[::-1]
    return x.graph.op("transpose", [x], {"perm": perm})[0]


def expand(x: Tensor, shape: Sequence[DimLike]) -> Tensor:
    """``x`` broadcast to ``shape``."""
    return x.graph.op("expand", [x], {"shape": x.graph._shape(shape)})[0]


def pad(x: Tensor, widths: Sequence[tuple[DimLike, DimLike]], value: float = 0.0) -> Tensor:
    """``widths`` constant elements before and after each axis."""
    g = x.graph
    attrs = {
        "before": g._shape([w[0] for w in widths]),
        "after": g._shape([w[1] for w in widths]),
        "value": float(value),
    }
    return g.op("pad", [x], attrs)[0]


def reverse(x: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    """The order reversed along ``axis`` (all axes by default)."""
    return x.graph.op("reverse", [x], {"axes": _axes(x, axis)})[0]


def tile(x: Tensor, repeats: Sequence[int]) -> Tensor:
    """The whole repeated ``repeats[i]`` times along axis i."""
    return x.graph.op("tile", [x], {"repeats": list(repeats)})[0]


def tril(x: Tensor, k: int = 0) -> Tensor:
    """Zero above the k-th diagonal of the last two axes."""
    return x.graph.op("tril", [x], {"k": k})[0]


def triu(x: Tensor, k: int = 0) -> Tensor:
    """Zero below the k-th diagonal of the last two axes."""
    return x.graph.op("triu", [x], {"k": k})[0]


def iota(
    graph: Graph, shape: Sequence[DimLike], axis: int = -1, dtype: DType | str = "i32"
) -> Tensor:
    """0, 1, 2, ... along ``axis`` of ``shape``."""
    attrs = {"shape": graph._shape(shape), "axis": axis, "dtype": as_dtype(dtype)}
    return graph.op("iota", [], attrs)[0]
