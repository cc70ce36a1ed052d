"""Every op of the table against its oracle, which shares no code with it."""

from __future__ import annotations

import zlib
from typing import Any

import bessemer as bs
import ml_dtypes
import numpy as np
import pytest
from bessemer import _core
from conftest import Target, counts
from oracles.ops import ELEMENTWISE, NOT_IN_THE_OP_TABLE, OPS, STRUCTURED, Case, StructuredCase
from oracles.structured_cases import Quantized
from oracles.values import Array, mismatch

# Ops whose `bias` or `factors` are f32 whatever the dtype of the rest.
F32_OPERANDS = {"attention", "attention_stateful", "rope"}

# Elementwise ops of one operand may come with an extent; so may these, along any axis.
EXTENT_AXES = {"softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "sum", "mean"}


def to_device(x: Array, dtype: str) -> Array:
    """An oracle's array as bessemer takes it: bf16 values become bfloat16."""
    if dtype == "bf16" and x.dtype == np.float32:
        return x.astype(ml_dtypes.bfloat16)
    return x


def from_device(x: Array) -> Array:
    """A result as the oracle has it."""
    return x.astype(np.float32) if x.dtype.name == "bfloat16" else x


def strided(x: Array) -> Array:
    """The same values behind strides that are not contiguous."""
    if x.ndim == 0 or x.size == 0:
        return x
    wide = np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def seeded(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


class Call:
    """A graph of one op under construction, and the arrays that feed it."""

    def __init__(self, dtype: str, extent: bool = False) -> None:
        self.graph = bs.Graph("case")
        self.dtype = dtype
        self.extent = extent
        self.arrays: dict[str, Array] = {}
        self.weights: dict[str, Array] = {}

    def input(self, x: Array, dtype: str | None = None) -> bs.Tensor:
        name = f"x{len(self.arrays)}"
        # Arrays "of bf16" travel as float32.
        is_carrier = x.dtype == np.float32 and (dtype or self.dtype) == "bf16"
        array = x.astype(ml_dtypes.bfloat16) if is_carrier else x
        self.arrays[name] = strided(array)
        shape: list[Any] = list(x.shape)
        if self.extent:
            shape[0] = bs.Extent("n", max=x.shape[0] + 7)
        return self.graph.input(name, shape, array.dtype)

    def operand(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.operand(v) for v in value]
        if isinstance(value, Quantized):
            name = f"w{len(self.weights)}"
            self.weights[name] = value.blocks.reshape(-1)
            return self.graph.param(name, value.shape, value.format_name.lower())
        return self.input(value)

    def run(self, target: Target, results: Any) -> list[Array]:
        values = results if isinstance(results, tuple) else (results,)
        for i, value in enumerate(values):
            self.graph.output(f"y{i}", value)
        exe = target.compile(self.graph, precision="f32")
        for name, weight in self.weights.items():
            exe.weights[name] = weight
        out = exe.run(self.arrays)
        return [from_device(out[f"y{i}"]) for i in range(len(values))]


def check_elementwise(target: Target, name: str, case: Case, extent: bool) -> str | None:
    call = Call(case.dtype, extent)
    operands = [call.input(x, "bool" if x.dtype == bool else None) for x in case.inputs]
    (got,) = call.run(target, getattr(bs, name)(*operands))
    return mismatch(got, case.expected, case.tolerance)


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_elementwise(target: Target, name: str) -> None:
    faults = []
    for case in ELEMENTWISE[name].cases(seeded(name)):
        same = len({x.shape for x in case.inputs}) == 1 and case.inputs[0].ndim > 0
        for extent in (False, True) if same else (False,):
            counts[f"{target} cases"] += 1
            fault = check_elementwise(target, name, case, extent)
            if fault is not None:
                faults.append(f"{case.label} extent={extent}: {fault}")
    assert not faults, "\n".join(faults[:5])


def build(call: Call, case: StructuredCase) -> Any:
    """The case as a call of bessemer's function."""
    operands = {
        # The oracle's bf16 arrays look like f32 ones; these operands really are f32.
        k: call.input(v, "f32")
        if k in ("bias", "factors") and case.op in F32_OPERANDS
        else call.operand(v)
        for k, v in case.operands.items()
    }
    attributes = dict(case.attributes)
    if case.op == "attention_stateful":
        k, v = operands.pop("k_state"), operands.pop("v_state")
        return bs.attention(operands.pop("q"), k, v, **operands, **attributes)
    if case.op == "scatter_rows":
        x, rows, *indices = operands.values()
        return bs.scatter_rows(x, rows, *indices)
    if case.op == "iota":
        return bs.iota(call.graph, **attributes)
    return getattr(bs, case.op)(**operands, **attributes)


def check_structured(target: Target, case: StructuredCase, extent: bool) -> str | None:
    call = Call(case.dtype, extent)
    got = call.run(target, build(call, case))
    if len(got) != len(case.expected):
        return f"{len(got)} results, expected {len(case.expected)}"
    for actual, expected in zip(got, case.expected, strict=True):
        fault = mismatch(actual, expected, case.tolerance)
        if fault is not None:
            return fault
    return None


@pytest.mark.parametrize("name", sorted(set(STRUCTURED) - {"gather_elements"}))
def test_structured(target: Target, name: str) -> None:
    faults = []
    for case in STRUCTURED[name].cases(seeded(name)):
        x = case.operands.get("x")
        variable = name in EXTENT_AXES and x is not None and x.ndim > 0
        for extent in (False, True) if variable else (False,):
            counts[f"{target} cases"] += 1
            fault = check_structured(target, case, extent)
            if fault is not None:
                faults.append(f"{case.label} extent={extent}: {fault}")
    assert not faults, "\n".join(faults[:5])


def test_every_op_is_covered() -> None:
    ours = {
        str(row["name"])
        for row in _core.op_table()
        if row["class"] in ("elementwise", "structured")
    }
    assert ours == set(OPS) - NOT_IN_THE_OP_TABLE
