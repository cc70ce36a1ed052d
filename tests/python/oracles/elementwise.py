"""Oracles of the elementwise ops: NumPy in float64, or in the very integer type.

Each row states the function, which dtypes it takes, the interval its random inputs come from, the
values that it must also get right, and its tolerance in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .values import (
    BOOL,
    EXACT,
    FLOATS,
    INTEGERS,
    Array,
    Tolerance,
    is_float,
    numpy_dtype,
    rounded,
    tolerances,
)

Shape = tuple[int, ...]
Interval = tuple[float, float]

NAN, INF = math.nan, math.inf
# Values at which implementations like to differ. 1e4 is finite in every float type here.
FINITE = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3)
SPECIAL = (*FINITE, 1e4, -1e4, NAN, INF, -INF)
# Where a product of 0 and infinity stands in the formula, -inf has no agreed result.
NO_NEGATIVE_INF = tuple(v for v in SPECIAL if v != -INF)

# Correctly rounded on most devices, one unit off on some.
_ROUNDED = tolerances(Tolerance(2.5e-7))
_SMOOTH = tolerances(Tolerance(4e-6, 1e-6))

UNARY_SHAPES: tuple[Shape, ...] = ((), (1,), (17,), (3, 5), (2, 3, 4), (1031,), (0, 3))
BINARY_SHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((7,), ()),
    ((33,), (33,)),
    ((4, 1, 5), (3, 1)),
    ((2, 3, 4), (4,)),
    ((1,), (2, 9)),
    ((1031,), (1,)),
    ((0, 3), (3,)),
)
TERNARY_SHAPES: tuple[tuple[Shape, Shape, Shape], ...] = (
    ((), (), ()),
    ((65,), (65,), (65,)),
    ((2, 3, 4), (4,), (3, 1)),
    ((3, 1), (2, 1, 5), ()),
)

Sampler = Callable[[np.random.Generator, Sequence[Shape], str], list[Array]]


@dataclass(frozen=True)
class Case:
    """Inputs of one dtype and the result that they must give, itself of `result_dtype`."""

    label: str
    dtype: str
    inputs: list[Array]
    expected: Array
    result_dtype: str
    tolerance: Tolerance


@dataclass(frozen=True)
class Elementwise:
    """One op. `function` takes float64 arrays for float dtypes, else arrays of the dtype itself."""

    name: str
    function: Callable[..., Array]
    arity: int
    dtypes: tuple[str, ...]
    tolerance: dict[str, Tolerance]
    sample: Sampler
    special: tuple[tuple[float, ...], ...] = ()
    """Tuples of operands that must be right, for float dtypes."""
    gives_bool: bool = False
    first_is_bool: bool = field(default=False)

    def evaluate(self, inputs: Sequence[Array], dtype: str) -> Array:
        """The right result of `inputs` (all of `dtype`, but for a leading condition)."""
        wide = [x.astype(np.float64) if is_float(dtype) and x.dtype != bool else x for x in inputs]
        with np.errstate(all="ignore"):
            result = np.asarray(self.function(*wide))
        return rounded(result, self.result_dtype(dtype))

    def result_dtype(self, dtype: str) -> str:
        return "bool" if self.gives_bool else dtype

    def cases(self, rng: np.random.Generator) -> Iterator[Case]:
        """Every dtype by every shape, and the special values."""
        shapes: Sequence[Sequence[Shape]]
        if self.arity == 1:
            shapes = [(s,) for s in UNARY_SHAPES]
        else:
            shapes = BINARY_SHAPES if self.arity == 2 else TERNARY_SHAPES
        for dtype in self.dtypes:
            for group in shapes:
                label = f"{self.name} {dtype} " + " ".join(str(list(s)) for s in group)
                yield self._case(label, dtype, self.sample(rng, group, dtype))
            if is_float(dtype) and self.special:
                columns = [rounded(np.array(c), dtype) for c in zip(*self.special, strict=True)]
                yield self._case(f"{self.name} {dtype} special values", dtype, columns)

    def _case(self, label: str, dtype: str, inputs: list[Array]) -> Case:
        result_dtype = self.result_dtype(dtype)
        tolerance = self.tolerance.get(result_dtype, Tolerance(0.0))
        expected = self.evaluate(inputs, dtype)
        return Case(label, dtype, inputs, expected, result_dtype, tolerance)


def sample_uniform(*intervals: Interval) -> Sampler:
    """Floats uniform in the interval of their operand (the last repeats); integers of every size.

    Integers are drawn over the whole range of their type, its ends included.
    """

    def sample(rng: np.random.Generator, shapes: Sequence[Shape], dtype: str) -> list[Array]:
        out = []
        for i, shape in enumerate(shapes):
            low, high = intervals[min(i, len(intervals) - 1)]
            out.append(random_values(rng, shape, dtype, low, high))
        return out

    return sample


def random_values(
    rng: np.random.Generator, shape: Shape, dtype: str, low: float = -4.0, high: float = 4.0
) -> Array:
    """An array of `dtype`: floats in [low, high], bools, or integers over their whole range."""
    if is_float(dtype):
        return rounded(rng.uniform(low, high, shape), dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    limits = np.iinfo(numpy_dtype(dtype))
    wide = rng.integers(limits.min, limits.max, shape, dtype=numpy_dtype(dtype), endpoint=True)
    # Uniform draws are nearly all huge: make a third of them small and a few the very ends.
    small = rng.integers(0 if limits.min == 0 else -9, 10, shape).astype(wide.dtype)
    ends = np.where(rng.integers(0, 2, shape) == 0, limits.min, limits.max).astype(wide.dtype)
    kind = rng.integers(0, 20, shape)
    return np.asarray(np.where(kind < 7, small, np.where(kind == 7, ends, wide)))


def sample_quotient(rng: np.random.Generator, shapes: Sequence[Shape], dtype: str) -> list[Array]:
    """x, y whose quotient is well away from an integer, so that rounding cannot move its floor."""
    if not is_float(dtype):
        return sample_uniform((0, 0))(rng, shapes, dtype)
    shape = np.broadcast_shapes(*shapes)
    y = rounded(rng.uniform(0.5, 4.0, shapes[1]) * rng.choice([-1.0, 1.0], shapes[1]), dtype)
    quotient = rng.integers(-6, 6, shape) + rng.uniform(0.15, 0.85, shape)
    if shape == shapes[0]:
        return [rounded(quotient * y, dtype), y]
    # x is the smaller operand: one quotient cannot hold for all, so y goes to its shape too.
    x = rounded(rng.uniform(0.15, 0.85, shapes[0]) * 0.5, dtype)
    return [x, y]


def sample_power(rng: np.random.Generator, shapes: Sequence[Shape], dtype: str) -> list[Array]:
    if is_float(dtype):
        return sample_uniform((0.1, 4.0), (-3.0, 3.0))(rng, shapes, dtype)
    base = random_values(rng, shapes[0], dtype)
    low = 0 if np.iinfo(numpy_dtype(dtype)).min == 0 else -3
    return [base, rng.integers(low, 12, shapes[1]).astype(numpy_dtype(dtype))]


def sample_shift(rng: np.random.Generator, shapes: Sequence[Shape], dtype: str) -> list[Array]:
    bits = numpy_dtype(dtype).itemsize * 8
    amount = rng.integers(0, bits + 2, shapes[1]).astype(numpy_dtype(dtype))
    return [random_values(rng, shapes[0], dtype), amount]


def sample_compare(rng: np.random.Generator, shapes: Sequence[Shape], dtype: str) -> list[Array]:
    """A few values only, so that many are equal."""
    if dtype == "bool":
        return [random_values(rng, s, dtype) for s in shapes]
    low = -2 if is_float(dtype) or np.iinfo(numpy_dtype(dtype)).min < 0 else 0
    return [rounded(rng.integers(low, 3, s), dtype) for s in shapes]


def sample_clamp(rng: np.random.Generator, shapes: Sequence[Shape], dtype: str) -> list[Array]:
    if is_float(dtype):
        intervals = ((-6.0, 6.0), (-4.0, -1.0), (1.0, 4.0))
        return sample_uniform(*intervals)(rng, shapes, dtype)
    x = random_values(rng, shapes[0], dtype)
    low = rng.integers(0, 20, shapes[1]).astype(x.dtype)
    return [x, low, rng.integers(20, 90, shapes[2]).astype(x.dtype)]


def sample_where(rng: np.random.Generator, shapes: Sequence[Shape], dtype: str) -> list[Array]:
    return [random_values(rng, shapes[0], "bool")] + [
        random_values(rng, s, dtype) for s in shapes[1:]
    ]


def _by_element(f: Callable[[float], float]) -> Callable[[Array], Array]:
    vector = np.vectorize(f, otypes=[np.float64])
    return lambda x: np.asarray(vector(x)) if x.size else x.astype(np.float64)


erf = _by_element(math.erf)
_erfc = _by_element(math.erfc)


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def gelu(x: Array) -> Array:
    """x times the normal distribution function, by erfc: no cancellation far below zero."""
    return np.asarray(0.5 * x * _erfc(-x / math.sqrt(2)))


def gelu_tanh(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0, x))


def elu(x: Array) -> Array:
    return np.where(x > 0, x, np.expm1(x))


def selu(x: Array) -> Array:
    """Klambauer et al. 2017, with their two constants."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(x))


