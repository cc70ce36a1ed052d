"""The op oracles themselves: names, identities, cases that hold for any right implementation."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles import structured as st
from oracles import values
from oracles.attention import attention, attention_stateful
from oracles.elementwise import elu, erf, gelu, gelu_tanh, integer_power, selu, sigmoid, softplus
from oracles.ops import ELEMENTWISE, NOT_IN_THE_OP_TABLE, OPS, STRUCTURED
from oracles.values import Tolerance, mismatch

ROOT = Path(__file__).resolve().parents[3]


def test_every_op_of_the_table_has_an_oracle_and_every_oracle_an_op() -> None:
    text = (ROOT / "cpp" / "op_table.def").read_text(encoding="utf-8")
    rows = re.findall(r"^BSM_(UNARY|BINARY|TERNARY|OP)\((\w+)", text, re.MULTILINE)
    assert len(rows) > 100
    names = {name for _, name in rows}
    assert names - set(OPS) == set(), "ops without an oracle"
    assert set(OPS) - names == NOT_IN_THE_OP_TABLE, "oracles without an op"
    arity = {"UNARY": 1, "BINARY": 2, "TERNARY": 3}
    for kind, name in rows:
        assert (name in ELEMENTWISE) == (kind in arity)
        if kind in arity:
            assert ELEMENTWISE[name].arity == arity[kind]


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_elementwise_cases_are_whole(name: str) -> None:
    op = ELEMENTWISE[name]
    seen = set()
    for case in op.cases(np.random.default_rng(3)):
        seen.add(case.dtype)
        shape = np.broadcast_shapes(*(x.shape for x in case.inputs))
        assert case.expected.shape == shape, case.label
        assert case.expected.dtype == values.numpy_dtype(case.result_dtype), case.label
        for i, x in enumerate(case.inputs):
            carried = "bool" if op.first_is_bool and i == 0 else case.dtype
            assert x.dtype == values.numpy_dtype(carried), case.label
        if "special" not in case.label and values.is_float(case.result_dtype):
            assert np.isfinite(case.expected).all(), case.label
    assert seen == set(op.dtypes)


@pytest.mark.parametrize("name", sorted(STRUCTURED))
def test_structured_cases_are_whole(name: str) -> None:
    cases = list(STRUCTURED[name].cases(np.random.default_rng(3)))
    assert len(cases) >= 10
    for case in cases:
        for result, dtype in zip(case.expected, case.result_dtypes, strict=True):
            assert result.dtype == values.numpy_dtype(dtype), case.label
        again, _ = STRUCTURED[name].evaluate(case.operands, case.attributes, case.dtype)
        for a, b in zip(again, case.expected, strict=True):
            assert mismatch(a, b, Tolerance(0.0)) is None, f"{case.label}: inputs were changed"


def test_a_plain_float32_computation_is_within_tolerance() -> None:
    """The tolerances leave room for honest float32 arithmetic."""
    direct: dict[str, Callable[..., Any]] = {
        "exp": np.exp,
        "log": np.log,
        "tanh": np.tanh,
        "sin": np.sin,
        "divide": np.divide,
        "add": np.add,
        "sqrt": np.sqrt,
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "silu": lambda x: x / (1 + np.exp(-x)),
        "pow": np.power,
        "atan2": np.arctan2,
    }
    for name, function in direct.items():
        for case in ELEMENTWISE[name].cases(np.random.default_rng(5)):
            if values.is_float(case.dtype):
                with np.errstate(all="ignore"):
                    wide = function(*(x.astype(np.float32) for x in case.inputs))
                got = values.rounded(wide, case.dtype)
                assert mismatch(got, case.expected, case.tolerance) is None, case.label


def test_float32_softmax_and_norms_are_within_tolerance() -> None:
    for case in STRUCTURED["rms_norm"].cases(np.random.default_rng(5)):
        x = case.operands["x"].astype(np.float32)
        out = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(case.attributes["epsilon"]))
        out = out * case.operands.get("weight", np.float32(1)).astype(np.float32)
        got = values.rounded(out, case.dtype)
        assert mismatch(got, case.expected[0], case.tolerance) is None, case.label
    for case in STRUCTURED["matmul"].cases(np.random.default_rng(5)):
        if isinstance(case.operands["b"], np.ndarray):
            a, b = (case.operands[n].astype(np.float32) for n in "ab")
            a = np.swapaxes(a, -1, -2) if case.attributes["transpose_a"] else a
            b = np.swapaxes(b, -1, -2) if case.attributes["transpose_b"] else b
            got = values.rounded(a @ b, case.dtype)
            assert mismatch(got, case.expected[0], case.tolerance) is None, case.label


def test_bfloat16_rounds_to_nearest_even() -> None:
    x = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 3.4e38, -0.0], np.float32)
    expected = np.array([1.0, 1.0, 1 + 2**-6, 1 + 2**-7, np.inf, -0.0], np.float32)
    np.testing.assert_array_equal(values.rounded(x, "bf16"), expected)
    odd_nan = np.array([0x7F800001], np.uint32).view(np.float32)
    assert np.isnan(values.rounded(odd_nan, "bf16")).all()


def test_mismatch_tells_what_and_where() -> None:
    a = np.array([[1.0, np.nan], [np.inf, 2.0]])
    assert mismatch(a, a.copy(), Tolerance(0.0)) is None
    assert "shape (2,)" in str(mismatch(a[0], a, Tolerance(0.0)))
    b = a.copy()
    b[1, 1] = 2.001
    assert "1 of 4 differ, first at [1, 1]" in str(mismatch(b, a, Tolerance(1e-6)))
    assert mismatch(b, a, Tolerance(1e-3)) is None
    assert mismatch(np.array([np.inf]), np.array([3e38]), Tolerance(1.0)) is not None
    assert mismatch(np.array([1.0]), np.array([np.nan]), Tolerance(1.0)) is not None


def test_activations_satisfy_their_identities() -> None:
    x = np.linspace(-6, 6, 241)
    np.testing.assert_allclose(gelu(x), 0.5 * x * (1 + erf(x / math.sqrt(2))), atol=1e-15)
    np.testing.assert_allclose(gelu(x) + gelu(-x), x * erf(x / math.sqrt(2)), atol=1e-15)
    assert np.abs(gelu(x) - gelu_tanh(x)).max() < 5e-4
    np.testing.assert_allclose(sigmoid(x) + sigmoid(-x), 1.0, atol=1e-15)
    np.testing.assert_allclose(softplus(x) - softplus(-x), x, atol=1e-12)
    np.testing.assert_allclose(np.gradient(softplus(x), x)[1:-1], sigmoid(x)[1:-1], atol=3e-4)
    # erf is the integral of a bell.
    t = np.linspace(0, 1.25, 20_001)
    bell = 2 / math.sqrt(math.pi) * np.trapezoid(np.exp(-(t**2)), t)
    np.testing.assert_allclose(erf(np.array([1.25])), bell, rtol=1e-8)
    # A self-normalising unit keeps mean 0 and variance 1 of a normal input.
    z = np.linspace(-12, 12, 200_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    assert abs(float(np.trapezoid(selu(z) * density, z))) < 1e-8
    assert abs(float(np.trapezoid(selu(z) ** 2 * density, z)) - 1) < 1e-8
    assert elu(np.array([-np.inf]))[0] == -1


def test_integer_rules() -> None:
    i8 = np.array([-128, -3, 2, 1, -1, 7], np.int8)
    e = np.array([1, 3, -1, -5, -3, 9], np.int8)
    np.testing.assert_array_equal(integer_power(i8, e), [-128, -27, 0, 1, -1, 7**9 % 256])
    divide = ELEMENTWISE["floor_divide"]
    x, y = np.array([-128, 7, -7, 5], np.int8), np.array([-1, -2, 2, 0], np.int8)
    np.testing.assert_array_equal(divide.evaluate([x, y], "i8"), [-128, -4, -4, 0])
    np.testing.assert_array_equal(ELEMENTWISE["remainder"].evaluate([x, y], "i8"), [0, -1, 1, 0])


def test_casts() -> None:
    x = np.array([1.9, -1.9, 300.0, -300.0, np.nan, np.inf], np.float32)
    np.testing.assert_array_equal(st.cast(x, "i8"), [1, -1, 127, -128, 0, 127])
    np.testing.assert_array_equal(st.cast(x, "u8"), [1, 0, 255, 0, 0, 255])
    np.testing.assert_array_equal(st.cast(x, "bool"), [True] * 6)
    np.testing.assert_array_equal(st.cast(np.array([300, -1], np.int32), "u8"), [44, 255])
    assert st.cast(np.array([1e20]), "i64")[0] == 2**63 - 1


def test_top_k_orders_ties_and_nan() -> None:
    x = np.array([1.0, 3.0, np.nan, 3.0, np.inf], np.float32)
    found, at = st.top_k(x, 5)
    assert at.tolist() == [2, 4, 1, 3, 0]
    assert math.isnan(found[0])


def test_cumulative_by_hand() -> None:
    x = np.array([1, 2, 3], np.int32)
    assert st.cumsum(x).tolist() == [1, 3, 6]
    assert st.cumsum(x, exclusive=True).tolist() == [0, 1, 3]
    assert st.cumsum(x, reverse=True).tolist() == [6, 5, 3]
    assert st.cumsum(x, exclusive=True, reverse=True).tolist() == [5, 3, 0]
    assert st.cumprod(x, exclusive=True).tolist() == [1, 1, 2]
    assert st.cummax(np.array([2, 1, 3], np.int8), exclusive=True).tolist() == [-128, 2, 2]


def test_slice_by_hand() -> None:
    x = np.arange(9)
    assert st.slice_(x, [8], [-1], [-2]).tolist() == [8, 6, 4, 2, 0]
    assert st.slice_(x, [2], [8], [3]).tolist() == [2, 5]


def test_norms_normalise() -> None:
    x = np.random.default_rng(0).standard_normal((3, 8, 50))
    y = st.layer_norm(x, epsilon=0.0)
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(y.var(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.square(st.rms_norm(x, epsilon=0.0)).mean(-1), 1, rtol=1e-12)
    g = st.group_norm(x, groups=2, epsilon=0.0).reshape(3, 2, -1)
    np.testing.assert_allclose(g.var(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(
        st.group_norm(x, groups=8, epsilon=0.0), st.layer_norm(x, epsilon=0.0), atol=1e-12
    )


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_rotates(interleaved: bool) -> None:
    rng = np.random.default_rng(1)
    q, k = rng.standard_normal((2, 1, 1, 16))

    def at(x: values.Array, position: int) -> values.Array:
        return st.rope(x, np.array([position]), n_rot=12, interleaved=interleaved)

    # A rotation keeps lengths, leaves the tail alone, and products depend on distance only.
    np.testing.assert_allclose(np.linalg.norm(at(q, 77)), np.linalg.norm(q), rtol=1e-12)
    np.testing.assert_array_equal(at(q, 77)[..., 12:], q[..., 12:])
    np.testing.assert_array_equal(at(q, 0), q)
    near = np.sum(at(q, 9) * at(k, 4))
    np.testing.assert_allclose(np.sum(at(q, 1009) * at(k, 1004)), near, rtol=1e-9)
    # The first pair turns by one radian a position.
    unit = np.zeros((1, 1, 16))
    unit[..., 0] = 1
    second = 1 if interleaved else 6
    turned = at(unit, 1)
    np.testing.assert_allclose(turned[0, 0, [0, second]], [math.cos(1), math.sin(1)], rtol=1e-12)


def test_attention_forms_agree_and_are_softmax() -> None:
    rng = np.random.default_rng(2)
    context, tokens = 12, 5
    q = rng.standard_normal((tokens, 4, 8))
    ks, vs = rng.standard_normal((3, context, 2, 8)), rng.standard_normal((3, context, 2, 6))
    seq, pos = np.array([0, 2, 2, 1, 0]), np.array([0, 11, 3, 7, 5])
    key_seq, key_pos = np.repeat(np.arange(3), context), np.tile(np.arange(context), 3)
    k, v = ks.reshape(-1, 2, 8), vs.reshape(-1, 2, 6)
    for window, softcap in [(0, 0.0), (4, 0.0), (0, 2.0)]:
        options: dict[str, Any] = {"scale": 0.35, "window": window, "softcap": softcap}
        flat = attention(q, k, v, seq, pos, key_seq, key_pos, **options)
        stateful = attention_stateful(q, ks, vs, seq, pos, **options)
        np.testing.assert_allclose(flat, stateful, rtol=1e-12)
    # By softmax over a masked score matrix, head by head.
    plain = attention(q, k, v, seq, pos, key_seq, key_pos, scale=0.35, window=4)
    for h in range(4):
        score = 0.35 * q[:, h] @ k[:, h // 2].T
        distance = pos[:, None] - key_pos
        seen = (seq[:, None] == key_seq) & (distance >= 0) & (distance < 4)
        p = st.softmax(np.where(seen, score, -np.inf))
        np.testing.assert_allclose(plain[:, h], p @ v[:, h // 2], rtol=1e-12)


def test_attention_with_nothing_to_attend_to_gives_zeros() -> None:
    q, k, v = (np.ones((2, 1, 4)) for _ in range(3))
    seq, pos = np.array([0, 9]), np.array([1, 1])
    out = attention(q, k, v, seq, pos, np.array([0, 0]), np.array([0, 1]), scale=1.0)
    np.testing.assert_array_equal(out[:, 0, 0], [1.0, 0.0])
    bias = np.full((1, 2, 2), -np.inf)
    out = attention(q, k, v, seq, pos, np.zeros(2), np.zeros(2), scale=1.0, bias=bias)
    assert not out.any()


def test_window_of_a_bidirectional_encoder_is_symmetric() -> None:
    one = np.ones((1, 1, 2))
    v = np.arange(5.0).reshape(5, 1, 1)
    k, zeros = np.zeros((5, 1, 2)), np.zeros(5)
    at = np.arange(5)
    out = attention(
        one, k, v, zeros[:1], np.array([1]), zeros, at, scale=1.0, causal=False, window=2
    )
    assert out.item() == pytest.approx(1.0)  # mean of positions 0, 1, 2
