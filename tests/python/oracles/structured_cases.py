"""Inputs, attributes and tolerances of the structured ops' oracles.

A case is one call: operands by name, attributes by name, and what must come out. Operand and
attribute names are those of the oracle function. Ops that move data are tested on several element
sizes; arithmetic in the three float types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import attention, dequant, structured
from .elementwise import random_values
from .values import EXACT, FLOATS, Array, Tolerance, is_float, rounded, tolerances


@dataclass(frozen=True)
class Quantized:
    """A block-quantised weight as an operand: GGUF format name, shape, and the bytes."""

    format_name: str
    shape: tuple[int, int]
    blocks: NDArray[np.uint8]


Operands = dict[str, Any]  # Array, Quantized, or a list of Arrays
Attributes = dict[str, Any]
# dtype, operands, attributes
Call = tuple[str, Operands, Attributes]


@dataclass(frozen=True)
class StructuredCase:
    """One call of `op` and its right results, each of the dtype named beside it."""

    op: str
    label: str
    dtype: str
    operands: Operands
    attributes: Attributes
    expected: list[Array]
    result_dtypes: list[str]
    tolerance: Tolerance


@dataclass(frozen=True)
class Structured:
    """The oracle of one op: ``function(**operands, **attributes)`` over `calls`."""

    name: str
    function: Callable[..., Any]
    tolerance: dict[str, Tolerance]
    calls: Callable[[np.random.Generator], Iterator[Call]]

    def evaluate(
        self, operands: Operands, attributes: Attributes, dtype: str
    ) -> tuple[list[Array], list[str]]:
        """The results, rounded to their dtypes, and the names of those."""
        result = self.function(**operands, **attributes)
        arrays = list(result) if isinstance(result, (tuple, list)) else [result]
        # A float result has the operands' dtype, unless the op is told another.
        wanted = attributes.get("dtype", dtype)
        names = [wanted if a.dtype.kind == "f" else _INTEGER_NAMES[a.dtype.name] for a in arrays]
        return [rounded(a, n) for a, n in zip(arrays, names, strict=True)], names

    def cases(self, rng: np.random.Generator) -> Iterator[StructuredCase]:
        for number, (dtype, operands, attributes) in enumerate(self.calls(rng)):
            expected, names = self.evaluate(operands, attributes, dtype)
            label = f"{self.name} #{number} {dtype} {_describe(operands, attributes)}"
            tolerance = self.tolerance.get(names[0], Tolerance(0.0))
            yield StructuredCase(
                self.name, label, dtype, operands, attributes, expected, names, tolerance
            )


_INTEGER_NAMES = {
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint32": "u32",
    "bool": "bool",
}


def _describe(operands: Operands, attributes: Attributes) -> str:
    def shape(value: Any) -> str:
        if isinstance(value, list):
            return "[" + " ".join(shape(v) for v in value) + "]"
        if isinstance(value, Quantized):
            return f"{value.format_name}{list(value.shape)}"
        return str(list(value.shape))

    parts = [f"{name}{shape(value)}" for name, value in operands.items()]
    return " ".join(parts + [f"{k}={v}" for k, v in attributes.items()])


_MOVED = ("f32", "f16", "bf16", "i8", "i32", "i64", "bool")
_NO_SHAPE: tuple[int, ...] = ()
_EXACT = dict(EXACT)
_SUM = tolerances(Tolerance(2e-6, 2e-5))
_NORM = tolerances(Tolerance(1e-5, 1e-5))
_DOT = tolerances(Tolerance(1e-5, 5e-5))


def _matmul(rng: np.random.Generator) -> Iterator[Call]:
    shapes: list[tuple[tuple[int, ...], tuple[int, ...], bool, bool]] = [
        ((1, 1), (1, 1), False, False),
        ((3, 5), (5, 7), False, False),
        ((1, 64), (48, 64), False, True),
        ((33, 65), (65, 17), False, False),
        ((5, 3), (5, 7), True, False),
        ((5, 3), (7, 5), True, True),
        ((2, 3, 4, 8), (8, 6), False, False),
        ((2, 1, 4, 8), (3, 8, 5), False, False),
        ((130, 288), (288, 70), False, False),
        ((4, 0), (0, 3), False, False),
        ((0, 4), (4, 3), False, False),
    ]
    for dtype in FLOATS:
        for a, b, ta, tb in shapes:
            operands = {"a": random_values(rng, a, dtype, -1, 1)}
            operands["b"] = random_values(rng, b, dtype, -1, 1)
            yield dtype, operands, {"transpose_a": ta, "transpose_b": tb}


def matmul_any(
    a: Array, b: Array | Quantized, *, transpose_a: bool = False, transpose_b: bool = False
) -> Array:
    """`structured.matmul`, whose b may be a block-quantised weight (then transposed)."""
    if isinstance(b, Quantized):
        if transpose_a or not transpose_b:
            raise ValueError("a block-quantised weight [n, k] is multiplied transposed")
        return structured.matmul_quantized(a, b.format_name, b.blocks, b.shape[0])
    return structured.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


def random_weight(rng: np.random.Generator, format_name: str, rows: int, width: int) -> Quantized:
    """A random block-quantised weight [rows, width]."""
    fmt = dequant.FORMATS[format_name]
    blocks = dequant.random_blocks(format_name, rows * width // fmt.block_elements, rng)
    return Quantized(format_name, (rows, width), blocks)


def _matmul_all(rng: np.random.Generator) -> Iterator[Call]:
    yield from _matmul(rng)
    # Exact mode: activations stay in f32.
    for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"):
        for tokens in (1, 3, 33):
            weight = random_weight(rng, name, 37, 512)
            # Weights reach a size of 4, so that smaller inputs keep sums of 512 in bounds.
            operands = {"a": random_values(rng, (tokens, 512), "f32", -0.1, 0.1), "b": weight}
            yield "f32", operands, {"transpose_b": True}


_REDUCTIONS: list[tuple[tuple[int, ...], Any, bool]] = [
    ((7,), None, False),
    ((3, 5), 0, False),
    ((3, 5), 1, True),
    ((2, 3, 4), (0, 2), False),
    ((2, 3, 4), (-1,), True),
    ((2, 3, 4), None, True),
    ((2, 1031), -1, False),
    ((1031, 2), 0, False),
    ((1, 1), -1, False),
]


def _reductions(
    dtypes: tuple[str, ...], low: float = -2.0, high: float = 2.0, nans: bool = False
) -> Callable[[np.random.Generator], Iterator[Call]]:
    def calls(rng: np.random.Generator) -> Iterator[Call]:
        for dtype in dtypes:
            for shape, axis, keepdims in _REDUCTIONS:
                x = random_values(rng, shape, dtype, low, high)
                yield dtype, {"x": x}, {"axis": axis, "keepdims": keepdims}
            if nans and is_float(dtype):
                x = rounded(np.array([[1, np.nan, 3], [-np.inf, 2, np.inf]]), dtype)
                yield dtype, {"x": x}, {"axis": -1, "keepdims": False}

    return calls


def _empty_reductions(rng: np.random.Generator) -> Iterator[Call]:
    yield from _reductions(("f32", "f16", "bf16", "i32"))(rng)
    yield "f32", {"x": np.zeros((0, 3), np.float32)}, {"axis": 0, "keepdims": False}


def _products(rng: np.random.Generator) -> Iterator[Call]:
    # Near 1, lest a product of 1031 leave the range of f16.
    yield from _reductions(FLOATS, 0.996, 1.003)(rng)
    yield "i32", {"x": random_values(rng, (3, 4), "i32")}, {"axis": 1, "keepdims": False}


def _bools(rng: np.random.Generator) -> Iterator[Call]:
    for shape, axis, keepdims in _REDUCTIONS:
        for p in (0.1, 0.9):
            x = rng.uniform(size=shape) < p
            yield "bool", {"x": x}, {"axis": axis, "keepdims": keepdims}


def _args(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in ("f32", "f16", "bf16", "i32", "u8"):
        for shape, axis in [((7,), 0), ((3, 5), 0), ((3, 5), -1), ((2, 3, 4), 1), ((2, 1031), 1)]:
            # Few distinct values, so that ties are common.
            x = rounded(rng.integers(0, 4, shape), dtype)
            yield dtype, {"x": x}, {"axis": axis, "keepdims": shape == (3, 5)}
    x = np.array([[1, np.nan, 3, np.nan], [-np.inf, 2, np.inf, np.inf]], np.float32)
    yield "f32", {"x": x}, {"axis": -1, "keepdims": False}


def _top_k(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in ("f32", "f16", "bf16", "i32"):
        for shape, k in [((1,), 1), ((9,), 9), ((3, 20), 4), ((2, 2, 1031), 40), ((2, 5), 0)]:
            yield dtype, {"x": random_values(rng, shape, dtype)}, {"k": k}
        yield dtype, {"x": rounded(rng.integers(0, 3, (4, 30)), dtype)}, {"k": 11}
    x = np.array([[1, np.nan, 3, np.inf, np.nan, -np.inf]], np.float32)
    yield "f32", {"x": x}, {"k": 6}


def _softmaxes(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in FLOATS:
        for shape, axis in [((1,), -1), ((7,), 0), ((3, 5), 0), ((2, 3, 4), 1), ((2, 1031), -1)]:
            yield dtype, {"x": random_values(rng, shape, dtype, -8, 8)}, {"axis": axis}
        big = rounded(np.array([[1e4, 9990.0, -1e4], [-1e4, -1e4, -9984.0]]), dtype)
        yield dtype, {"x": big}, {"axis": -1}
        masked = rounded(np.array([[0.5, -np.inf, 2.0, -np.inf]]), dtype)
        yield dtype, {"x": masked}, {"axis": -1}


def _softmax(rng: np.random.Generator) -> Iterator[Call]:
    yield from _softmaxes(rng)
    yield "f32", {"x": np.full((2, 3), -np.inf, np.float32)}, {"axis": -1}


def _cumulatives(
    dtypes: tuple[str, ...], low: float, high: float
) -> Callable[[np.random.Generator], Iterator[Call]]:
    def calls(rng: np.random.Generator) -> Iterator[Call]:
        for dtype in dtypes:
            for shape, axis in [((1,), 0), ((9,), -1), ((4, 5), 0), ((2, 3, 70), -1), ((0, 3), 0)]:
                for exclusive in (False, True):
                    for backwards in (False, True):
                        x = random_values(rng, shape, dtype, low, high)
                        attributes = {"axis": axis, "exclusive": exclusive, "reverse": backwards}
                        yield dtype, {"x": x}, attributes

    return calls


def _norms(biased: bool) -> Callable[[np.random.Generator], Iterator[Call]]:
    def calls(rng: np.random.Generator) -> Iterator[Call]:
        for dtype in FLOATS:
            for shape in [(1, 1), (5,), (3, 64), (2, 3, 576), (4, 1031)]:
                operands: Operands = {"x": random_values(rng, shape, dtype)}
                for name in ("weight", "bias")[: 2 if biased else 1]:
                    yield dtype, dict(operands), {"epsilon": 1e-5}
                    operands[name] = random_values(rng, shape[-1:], dtype, -2, 2)
                yield dtype, operands, {"epsilon": 1e-3}
            # A mean far from zero: the variance must not come from mean(x*x) - mean**2.
            x = rounded(100 + rng.uniform(-1, 1, (2, 96)), "f16" if dtype == "f16" else "bf16")
            yield dtype, {"x": rounded(x, dtype)}, {"epsilon": 1e-5}

    return calls


def _group_norms(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in FLOATS:
        for shape, groups in [((1, 4), 2), ((2, 6, 5), 3), ((2, 8, 3, 5), 1), ((2, 8, 3, 5), 8)]:
            operands: Operands = {"x": random_values(rng, shape, dtype)}
            yield dtype, dict(operands), {"groups": groups, "epsilon": 1e-5}
            for name in ("weight", "bias"):
                operands[name] = random_values(rng, shape[1:2], dtype, -2, 2)
            yield dtype, operands, {"groups": groups, "epsilon": 1e-5}


def _ropes(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in FLOATS:
        for interleaved in (False, True):
            for tokens, heads, dim, n_rot in [(1, 1, 2, 2), (5, 3, 64, 64), (4, 2, 80, 32)]:
                operands: Operands = {
                    "x": random_values(rng, (tokens, heads, dim), dtype),
                    "positions": rng.integers(0, 300, tokens).astype(np.int32),
                }
                attributes = {"base": 10_000.0, "n_rot": n_rot, "interleaved": interleaved}
                yield dtype, dict(operands), dict(attributes)
                factors = rng.uniform(1, 8, n_rot // 2).astype(np.float32)
                operands["factors"] = factors
                yield dtype, operands, attributes | {"base": 5e5, "scale": 0.25}


def _attention_flat(rng: np.random.Generator) -> Iterator[Call]:
    sizes = [(1, 1, 1, 1, 4, 4), (7, 7, 3, 1, 16, 16), (9, 13, 4, 2, 64, 32), (5, 40, 2, 2, 24, 8)]
    options: list[Attributes] = [
        {"causal": True},
        {"causal": False},
        {"causal": True, "window": 3},
        {"causal": False, "window": 2},
        {"causal": True, "softcap": 5.0},
    ]
    for dtype in FLOATS:
        for tokens, keys, heads, kv_heads, dim, v_dim in sizes:
            for option in options:
                operands: Operands = {
                    "q": random_values(rng, (tokens, heads, dim), dtype, -2, 2),
                    "k": random_values(rng, (keys, kv_heads, dim), dtype, -2, 2),
                    "v": random_values(rng, (keys, kv_heads, v_dim), dtype, -2, 2),
                    "seq": rng.integers(0, 3, tokens).astype(np.int32),
                    "pos": rng.integers(0, 8, tokens).astype(np.int32),
                    "key_seq": rng.integers(0, 2, keys).astype(np.int32),
                    "key_pos": rng.integers(0, 8, keys).astype(np.int32),
                }
                yield dtype, operands, {"scale": dim**-0.5, **option}
            yield (
                dtype,
                operands | _extra(rng, tokens, keys, heads),
                {"scale": 0.3, "causal": False},
            )
            yield dtype, operands | _extra(rng, tokens, keys, 1), {"scale": 0.3, "causal": True}


def _extra(rng: np.random.Generator, tokens: int, keys: int, heads: int) -> Operands:
    mask = rng.uniform(size=(tokens, keys)) < 0.7
    mask[0] = False  # nothing to attend to
    bias = rng.uniform(-2, 2, (heads, tokens, keys)).astype(np.float32)
    bias[0, -1, 0] = -np.inf
    return {"mask": mask, "bias": bias}


def _attention_stateful(rng: np.random.Generator) -> Iterator[Call]:
    sizes = [(1, 1, 1, 1, 1, 4, 4), (6, 3, 20, 9, 3, 64, 64), (5, 2, 70, 4, 1, 32, 16)]
    options: list[Attributes] = [{}, {"window": 5}, {"softcap": 8.0}]
    for dtype in FLOATS:
        for tokens, sequences, context, heads, kv_heads, dim, v_dim in sizes:
            k_shape = (sequences, context, kv_heads, dim)
            v_shape = (sequences, context, kv_heads, v_dim)
            for option in options:
                operands: Operands = {
                    "q": random_values(rng, (tokens, heads, dim), dtype, -2, 2),
                    "k_state": random_values(rng, k_shape, dtype, -2, 2),
                    "v_state": random_values(rng, v_shape, dtype, -2, 2),
                    "seq": rng.integers(0, sequences, tokens).astype(np.int32),
                    "pos": rng.integers(0, context, tokens).astype(np.int32),
                }
                yield dtype, operands, {"scale": dim**-0.5, **option}
            extra = _extra(rng, tokens, context, heads)
            yield dtype, operands | extra, {"scale": dim**-0.5}


def _gathers(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in _MOVED:
        for shape, axis, picked in [((5,), 0, (3,)), ((4, 6), 1, (2, 3)), ((3, 2, 4), 0, ())]:
            indices = np.asarray(rng.integers(0, shape[axis], picked), dtype=np.int32)
            yield dtype, {"x": random_values(rng, shape, dtype), "indices": indices}, {"axis": axis}
    x = random_values(rng, (4, 3), "f32")
    yield "f32", {"x": x, "indices": np.zeros((0,), np.int64)}, {"axis": 0}


def _gather_elements(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in _MOVED:
        for shape, axis in [((5,), 0), ((4, 6), 1), ((3, 2, 4), 0)]:
            indices = rng.integers(0, shape[axis], shape).astype(np.int32)
            yield dtype, {"x": random_values(rng, shape, dtype), "indices": indices}, {"axis": axis}


def embedding_any(table: Array | Quantized, ids: Array, dtype: str) -> Array:
    """`structured.embedding` as `dtype`, whose table may be block-quantised."""
    if isinstance(table, Quantized):
        rows = structured.embedding_quantized(table.format_name, table.blocks, table.shape[0], ids)
        return rounded(rows, dtype)
    return rounded(structured.embedding(table, ids), dtype)


def _embeddings(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in FLOATS:
        table = random_values(rng, (11, 24), dtype)
        for shape in [(1,), (7,), (2, 3), (0,)]:
            ids = rng.integers(0, 11, shape).astype(np.int32)
            for result in dict.fromkeys((dtype, "f32")):
                yield dtype, {"table": table, "ids": ids}, {"dtype": result}
    for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"):
        weight = random_weight(rng, name, 9, 512)
        ids = np.array([8, 0, 3, 3], np.int32)
        yield "f32", {"table": weight, "ids": ids}, {"dtype": "f32"}


def _scatters(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in _MOVED:
        x = random_values(rng, (3, 5, 2, 4), dtype)
        at = rng.permutation(15)[:6]
        rows = random_values(rng, (6, 2, 4), dtype)
        seq, pos = (at // 5).astype(np.int32), (at % 5).astype(np.int32)
        yield dtype, {"x": x, "rows": rows, "seq": seq, "pos": pos}, {}
        rows = random_values(rng, (2, 5, 2, 4), dtype)
        yield dtype, {"x": x, "rows": rows, "seq": np.array([2, 0], np.int32)}, {}


def _moves(*samples: tuple[tuple[int, ...], Attributes]) -> Callable[..., Iterator[Call]]:
    def calls(rng: np.random.Generator) -> Iterator[Call]:
        for dtype in _MOVED:
            for shape, attributes in samples:
                yield dtype, {"x": random_values(rng, shape, dtype)}, attributes

    return calls


def _concats(rng: np.random.Generator) -> Iterator[Call]:
    lists: list[tuple[list[tuple[int, ...]], int]] = [
        ([(3,)], 0),
        ([(2, 3), (4, 3)], 0),
        ([(2, 3), (2, 1), (2, 5)], -1),
        ([(2, 1, 3), (2, 0, 3), (2, 2, 3)], 1),
    ]
    for dtype in _MOVED:
        for shapes, axis in lists:
            tensors = [random_values(rng, shape, dtype) for shape in shapes]
            yield dtype, {"tensors": tensors}, {"axis": axis}


def _pads(rng: np.random.Generator) -> Iterator[Call]:
    samples: list[tuple[tuple[int, ...], list[tuple[int, int]]]] = [
        ((3,), [(0, 0)]),
        ((2, 3), [(1, 2), (0, 3)]),
        ((2, 0, 3), [(0, 0), (2, 1), (1, 0)]),
    ]
    for dtype in _MOVED:
        for shape, widths in samples:
            value = True if dtype == "bool" else 3 if not is_float(dtype) else -1.5
            x = random_values(rng, shape, dtype)
            yield dtype, {"x": x}, {"widths": widths, "value": value}


def _casts(rng: np.random.Generator) -> Iterator[Call]:
    names = ("f32", "f16", "bf16", "f64", "i8", "u8", "i16", "i32", "i64", "u32", "bool")
    edges = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 126.5, 300.0, -300.0, 6e4, np.inf, -np.inf]
    for source in names:
        if is_float(source):
            x = np.concatenate([rng.uniform(-200, 200, 40), edges, [np.nan, 3e9, -3e9, 1e20]])
            values = rounded(x, source)
        else:
            values = random_values(rng, (57,), source)
        for target in names:
            # NumPy's NaN is not a number of any integer: the oracle's rule says 0.
            yield source, {"x": values}, {"dtype": target}


def _iotas(rng: np.random.Generator) -> Iterator[Call]:
    for dtype in ("i32", "i64", "f32", "f16"):
        for shape, axis in [((1,), 0), ((7,), 0), ((3, 4), 1), ((3, 4), 0), ((0,), 0)]:
            yield dtype, {}, {"shape": shape, "axis": axis, "dtype": dtype}


_ORDERED = ("f32", "f16", "bf16", "i32", "u8")

STRUCTURED: dict[str, Structured] = {
    op.name: op
    for op in (
        Structured("cast", structured.cast, _EXACT, _casts),
        Structured("matmul", matmul_any, _DOT, _matmul_all),
        Structured("sum", structured.sum_, _SUM, _empty_reductions),
        Structured("mean", structured.mean, _SUM, _reductions(FLOATS)),
        Structured("prod", structured.prod, tolerances(Tolerance(1e-4)), _products),
        Structured("max", structured.max_, _EXACT, _reductions(_ORDERED, nans=True)),
        Structured("min", structured.min_, _EXACT, _reductions(_ORDERED, nans=True)),
        Structured("any", structured.any_, _EXACT, _bools),
        Structured("all", structured.all_, _EXACT, _bools),
        Structured("argmax", structured.argmax, _EXACT, _args),
        Structured("argmin", structured.argmin, _EXACT, _args),
        Structured("top_k", structured.top_k, _EXACT, _top_k),
        Structured("softmax", structured.softmax, tolerances(Tolerance(1e-5, 1e-7)), _softmax),
        Structured("log_softmax", structured.log_softmax, _NORM, _softmaxes),
        Structured("cumsum", structured.cumsum, _SUM, _cumulatives((*FLOATS, "i32"), -2, 2)),
        Structured("cumprod", structured.cumprod, _NORM, _cumulatives(FLOATS, 0.9, 1.1)),
        Structured("cummax", structured.cummax, _EXACT, _cumulatives(_ORDERED, -4, 4)),
        Structured("cummin", structured.cummin, _EXACT, _cumulatives(_ORDERED, -4, 4)),
        Structured("layer_norm", structured.layer_norm, _NORM, _norms(biased=True)),
        Structured("rms_norm", structured.rms_norm, _NORM, _norms(biased=False)),
        Structured("group_norm", structured.group_norm, _NORM, _group_norms),
        Structured("rope", structured.rope, tolerances(Tolerance(1e-5, 1e-4)), _ropes),
        Structured("attention", attention.attention, _DOT, _attention_flat),
        Structured("attention_stateful", attention.attention_stateful, _DOT, _attention_stateful),
        Structured("gather", structured.gather, _EXACT, _gathers),
        Structured("gather_elements", structured.gather_elements, _EXACT, _gather_elements),
        Structured("embedding", embedding_any, _EXACT, _embeddings),
        Structured("scatter_rows", structured.scatter_rows, _EXACT, _scatters),
        Structured(
            "slice",
            structured.slice_,
            _EXACT,
            _moves(
                ((9,), {"start": [2], "stop": [8], "step": [3]}),
                ((9,), {"start": [8], "stop": [-1], "step": [-2]}),
                ((4, 6), {"start": [0, 1], "stop": [4, 5], "step": [1, 1]}),
                ((4, 6), {"start": [3, 5], "stop": [0, -1], "step": [-1, -2]}),
                ((4, 6), {"start": [2, 0], "stop": [2, 6], "step": [1, 1]}),
            ),
        ),
        Structured("concat", structured.concat, _EXACT, _concats),
        Structured(
            "split",
            structured.split,
            _EXACT,
            _moves(
                ((6,), {"sizes": [6], "axis": 0}),
                ((6, 2), {"sizes": [1, 3, 2], "axis": 0}),
                ((2, 8), {"sizes": [2, 0, 6], "axis": -1}),
            ),
        ),
        Structured(
            "reshape",
            structured.reshape,
            _EXACT,
            _moves(
                ((6,), {"shape": [2, 3]}), ((2, 3, 4), {"shape": [-1, 4]}), ((1,), {"shape": []})
            ),
        ),
        Structured(
            "transpose",
            structured.transpose,
            _EXACT,
            _moves(
                ((3, 5), {"axes": [1, 0]}),
                ((2, 3, 4), {"axes": [1, 2, 0]}),
                ((2, 3, 4, 5), {"axes": [0, 2, 1, 3]}),
                ((70, 67), {"axes": [1, 0]}),
                ((0, 3), {"axes": [1, 0]}),
            ),
        ),
        Structured(
            "expand",
            structured.expand,
            _EXACT,
            _moves(
                (_NO_SHAPE, {"shape": [3]}),
                ((1, 4), {"shape": [3, 4]}),
                ((2, 1, 3), {"shape": [5, 2, 4, 3]}),
            ),
        ),
        Structured("pad", structured.pad, _EXACT, _pads),
        Structured(
            "reverse",
            structured.reverse,
            _EXACT,
            _moves(
                ((5,), {"axis": 0}),
                ((3, 4), {"axis": -1}),
                ((2, 3, 4), {"axis": [0, 2]}),
                ((2, 3), {"axis": None}),
            ),
        ),
        Structured(
            "tile",
            structured.tile,
            _EXACT,
            _moves(((3,), {"repeats": [1]}), ((2, 3), {"repeats": [3, 2]})),
        ),
        Structured(
            "tril",
            structured.tril,
            _EXACT,
            _moves(((4, 4), {"k": 0}), ((2, 3, 5), {"k": 1}), ((5, 3), {"k": -2})),
        ),
        Structured(
            "triu",
            structured.triu,
            _EXACT,
            _moves(((4, 4), {"k": 0}), ((2, 3, 5), {"k": -1}), ((5, 3), {"k": 2})),
        ),
        Structured("iota", structured.iota, _EXACT, _iotas),
    )
}