def hard_sigmoid(x: Array) -> Array:
    return np.asarray(np.clip(x / 6 + 0.5, 0, 1))


def integer_power(x: Array, y: Array) -> Array:
    """x**y wrapped to the type; a negative exponent gives 0, but for bases 1 and -1."""
    bits = x.dtype.itemsize * 8
    signed = np.issubdtype(x.dtype, np.signedinteger)

    def one(base: int, exponent: int) -> int:
        if exponent < 0:
            if base not in (1, -1):
                return 0
            exponent = -exponent
        value = pow(base, exponent, 1 << bits)
        return value - (1 << bits) if signed and value >= 1 << (bits - 1) else value

    pairs = np.broadcast(x, y)
    flat = [one(int(a), int(b)) for a, b in pairs]
    return np.array(flat, dtype=x.dtype).reshape(pairs.shape)


def power(x: Array, y: Array) -> Array:
    return np.asarray(np.power(x, y)) if x.dtype == np.float64 else integer_power(x, y)


def _unary(
    name: str,
    function: Callable[..., Array],
    interval: Interval = (-4.0, 4.0),
    tolerance: dict[str, Tolerance] = _SMOOTH,
    special: Sequence[float] = SPECIAL,
    dtypes: tuple[str, ...] = FLOATS,
    *,
    gives_bool: bool = False,
) -> Elementwise:
    sample = sample_uniform(interval)
    pairs = tuple((v,) for v in special)
    return Elementwise(name, function, 1, dtypes, tolerance, sample, pairs, gives_bool)


