"""Elementwise functions, generated from cpp/op_table.def. Operands broadcast."""

from __future__ import annotations

from typing import Any

from bessemer.graph import Tensor, apply_elementwise

__all__ = [
    "abs",
    "acos",
    "add",
    "asin",
    "atan",
    "atan2",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "divide",
    "elu",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fma",
    "gelu",
    "gelu_tanh",
    "greater",
    "greater_equal",
    "hard_sigmoid",
    "hard_swish",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mish",
    "multiply",
    "negative",
    "not_equal",
    "pow",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "right_shift",
    "round",
    "rsqrt",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]


def abs(x: Tensor) -> Tensor:
    """Absolute value.

    Takes floats and integers to the same dtype.

    Example: ``abs(-2) = 2``
    """
    return apply_elementwise("abs", x)


def acos(x: Tensor) -> Tensor:
    """Inverse cosine, in radians.

    Takes floats to the same dtype.

    Example: ``acos(1) = 0``
    """
    return apply_elementwise("acos", x)


def add(x: Any, y: Any) -> Tensor:
    """Sum.

    Takes floats and integers to the same dtype.

    Example: ``add(1, 2) = 3``
    """
    return apply_elementwise("add", x, y)


def asin(x: Tensor) -> Tensor:
    """Inverse sine, in radians.

    Takes floats to the same dtype.

    Example: ``asin(0) = 0``
    """
    return apply_elementwise("asin", x)


def atan(x: Tensor) -> Tensor:
    """Inverse tangent, in radians.

    Takes floats to the same dtype.

    Example: ``atan(0) = 0``
    """
    return apply_elementwise("atan", x)


def atan2(x: Any, y: Any) -> Tensor:
    """Angle of the point (y, x), in radians.

    Takes floats to the same dtype.

    Example: ``atan2(0, 1) = 0``
    """
    return apply_elementwise("atan2", x, y)


def bitwise_and(x: Any, y: Any) -> Tensor:
    """Bitwise and.

    Takes integers and bool to the same dtype.

    Example: ``bitwise_and(6, 3) = 2``
    """
    return apply_elementwise("bitwise_and", x, y)


def bitwise_not(x: Tensor) -> Tensor:
    """Bitwise not.

    Takes integers and bool to the same dtype.

    Example: ``bitwise_not(0) = -1``
    """
    return apply_elementwise("bitwise_not", x)


def bitwise_or(x: Any, y: Any) -> Tensor:
    """Bitwise or.

    Takes integers and bool to the same dtype.

    Example: ``bitwise_or(6, 3) = 7``
    """
    return apply_elementwise("bitwise_or", x, y)


def bitwise_xor(x: Any, y: Any) -> Tensor:
    """Bitwise exclusive or.

    Takes integers and bool to the same dtype.

    Example: ``bitwise_xor(6, 3) = 5``
    """
    return apply_elementwise("bitwise_xor", x, y)


def ceil(x: Tensor) -> Tensor:
    """Smallest integer not below x.

    Takes floats to the same dtype.

    Example: ``ceil(1.2) = 2``
    """
    return apply_elementwise("ceil", x)


def clamp(x: Any, y: Any, z: Any) -> Tensor:
    """x limited to [y, z]; NaN stays NaN.

    Takes floats and integers to the same dtype.

    Example: ``clamp(5, 0, 1) = 1``
    """
    return apply_elementwise("clamp", x, y, z)


def cos(x: Tensor) -> Tensor:
    """Cosine of an angle in radians.

    Takes floats to the same dtype.

    Example: ``cos(0) = 1``
    """
    return apply_elementwise("cos", x)


def cosh(x: Tensor) -> Tensor:
    """Hyperbolic cosine.

    Takes floats to the same dtype.

    Example: ``cosh(0) = 1``
    """
    return apply_elementwise("cosh", x)


def divide(x: Any, y: Any) -> Tensor:
    """Quotient of floats.

    Takes floats to the same dtype.

    Example: ``divide(1, 2) = 0.5``
    """
    return apply_elementwise("divide", x, y)


def elu(x: Tensor) -> Tensor:
    """x for x > 0, else exp(x) - 1.

    Takes floats to the same dtype.

    Example: ``elu(1) = 1``
    """
    return apply_elementwise("elu", x)


