"""Each pattern that passes replace computes the same replaced, not replaced, and half replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import bessemer as bs
import numpy as np
import pytest
from bessemer import _core
from conftest import TARGETS, counts

BEST = TARGETS[-1]
CASES: dict[str, tuple[list[str], Callable[[Case], None]]] = {}


@dataclass
class Case:
    """A graph in the making, and the values of its inputs, weights and states."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    graph: bs.Graph = field(default_factory=bs.Graph)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    states: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: int = 0

    def floats(self, *shape: int, dtype: type = np.float32) -> np.ndarray:
        return self.rng.standard_normal(shape).astype(dtype)

    def input(self, name: str, value: np.ndarray) -> bs.Tensor:
        """An input whose first axis, if it has 5 rows, is the extent n <= 9."""
        self.inputs[name] = value
        n = bs.Extent("n", max=9)
        shape: list[object] = [n if i == 0 and d == 5 else d for i, d in enumerate(value.shape)]
        return self.graph.input(name, shape, _dtype(value))

    def fixed(self, name: str, value: np.ndarray) -> bs.Tensor:
        self.inputs[name] = value
        return self.graph.input(name, value.shape, _dtype(value))

    def weight(self, *shape: int) -> bs.Tensor:
        name = f"w{len(self.weights)}"
        self.weights[name] = self.floats(*shape) / np.float32(2)
        return self.graph.param(name, shape)

    def state(self, name: str, *shape: int) -> bs.Tensor:
        self.states[name] = self.floats(*shape)
        return self.graph.state(name, shape)

    def output(self, *values: bs.Tensor) -> None:
        for value in values:
            self.graph.output(f"y{self.outputs}", value)
            self.outputs += 1


def _dtype(value: np.ndarray) -> str:
    return {"float32": "f32", "float16": "f16", "int32": "i32", "bool": "bool"}[value.dtype.name]


def case(*ops: str) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    """Registers a case that becomes the ops named."""

    def register(build: Callable[[Case], None]) -> Callable[[Case], None]:
        CASES[build.__name__] = (list(ops), build)
        return build

    return register


def linear(x: bs.Tensor, w: bs.Tensor) -> bs.Tensor:
    return bs.matmul(x, w, transpose_b=True)


# ---- products ----


@case("linear(")
def bias_activation_residual(c: Case) -> None:
    x = c.input("x", c.floats(5, 64))
    y = bs.gelu(linear(x, c.weight(64, 64)) + c.weight(64))
    c.output(x + y)


@case("gated = true", 'norm = "layer"', "has_norm_bias = true")
def gate_behind_a_norm(c: Case) -> None:
    x = c.input("x", c.floats(5, 64))
    h = bs.layer_norm(x, c.weight(64), c.weight(64))
    gate = linear(h, c.weight(96, 64)) + c.weight(96)
    up = linear(h, c.weight(96, 64)) + c.weight(96)
    c.output(x + linear(bs.silu(gate) * up, c.weight(64, 96)))


@case("n_weights = 4", "n_weights = 2")
def six_products_of_one_input(c: Case) -> None:
    x = c.input("x", c.floats(5, 32))
    c.output(*[linear(x, c.weight(8 * n, 32)) for n in (1, 2, 3, 4, 5, 6)])


@case("has_residual = true")
def two_products_added(c: Case) -> None:
    x = c.input("x", c.floats(5, 32))
    c.output(linear(x, c.weight(16, 32)) + linear(bs.tanh(x), c.weight(16, 32)))


@case('activation = "relu"')
def activation_behind_a_reshape(c: Case) -> None:
    x = c.input("x", c.floats(5, 32))
    c.output(bs.maximum(bs.reshape(linear(x, c.weight(24, 32)), (-1, 2, 12)), 0.0))


@case("linear(")
def transposes_around_products(c: Case) -> None:
    x = c.fixed("x", c.floats(32, 6))
    w = c.weight(32, 8)
    y = bs.transpose(x) @ w
    z = x.graph.constant(c.floats(8, 6)) @ y
    c.output(y, z, linear(bs.transpose(bs.transpose(x)), c.weight(4, 6)))


# ---- norms ----