def _binary(
    name: str,
    function: Callable[..., Array],
    sample: Sampler,
    tolerance: dict[str, Tolerance],
    special: Sequence[tuple[float, float]] = (),
    dtypes: tuple[str, ...] = FLOATS,
    *,
    gives_bool: bool = False,
) -> Elementwise:
    return Elementwise(name, function, 2, dtypes, tolerance, sample, tuple(special), gives_bool)


_EXACT = dict(EXACT)
_NUMERIC = FLOATS + INTEGERS
_BITS = INTEGERS + BOOL
_ALL_PAIRS = tuple((a, b) for a in SPECIAL for b in SPECIAL)
_FINITE_PAIRS = tuple((a, b) for a in FINITE for b in FINITE)
_PLAIN = sample_uniform((-4.0, 4.0))
_POWER_PAIRS = (
    *((-2.0, e) for e in (-2.0, -1.0, 0.0, 2.0, 3.0, 0.5)),
    *((0.0, e) for e in (0.0, 1.0, 2.0, -1.0)),
    *((b, 0.0) for b in (1.0, -1.0, INF)),
    (2.0, INF),
    (2.0, -INF),
    (NAN, 2.0),
)
_TRIG = tuple(v for v in SPECIAL if abs(v) != 1e4)
_EXP = (*_TRIG, 100.0, -110.0)
_LOG = (*SPECIAL, 1e-4)

