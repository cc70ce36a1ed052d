"""Random graphs mean the same at every optimisation, placement and extent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bessemer as bs
import numpy as np
from conftest import TARGETS, Target, counts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BEST = TARGETS[-1]
MAX_ROWS = 12

UNARY: list[Callable[[Any], Any]] = [
    bs.tanh, bs.silu, bs.relu, bs.abs, bs.negative, bs.sigmoid, bs.gelu, bs.gelu_tanh, bs.square,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [bs.add, bs.subtract, bs.multiply, bs.maximum]


@dataclass
class Recipe:
    """A random graph as choices, so that it can be built again at another bound."""

    seed: int
    steps: int

    def build(self, bound: int) -> tuple[bs.Graph, dict[str, np.ndarray], list[str]]:
        """The graph with extent n <= bound, its weights, and the names of its outputs."""
        rng = np.random.default_rng(self.seed)
        g = bs.Graph("random")
        n = bs.Extent("n", max=bound)
        width = int(rng.choice([8, 32, 64]))
        x = g.input("x", (n, width))
        state = g.state("s", (16, width))
        index = g.input("rows", (n,), "i32")
        weights: dict[str, np.ndarray] = {}

        def weight(*shape: int) -> bs.Tensor:
            name = f"w{len(weights)}"
            weights[name] = rng.standard_normal(shape).astype(np.float32) / np.float32(8)
            return g.param(name, shape)

        values = [x, bs.gather(state, index)]
        for _ in range(self.steps):
            a = values[int(rng.integers(len(values)))]
            b = values[int(rng.integers(len(values)))]
            kind = int(rng.integers(9))
            if kind == 0:
                new = UNARY[int(rng.integers(len(UNARY)))](a)
            elif kind == 1:
                new = BINARY[int(rng.integers(len(BINARY)))](a, b)
            elif kind == 2:
                new = bs.matmul(a, weight(width, width), transpose_b=True)
            elif kind == 3:
                new = bs.rms_norm(a, weight(width), 1e-5)
            elif kind == 4:
                new = bs.layer_norm(a, weight(width), weight(width), 1e-5)
            elif kind == 5:
                new = bs.softmax(a) + b
            elif kind == 6:
                gate = bs.matmul(a, weight(width, width), transpose_b=True)
                up = bs.matmul(a, weight(width, width), transpose_b=True)
                new = bs.silu(gate) * up
            elif kind == 7:
                left, right = bs.split(a, 2)
                new = bs.concat([right, left], axis=-1)
            else:
                new = bs.reshape(bs.reshape(a, (-1, width // 2)), (-1, width)) * 0.5
            values.append(new)
        outputs = sorted({len(values) - 1, int(rng.integers(2, len(values)))})
        for i in outputs:
            g.output(f"y{i}", values[i])
        g.output("sum", bs.sum(values[-1], axis=0))
        g.update("s", bs.scatter_rows(state, values[-1], index))
        return g, weights, [f"y{i}" for i in outputs] + ["sum"]


def executable(target: Target, recipe: Recipe, bound: int, **options: Any) -> bs.Executable:
    graph, weights, _ = recipe.build(bound)
    exe = target.compile(graph, precision="f32", **options)
    for name, value in weights.items():
        exe.weights[name] = value
    return exe


def run(exe: bs.Executable, rows: int, seed: int) -> dict[str, np.ndarray]:
    """One run from a known state; the outputs and the state after it."""
    rng = np.random.default_rng(seed)
    width = exe.states["s"].shape[1]
    exe.states["s"].write(rng.standard_normal((16, width)).astype(np.float32))
    x = rng.standard_normal((rows, width)).astype(np.float32)
    index = rng.permutation(16)[:rows].astype(np.int32)
    out = exe.run(x=x, rows=index)
    out["state"] = exe.states["s"].read()
    return out


def assert_close(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    for name, value in a.items():
        np.testing.assert_allclose(value, b[name], rtol=2e-4, atol=2e-4, err_msg=name)


def assert_same_bits(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    for name, value in a.items():
        assert value.tobytes() == b[name].tobytes(), name


recipes = st.builds(Recipe, st.integers(0, 2**32 - 1), st.integers(1, 14))
bounded = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@bounded
@given(recipes, st.integers(0, MAX_ROWS))
def test_optimisation_does_not_change_the_meaning(recipe: Recipe, rows: int) -> None:
    counts["random graphs, optimised and not"] += 1
    plain = run(executable(BEST, recipe, MAX_ROWS, opt_level=0), rows, recipe.seed)
    assert_close(run(executable(BEST, recipe, MAX_ROWS), rows, recipe.seed), plain)


@bounded
@given(recipes, st.data())
def test_each_pass_may_be_left_out(recipe: Recipe, data: st.DataObject) -> None:
    from bessemer import _core

    counts["random graphs, a pass left out"] += 1
    names = _core.pass_names()
    disabled = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    plain = run(executable(BEST, recipe, MAX_ROWS, opt_level=0), 5, recipe.seed)
    exe = executable(BEST, recipe, MAX_ROWS, disabled_passes=disabled)
    assert_close(run(exe, 5, recipe.seed), plain)


@bounded
@given(recipes, st.integers(1, MAX_ROWS))
def test_a_smaller_extent_equals_compiling_at_it(recipe: Recipe, rows: int) -> None:
    counts["random graphs, at a smaller extent"] += 1
    large = run(executable(BEST, recipe, MAX_ROWS), rows, recipe.seed)
    small = run(executable(BEST, recipe, rows), rows, recipe.seed)
    assert_same_bits(large, small)


@bounded
@given(recipes)
def test_reuse_of_memory_does_not_change_a_bit(recipe: Recipe) -> None:
    counts["random graphs, without reuse"] += 1
    reused = run(executable(BEST, recipe, MAX_ROWS), 7, recipe.seed)
    apart = run(executable(BEST, recipe, MAX_ROWS, reuse_memory=False), 7, recipe.seed)
    assert_same_bits(reused, apart)


@bounded
@given(recipes, st.integers(0, MAX_ROWS))
def test_nothing_beyond_the_need_is_touched(recipe: Recipe, rows: int) -> None:
    counts["random graphs, poisoned arena"] += 1
    exe = executable(BEST, recipe, MAX_ROWS)
    clean = run(exe, rows, recipe.seed)
    exe._core.poison_arena(0xFF)
    assert_same_bits(run(exe, rows, recipe.seed), clean)
    untouched(exe, {"n": rows})


def untouched(exe: bs.Executable, extents: dict[str, int]) -> None:
    """Every byte of a poisoned arena outside the operands' ranges at `extents` is still poison."""
    arena = np.frombuffer(exe._core.read_arena(), np.uint8)
    needed = np.zeros(len(arena), bool)
    for thunk in exe.plan.schedule(-1, extents)["thunks"]:
        for operand in thunk["operands"]:
            if operand["space"] == "arena":
                assert operand["block"] == 0
                needed[operand["offset"] : operand["offset"] + operand["bytes"]] = True
    assert (arena[~needed] == 0xFF).all()