def equal(x: Any, y: Any) -> Tensor:
    """x == y.

    Takes any one dtype to bool.

    Example: ``equal(1, 1) = True``
    """
    return apply_elementwise("equal", x, y)


def erf(x: Tensor) -> Tensor:
    """Error function.

    Takes floats to the same dtype.

    Example: ``erf(0) = 0``
    """
    return apply_elementwise("erf", x)


def exp(x: Tensor) -> Tensor:
    """e to the x.

    Takes floats to the same dtype.

    Example: ``exp(0) = 1``
    """
    return apply_elementwise("exp", x)


def exp2(x: Tensor) -> Tensor:
    """2 to the x.

    Takes floats to the same dtype.

    Example: ``exp2(3) = 8``
    """
    return apply_elementwise("exp2", x)


def expm1(x: Tensor) -> Tensor:
    """exp(x) - 1, accurate near zero.

    Takes floats to the same dtype.

    Example: ``expm1(0) = 0``
    """
    return apply_elementwise("expm1", x)


def floor(x: Tensor) -> Tensor:
    """Largest integer not above x.

    Takes floats to the same dtype.

    Example: ``floor(-1.5) = -2``
    """
    return apply_elementwise("floor", x)


def floor_divide(x: Any, y: Any) -> Tensor:
    """Quotient rounded down; an integer divided by zero is 0.

    Takes floats and integers to the same dtype.

    Example: ``floor_divide(-3, 2) = -2``
    """
    return apply_elementwise("floor_divide", x, y)


def fma(x: Any, y: Any, z: Any) -> Tensor:
    """x * y + z, rounded once in f32.

    Takes floats to the same dtype.

    Example: ``fma(2, 3, 1) = 7``
    """
    return apply_elementwise("fma", x, y, z)