UNARY: tuple[Elementwise, ...] = (
    _unary("abs", np.abs, tolerance=_EXACT, dtypes=_NUMERIC),
    _unary("negative", np.negative, tolerance=_EXACT, dtypes=_NUMERIC),
    _unary("sign", np.sign, tolerance=_EXACT, dtypes=_NUMERIC),
    _unary("floor", np.floor, tolerance=_EXACT),
    _unary("ceil", np.ceil, tolerance=_EXACT),
    _unary("round", np.rint, tolerance=_EXACT),
    _unary("trunc", np.trunc, tolerance=_EXACT),
    _unary("sqrt", np.sqrt, (0.0, 100.0), _ROUNDED),
    # The sign of 1/sqrt(-0) is left open.
    _unary(
        "rsqrt",
        lambda x: 1 / np.sqrt(x),
        (1e-3, 100.0),
        special=[v for v in SPECIAL if math.copysign(1.0, v) > 0 or v != 0],
    ),
    _unary("reciprocal", lambda x: 1 / x, (0.01, 10.0), _ROUNDED),
    _unary("square", np.square, (-100.0, 100.0), _EXACT, dtypes=_NUMERIC),
    _unary("exp", np.exp, (-10.0, 10.0), special=_EXP),
    _unary("exp2", np.exp2, (-14.0, 14.0), special=_EXP),
    _unary("expm1", np.expm1, (-8.0, 8.0), special=_EXP),
    _unary("log", np.log, (1e-3, 100.0), special=_LOG),
    _unary("log2", np.log2, (1e-3, 100.0), special=_LOG),
    _unary("log10", np.log10, (1e-3, 100.0), special=_LOG),
    _unary("log1p", np.log1p, (-0.9, 100.0), special=_LOG),
    _unary("sin", np.sin, (-100.0, 100.0), special=_TRIG),
    _unary("cos", np.cos, (-100.0, 100.0), special=_TRIG),
    _unary("tan", np.tan, (-1.4, 1.4), special=_TRIG),
    _unary("asin", np.arcsin, (-1.0, 1.0)),
    _unary("acos", np.arccos, (-1.0, 1.0)),
    _unary("atan", np.arctan, (-20.0, 20.0)),
    _unary("sinh", np.sinh, (-8.0, 8.0), special=_TRIG),
    _unary("cosh", np.cosh, (-8.0, 8.0), special=_TRIG),
    _unary("tanh", np.tanh),
    _unary("erf", erf),
    _unary("sigmoid", sigmoid, (-12.0, 12.0)),
    _unary("relu", lambda x: np.maximum(x, 0), tolerance=_EXACT, dtypes=_NUMERIC),
    _unary("relu6", lambda x: np.clip(x, 0, 6), (-3.0, 9.0), _EXACT),
    _unary("gelu", gelu, (-6.0, 6.0), special=NO_NEGATIVE_INF),
    _unary("gelu_tanh", gelu_tanh, (-6.0, 6.0), special=NO_NEGATIVE_INF),
    _unary("silu", lambda x: x * sigmoid(x), (-12.0, 12.0), special=NO_NEGATIVE_INF),
    _unary("softplus", softplus, (-20.0, 20.0)),
    _unary("elu", elu),
    _unary("selu", selu),
    _unary("hard_sigmoid", hard_sigmoid),
    _unary("hard_swish", lambda x: x * hard_sigmoid(x), special=NO_NEGATIVE_INF),
    _unary("mish", lambda x: x * np.tanh(softplus(x)), (-12.0, 12.0), special=NO_NEGATIVE_INF),
    # infinity / infinity stands in the formula.
    _unary("softsign", lambda x: x / (1 + np.abs(x)), special=(*FINITE, 1e4, -1e4, NAN)),
    _unary("logical_not", np.logical_not, dtypes=BOOL),
    _unary("bitwise_not", np.invert, dtypes=_BITS),
    _unary("isnan", np.isnan, gives_bool=True),
    _unary("isinf", np.isinf, gives_bool=True),
    _unary("isfinite", np.isfinite, gives_bool=True),
)