@case("norm_add(")
def norm_behind_a_block(c: Case) -> None:
    x = c.input("x", c.floats(5, 48))
    y = x + bs.rms_norm(bs.sin(x), c.weight(48))
    c.output(y + bs.layer_norm(y, c.weight(48), c.weight(48)))


@case("add_norm(")
def sum_and_its_norm(c: Case) -> None:
    x = c.input("x", c.floats(5, 48))
    s = x + c.input("r", c.floats(5, 48))
    c.output(bs.rms_norm(s, c.weight(48)), bs.layer_norm(s, c.weight(48)), s)


@case("rms_norm(", "layer_norm(")
def norms_from_primitives(c: Case) -> None:
    x = c.input("x", c.floats(5, 40))
    z = c.input("z", 3 + c.floats(5, 40))
    c.output(x / bs.sqrt(bs.mean(x * x, -1, keepdims=True) + 1e-6) * (1.0 + c.weight(40)))
    d = z - bs.mean(z, -1, keepdims=True)
    variance = bs.sum(d**2.0, -1, keepdims=True) / 40.0
    c.output(d * bs.rsqrt(variance + 1e-5) * c.weight(40) + c.weight(40))


# ---- activations ----


@case(" gelu(", " gelu_tanh(", " silu(", " sigmoid(")
def activations_from_primitives(c: Case) -> None:
    # An input each: a step that two formulas share stays as it is.
    values = np.linspace(-9, 9, 5 * 31, dtype=np.float32).reshape(5, 31)
    x, y, z, u = (c.input(name, values) for name in "xyzu")
    c.output(
        0.5 * x * (1.0 + bs.erf(x / math.sqrt(2))),
        0.5 * y * (1.0 + bs.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3.0))),
        z / (1.0 + bs.exp(-z)),
        1.0 / (1.0 + bs.exp(-u)),
    )


# ---- attention ----


def attend(q: bs.Tensor, k: bs.Tensor, v: bs.Tensor, scale: float) -> bs.Tensor:
    return bs.softmax(bs.matmul(q, k, transpose_b=True) * scale, -1) @ v


@case("attention(")
def attention_of_one_sequence(c: Case) -> None:
    q, k, v = (c.fixed(n, c.floats(3, 6, d)) for n, d in (("q", 16), ("k", 16), ("v", 8)))
    c.output(attend(q, k, v, 0.25))


@case("attention(", "causal = true")
def attention_causal_by_iota_in_groups(c: Case) -> None:
    q = c.fixed("q", c.floats(2, 4, 7, 16))
    k, v = (c.fixed(n, c.floats(2, 2, 7, 16)) for n in "kv")

    def repeat(t: bs.Tensor) -> bs.Tensor:
        return bs.reshape(bs.expand(bs.reshape(t, (2, 2, 1, 7, 16)), (2, 2, 2, 7, 16)), q.shape)

    rows = bs.iota(c.graph, (7, 1), axis=0)
    seen = rows >= bs.iota(c.graph, (1, 7), axis=1)
    scores = bs.matmul(q, repeat(k), transpose_b=True) * 0.25
    c.output(bs.softmax(bs.where(seen, scores, -math.inf), -1) @ repeat(v))


@case("attention(", "has_mask = true", "has_bias = true")
def attention_masked_and_biased(c: Case) -> None:
    q = c.fixed("q", c.floats(2, 3, 4, 8))
    k, v = (c.fixed(n, c.floats(2, 3, 6, 8)) for n in "kv")
    mask = c.rng.random((2, 1, 4, 6)) < 0.6
    mask[1, 0, 2] = False  # a query that sees nothing
    scores = bs.matmul(q, k, transpose_b=True) / 3.0 + c.fixed("bias", c.floats(3, 4, 6))
    c.output(bs.softmax(bs.where(c.fixed("mask", mask), scores, -math.inf), -1) @ v)


@case("attention(", "softcap = 4")
def attention_of_an_encoder(c: Case) -> None:
    x = c.fixed("x", c.floats(2, 5, 24))

    def heads(t: bs.Tensor) -> bs.Tensor:
        return bs.transpose(bs.reshape(t, (2, 5, 3, 8)), (0, 2, 1, 3))

    q, k, v = (heads(linear(x, c.weight(24, 24)) + c.weight(24)) for _ in range(3))
    scores = bs.tanh(bs.matmul(q, k, transpose_b=True) * 0.35 / 4.0) * 4.0
    y = bs.transpose(bs.softmax(scores, -1) @ v, (0, 2, 1, 3))
    y = linear(bs.reshape(y, (2, 5, 24)), c.weight(24, 24)) + c.weight(24)
    c.output(bs.layer_norm(x + y, c.weight(24), c.weight(24)))