def gelu(x: Tensor) -> Tensor:
    """Gaussian error linear unit, exact.

    Takes floats to the same dtype.

    Example: ``gelu(0) = 0``
    """
    return apply_elementwise("gelu", x)


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by the tanh formula.

    Takes floats to the same dtype.

    Example: ``gelu_tanh(0) = 0``
    """
    return apply_elementwise("gelu_tanh", x)


def greater(x: Any, y: Any) -> Tensor:
    """x > y.

    Takes any one dtype to bool.

    Example: ``greater(1, 2) = False``
    """
    return apply_elementwise("greater", x, y)


def greater_equal(x: Any, y: Any) -> Tensor:
    """x >= y.

    Takes any one dtype to bool.

    Example: ``greater_equal(1, 1) = True``
    """
    return apply_elementwise("greater_equal", x, y)


def hard_sigmoid(x: Tensor) -> Tensor:
    """clamp(x / 6 + 1/2, 0, 1).

    Takes floats to the same dtype.

    Example: ``hard_sigmoid(0) = 0.5``
    """
    return apply_elementwise("hard_sigmoid", x)


def hard_swish(x: Tensor) -> Tensor:
    """x * hard_sigmoid(x).

    Takes floats to the same dtype.

    Example: ``hard_swish(0) = 0``
    """
    return apply_elementwise("hard_swish", x)


def hypot(x: Any, y: Any) -> Tensor:
    """sqrt(x*x + y*y) without overflow on the way.

    Takes floats to the same dtype.

    Example: ``hypot(3, 4) = 5``
    """
    return apply_elementwise("hypot", x, y)


def isfinite(x: Tensor) -> Tensor:
    """True where x is neither NaN nor infinite.

    Takes floats to bool.

    Example: ``isfinite(1) = True``
    """
    return apply_elementwise("isfinite", x)


def isinf(x: Tensor) -> Tensor:
    """True where x is infinite.

    Takes floats to bool.

    Example: ``isinf(inf) = True``
    """
    return apply_elementwise("isinf", x)


def isnan(x: Tensor) -> Tensor:
    """True where x is NaN.

    Takes floats to bool.

    Example: ``isnan(nan) = True``
    """
    return apply_elementwise("isnan", x)


def left_shift(x: Any, y: Any) -> Tensor:
    """Shift left; by 64 or more gives 0.

    Takes integers and bool to the same dtype.

    Example: ``left_shift(1, 3) = 8``
    """
    return apply_elementwise("left_shift", x, y)


def less(x: Any, y: Any) -> Tensor:
    """x < y.

    Takes any one dtype to bool.

    Example: ``less(1, 2) = True``
    """
    return apply_elementwise("less", x, y)


def less_equal(x: Any, y: Any) -> Tensor:
    """x <= y.

    Takes any one dtype to bool.

    Example: ``less_equal(1, 1) = True``
    """
    return apply_elementwise("less_equal", x, y)


def log(x: Tensor) -> Tensor:
    """Natural logarithm.

    Takes floats to the same dtype.

    Example: ``log(1) = 0``
    """
    return apply_elementwise("log", x)


def log1p(x: Tensor) -> Tensor:
    """log(1 + x), accurate near zero.

    Takes floats to the same dtype.

    Example: ``log1p(0) = 0``
    """
    return apply_elementwise("log1p", x)


def log2(x: Tensor) -> Tensor:
    """Logarithm to base 2.

    Takes floats to the same dtype.

    Example: ``log2(8) = 3``
    """
    return apply_elementwise("log2", x)


def log10(x: Tensor) -> Tensor:
    """Logarithm to base 10.

    Takes floats to the same dtype.

    Example: ``log10(100) = 2``
    """
    return apply_elementwise("log10", x)


def logical_and(x: Any, y: Any) -> Tensor:
    """And, of booleans.

    Takes bool to bool.

    Example: ``logical_and(True, False) = False``
    """
    return apply_elementwise("logical_and", x, y)


def logical_not(x: Tensor) -> Tensor:
    """Not, of booleans.

    Takes bool to bool.

    Example: ``logical_not(True) = False``
    """
    return apply_elementwise("logical_not", x)


def logical_or(x: Any, y: Any) -> Tensor:
    """Or, of booleans.

    Takes bool to bool.

    Example: ``logical_or(True, False) = True``
    """
    return apply_elementwise("logical_or", x, y)


def logical_xor(x: Any, y: Any) -> Tensor:
    """Exclusive or, of booleans.

    Takes bool to bool.

    Example: ``logical_xor(True, True) = False``
    """
    return apply_elementwise("logical_xor", x, y)


def maximum(x: Any, y: Any) -> Tensor:
    """The larger; NaN if either is NaN.

    Takes floats and integers to the same dtype.

    Example: ``maximum(1, 2) = 2``
    """
    return apply_elementwise("maximum", x, y)


def minimum(x: Any, y: Any) -> Tensor:
    """The smaller; NaN if either is NaN.

    Takes floats and integers to the same dtype.

    Example: ``minimum(1, 2) = 1``
    """
    return apply_elementwise("minimum", x, y)


def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x)).

    Takes floats to the same dtype.

    Example: ``mish(0) = 0``
    """
    return apply_elementwise("mish", x)


def multiply(x: Any, y: Any) -> Tensor:
    """Product.

    Takes floats and integers to the same dtype.

    Example: ``multiply(2, 3) = 6``
    """
    return apply_elementwise("multiply", x, y)


def negative(x: Tensor) -> Tensor:
    """Negation.

    Takes floats and integers to the same dtype.

    Example: ``negative(2) = -2``
    """
    return apply_elementwise("negative", x)


def not_equal(x: Any, y: Any) -> Tensor:
    """x != y.

    Takes any one dtype to bool.

    Example: ``not_equal(1, 1) = False``
    """
    return apply_elementwise("not_equal", x, y)


def pow(x: Any, y: Any) -> Tensor:
    """x to the y; a negative integer exponent gives 0 unless |x| = 1.

    Takes floats and integers to the same dtype.

    Example: ``pow(2, 3) = 8``
    """
    return apply_elementwise("pow", x, y)


def reciprocal(x: Tensor) -> Tensor:
    """1 / x.

    Takes floats to the same dtype.

    Example: ``reciprocal(4) = 0.25``
    """
    return apply_elementwise("reciprocal", x)