def _compare(name: str, function: Callable[..., Array]) -> Elementwise:
    dtypes = FLOATS + INTEGERS + BOOL
    return _binary(name, function, sample_compare, _EXACT, _ALL_PAIRS, dtypes, gives_bool=True)


BINARY: tuple[Elementwise, ...] = (
    _binary("add", np.add, _PLAIN, _EXACT, _ALL_PAIRS, _NUMERIC),
    _binary("subtract", np.subtract, _PLAIN, _EXACT, _ALL_PAIRS, _NUMERIC),
    _binary("multiply", np.multiply, _PLAIN, _EXACT, _ALL_PAIRS, _NUMERIC),
    _binary("divide", np.divide, sample_uniform((-4.0, 4.0), (0.1, 4.0)), _ROUNDED, _ALL_PAIRS),
    _binary(
        "floor_divide",
        np.floor_divide,
        sample_quotient,
        _EXACT,
        [(7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (-7.0, -2.0), (6.0, 2.0), (0.0, 3.0), (NAN, 1.0)],
        _NUMERIC,
    ),
    _binary(
        "remainder",
        np.remainder,
        sample_quotient,
        tolerances(Tolerance(1e-5, 1e-5)),
        [(7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (-7.0, -2.0), (6.0, 2.0), (1.0, 0.0), (NAN, 1.0)],
        _NUMERIC,
    ),
    _binary("pow", power, sample_power, tolerances(Tolerance(1e-5)), _POWER_PAIRS, _NUMERIC),
    _binary("maximum", np.maximum, _PLAIN, _EXACT, _ALL_PAIRS, _NUMERIC),
    _binary("minimum", np.minimum, _PLAIN, _EXACT, _ALL_PAIRS, _NUMERIC),
    _binary("atan2", np.arctan2, _PLAIN, _SMOOTH, _FINITE_PAIRS),
    _binary(
        "hypot",
        np.hypot,
        _PLAIN,
        _SMOOTH,
        [*_FINITE_PAIRS, (3e4, 4e3), (1e25, 1e25), (INF, 1.0), (1.0, -INF)],
    ),
    _binary("bitwise_and", np.bitwise_and, _PLAIN, _EXACT, dtypes=_BITS),
    _binary("bitwise_or", np.bitwise_or, _PLAIN, _EXACT, dtypes=_BITS),
    _binary("bitwise_xor", np.bitwise_xor, _PLAIN, _EXACT, dtypes=_BITS),
    _binary("left_shift", np.left_shift, sample_shift, _EXACT, dtypes=INTEGERS),
    _binary("right_shift", np.right_shift, sample_shift, _EXACT, dtypes=INTEGERS),
    _binary("logical_and", np.logical_and, _PLAIN, _EXACT, dtypes=BOOL),
    _binary("logical_or", np.logical_or, _PLAIN, _EXACT, dtypes=BOOL),
    _binary("logical_xor", np.logical_xor, _PLAIN, _EXACT, dtypes=BOOL),
    _compare("equal", np.equal),
    _compare("not_equal", np.not_equal),
    _compare("less", np.less),
    _compare("less_equal", np.less_equal),
    _compare("greater", np.greater),
    _compare("greater_equal", np.greater_equal),
)

TERNARY: tuple[Elementwise, ...] = (
    Elementwise(
        "where", np.where, 3, FLOATS + INTEGERS + BOOL, _EXACT, sample_where, first_is_bool=True
    ),
    Elementwise(
        "clamp",
        np.clip,
        3,
        _NUMERIC,
        _EXACT,
        sample_clamp,
        ((NAN, 0.0, 1.0), (INF, 0.0, 1.0), (-INF, 0.0, 1.0), (2.0, 1.0, 1.0), (2.0, -INF, INF)),
    ),
    Elementwise("fma", lambda x, y, z: x * y + z, 3, FLOATS, _ROUNDED, _PLAIN),
)

ELEMENTWISE: dict[str, Elementwise] = {op.name: op for op in (*UNARY, *BINARY, *TERNARY)}
