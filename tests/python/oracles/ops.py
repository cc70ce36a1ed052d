"""The oracle table: every op of bessemer by name.

``ELEMENTWISE[name]`` and ``STRUCTURED[name]`` give the function, its inputs and its tolerance;
``cases`` of either yields calls with their right results, to be compared by ``values.mismatch``:

    for case in ELEMENTWISE["exp"].cases(np.random.default_rng(0)):
        got = run(case.inputs, case.dtype)          # under test
        assert mismatch(got, case.expected, case.tolerance) is None, case.label

``attention_stateful`` is the op ``attention`` over KV states, and ``gather_elements`` is here for
whoever adds that op; every other name is that of an op.
"""

from __future__ import annotations

from .elementwise import BINARY, ELEMENTWISE, TERNARY, UNARY, Case, Elementwise
from .structured_cases import STRUCTURED, Quantized, Structured, StructuredCase
from .values import mismatch

__all__ = [
    "BINARY",
    "ELEMENTWISE",
    "NOT_IN_THE_OP_TABLE",
    "OPS",
    "STRUCTURED",
    "TERNARY",
    "UNARY",
    "Case",
    "Elementwise",
    "Quantized",
    "Structured",
    "StructuredCase",
    "mismatch",
]

OPS: dict[str, Elementwise | Structured] = {**ELEMENTWISE, **STRUCTURED}
NOT_IN_THE_OP_TABLE = frozenset({"attention_stateful", "gather_elements"})