def relu(x: Tensor) -> Tensor:
    """max(x, 0); NaN stays NaN.

    Takes floats and integers to the same dtype.

    Example: ``relu(-1) = 0``
    """
    return apply_elementwise("relu", x)


def relu6(x: Tensor) -> Tensor:
    """min(max(x, 0), 6).

    Takes floats to the same dtype.

    Example: ``relu6(7) = 6``
    """
    return apply_elementwise("relu6", x)


def remainder(x: Any, y: Any) -> Tensor:
    """x - floor_divide(x, y) * y: the sign of y; an integer modulo zero is 0.

    Takes floats and integers to the same dtype.

    Example: ``remainder(-3, 2) = 1``
    """
    return apply_elementwise("remainder", x, y)


def right_shift(x: Any, y: Any) -> Tensor:
    """Arithmetic shift right.

    Takes integers and bool to the same dtype.

    Example: ``right_shift(-8, 1) = -4``
    """
    return apply_elementwise("right_shift", x, y)


def round(x: Tensor) -> Tensor:
    """Nearest integer, ties to even.

    Takes floats to the same dtype.

    Example: ``round(2.5) = 2``
    """
    return apply_elementwise("round", x)


def rsqrt(x: Tensor) -> Tensor:
    """Reciprocal square root.

    Takes floats to the same dtype.

    Example: ``rsqrt(4) = 0.5``
    """
    return apply_elementwise("rsqrt", x)


def selu(x: Tensor) -> Tensor:
    """Self-normalising ELU.

    Takes floats to the same dtype.

    Example: ``selu(0) = 0``
    """
    return apply_elementwise("selu", x)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    Takes floats to the same dtype.

    Example: ``sigmoid(0) = 0.5``
    """
    return apply_elementwise("sigmoid", x)


def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1; NaN stays NaN.

    Takes floats and integers to the same dtype.

    Example: ``sign(-3) = -1``
    """
    return apply_elementwise("sign", x)


def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x), also called swish.

    Takes floats to the same dtype.

    Example: ``silu(0) = 0``
    """
    return apply_elementwise("silu", x)


def sin(x: Tensor) -> Tensor:
    """Sine of an angle in radians.

    Takes floats to the same dtype.

    Example: ``sin(0) = 0``
    """
    return apply_elementwise("sin", x)


def sinh(x: Tensor) -> Tensor:
    """Hyperbolic sine.

    Takes floats to the same dtype.

    Example: ``sinh(0) = 0``
    """
    return apply_elementwise("sinh", x)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)).

    Takes floats to the same dtype.

    Example: ``softplus(0) = 0.6931472``
    """
    return apply_elementwise("softplus", x)


def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|).

    Takes floats to the same dtype.

    Example: ``softsign(1) = 0.5``
    """
    return apply_elementwise("softsign", x)


def sqrt(x: Tensor) -> Tensor:
    """Square root.

    Takes floats to the same dtype.

    Example: ``sqrt(9) = 3``
    """
    return apply_elementwise("sqrt", x)


def square(x: Tensor) -> Tensor:
    """x * x.

    Takes floats and integers to the same dtype.

    Example: ``square(3) = 9``
    """
    return apply_elementwise("square", x)


def subtract(x: Any, y: Any) -> Tensor:
    """Difference.

    Takes floats and integers to the same dtype.

    Example: ``subtract(1, 2) = -1``
    """
    return apply_elementwise("subtract", x, y)


def tan(x: Tensor) -> Tensor:
    """Tangent of an angle in radians.

    Takes floats to the same dtype.

    Example: ``tan(0) = 0``
    """
    return apply_elementwise("tan", x)


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent.

    Takes floats to the same dtype.

    Example: ``tanh(0) = 0``
    """
    return apply_elementwise("tanh", x)


def trunc(x: Tensor) -> Tensor:
    """Integer part, towards zero.

    Takes floats to the same dtype.

    Example: ``trunc(-1.7) = -1``
    """
    return apply_elementwise("trunc", x)


def where(x: Any, y: Any, z: Any) -> Tensor:
    """y where x is true, else z; x is bool.

    Takes (bool, T, T) to T.

    Example: ``where(True, 1, 2) = 1``
    """
    return apply_elementwise("where", x, y, z)