@case("rope_append(", "has_qk_norm = true", "attention(")
def layer_with_states(c: Case) -> None:
    x = c.input("x", c.floats(5, 64))
    seq = c.input("seq", np.array([0, 1, 0, 1, 1], np.int32))
    pos = c.input("pos", np.array([3, 0, 4, 1, 2], np.int32))
    ks, vs = c.state("k", 2, 8, 2, 16), c.state("v", 2, 8, 2, 16)
    h = bs.rms_norm(x, c.weight(64))
    q = bs.reshape(linear(h, c.weight(64, 64)), (-1, 4, 16))
    k = bs.reshape(linear(h, c.weight(32, 64)), (-1, 2, 16))
    v = bs.reshape(linear(h, c.weight(32, 64)), (-1, 2, 16))
    q = bs.rope(bs.rms_norm(q, c.weight(16)), pos, interleaved=True)
    k = bs.rope(bs.rms_norm(k, c.weight(16)), pos, interleaved=True)
    ks, vs = bs.scatter_rows(ks, k, seq, pos), bs.scatter_rows(vs, v, seq, pos)
    c.graph.update("k", ks)
    c.graph.update("v", vs)
    a = bs.attention(q, ks, vs, seq, pos, window=4)
    c.output(x + linear(bs.reshape(a, (-1, 64)), c.weight(64, 64)))


# ---- elementwise ----


@case("region(")
def chains_with_further_results(c: Case) -> None:
    x = c.input("x", c.floats(5, 33))
    a = bs.exp(x * 0.3)
    b = bs.sin(a) + c.weight(33)
    d = bs.cast(b, "f16") * bs.cast(a, "f16")
    e = bs.softmax(b) + bs.cast(d, "f32") * a
    c.output(a, e, bs.where(e > b, bs.negative(e), b / 4.0))


@case('"y0" = %0', '"y1" = %0')
def integers_and_constants(c: Case) -> None:
    i = c.input("i", c.rng.integers(-9, 9, (5, 7)).astype(np.int32))
    zero = i * 0
    c.output(
        (i - i) + zero + (i + 0) * 1,
        bs.negative(-i) // 1,
        bs.tril(bs.iota(c.graph, (3, 3))) * 2 + 1,
    )


def graph_of(name: str) -> Case:
    made = Case()
    CASES[name][1](made)
    return made


def run(made: Case, **options: object) -> tuple[dict[str, np.ndarray], str]:
    """Outputs and states after one run, and the fused graph."""
    exe = BEST.compile(made.graph, precision="f32", **options)
    for name, value in made.weights.items():
        exe.weights[name] = value
    for name, value in made.states.items():
        exe.states[name].write(value)
    out = exe.run(**made.inputs)
    for name in made.states:
        out[name] = exe.states[name].read()
    return out, exe.plan.fused


def assert_close(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    assert got.keys() == want.keys()
    for name, value in got.items():
        scale = float(np.abs(want[name].astype(np.float64)).max(initial=1.0))
        np.testing.assert_allclose(value, want[name], rtol=1e-5, atol=3e-6 * scale, err_msg=name)


@pytest.mark.parametrize("name", CASES)
def test_fused_is_what_it_was(name: str) -> None:
    counts["patterns, fused and not"] += 1
    made = graph_of(name)
    want, _ = run(made, opt_level=0)
    got, fused = run(made)
    for op in CASES[name][0]:
        assert op in fused
    assert_close(got, want)


def switches() -> Iterator[list[str]]:
    """One pass left out, one pass alone."""
    names = _core.pass_names()
    for name in names:
        yield [name]
        yield [other for other in names if other != name]


@pytest.mark.parametrize("name", CASES)
def test_at_every_switch(name: str) -> None:
    made = graph_of(name)
    want, _ = run(made, opt_level=0)
    for disabled in switches():
        counts["patterns, at every switch"] += 1
        got, _ = run(made, disabled_passes=disabled)
        assert_close(got, want)
