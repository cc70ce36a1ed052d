"""What every run keeps: typed errors, a session that stays usable, states, threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import bessemer as bs
import numpy as np
import pytest
from bessemer.errors import (
    BusyError,
    DtypeError,
    InvalidArgumentError,
    ShapeError,
    StateError,
    UnknownNameError,
)
from conftest import Target, counts


def linear(target: Target) -> bs.Executable:
    """y = x w, for up to 4 rows."""
    g = bs.Graph("linear")
    x = g.input("x", (bs.Extent("n", max=4), 3))
    g.output("y", x @ g.param("w", (3, 2)))
    counts["promises"] += 1
    return target.compile(g)


W = np.arange(6, dtype=np.float32).reshape(3, 2)
X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({}, UnknownNameError),
        ({"x": X, "z": X}, UnknownNameError),
        ({"x": X.astype(np.float64)}, DtypeError),
        ({"x": X.astype(np.int32)}, DtypeError),
        ({"x": np.ones((2, 4), np.float32)}, ShapeError),
        ({"x": np.ones(3, np.float32)}, ShapeError),
        ({"x": np.ones((5, 3), np.float32)}, InvalidArgumentError),
    ],
)
def test_bad_inputs_are_refused_and_the_next_run_is_right(
    target: Target, inputs: dict[str, Any], error: type[bs.Error]
) -> None:
    exe = linear(target)
    with pytest.raises(StateError, match="w"):
        exe.run(x=X)
    exe.weights["w"] = W
    with pytest.raises(error):
        exe.run(inputs)
    np.testing.assert_allclose(exe.run(x=X)["y"], X @ W)
    with pytest.raises(UnknownNameError):
        exe.run(x=X, extents={"m": 2})
    with pytest.raises(ShapeError):
        exe.run(x=X, extents={"n": 3})


def test_weights_are_checked_and_sealed(target: Target) -> None:
    exe = linear(target)
    for name, value, error in (
        ("v", W, UnknownNameError),
        ("w", W.T, ShapeError),
        ("w", W.astype(np.float16), DtypeError),
    ):
        with pytest.raises(error):
            exe.weights[name] = value
    with pytest.raises(StateError):
        exe.weights.seal()
    exe.weights["w"] = W
    exe.weights.seal()
    with pytest.raises(StateError):
        exe.weights["w"] = W
    assert exe.weights["w"].tolist() == W.tolist()


def test_outputs_go_where_the_caller_says(target: Target) -> None:
    exe = linear(target)
    exe.weights["w"] = W
    into = np.zeros((2, 2), np.float32)
    assert exe.run(x=X, outputs={"y": into})["y"] is into
    np.testing.assert_allclose(into, X @ W)
    for bad, error in (
        (np.zeros((2, 3), np.float32), ShapeError),
        (np.zeros((2, 2), np.float64), DtypeError),
        (np.zeros((2, 4), np.float32)[:, ::2], ShapeError),
    ):
        with pytest.raises(error):
            exe.run(x=X, outputs={"y": bad})
    with pytest.raises(UnknownNameError):
        exe.run(x=X, outputs={"z": into})


def test_inputs_may_be_strided_lists_or_empty(target: Target) -> None:
    exe = linear(target)
    exe.weights["w"] = W
    np.testing.assert_allclose(exe.run(x=np.ones((3, 2), np.float32).T)["y"], X @ W)
    np.testing.assert_allclose(exe.run(x=X.tolist())["y"], X @ W)
    assert exe.run(x=np.zeros((0, 3), np.float32))["y"].shape == (0, 2)


def test_an_index_out_of_range_is_an_error_of_the_run(target: Target) -> None:
    g = bs.Graph()
    g.output("y", bs.gather(g.input("x", (4, 2)), g.input("i", (2,), "i32")))
    exe = target.compile(g)
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    for bad in ([0, 4], [-5, 0]):
        with pytest.raises(InvalidArgumentError):
            exe.run(x=x, i=np.array(bad, np.int32))
    assert exe.run(x=x, i=np.array([3, -1], np.int32))["y"].tolist() == [[6, 7], [6, 7]]


def test_states_hold_the_last_versions(target: Target) -> None:
    g = bs.Graph()
    a, b = g.state("a", (3,)), g.state("b", (3,))
    keep = g.state("keep", (3,))
    row, at = g.input("row", (1,)), g.input("at", (1,), "i32")
    new = bs.scatter_rows(keep, row, at)
    g.update("a", b)  # a swap: each update is the other's old value
    g.update("b", a)
    g.output("old", keep * 1.0)  # reads the version before the update, after it in the text
    g.output("new", new * 1.0)
    g.update("keep", new)
    exe = target.compile(g)
    exe.states["a"].fill(1)
    exe.states["b"].write(np.full(3, 2, np.float32))
    out = exe.run(row=np.array([7], np.float32), at=np.array([1], np.int32))
    assert exe.states["a"].read().tolist() == [2, 2, 2]
    assert exe.states["b"].read().tolist() == [1, 1, 1]
    assert out["old"].tolist() == [0, 0, 0]
    assert out["new"].tolist() == [0, 7, 0]
    assert exe.states["keep"].read().tolist() == [0, 7, 0]
    with pytest.raises(ShapeError):
        exe.states["a"].write(np.zeros(4, np.float32))
    with pytest.raises(DtypeError):
        exe.states["a"].write(np.zeros(3))


def test_a_second_thread_is_told_that_the_session_is_busy(target: Target) -> None:
    g = bs.Graph()
    x = g.input("x", (700, 700))
    y = x
    for _ in range(12):
        y = y @ x
    g.output("y", y)
    exe = target.compile(g)
    data = np.zeros((700, 700), np.float32)
    started = threading.Event()

    def long_run() -> None:
        started.set()
        exe.run(x=data)

    busy = 0
    for _ in range(5):
        started.clear()
        thread = threading.Thread(target=long_run)
        thread.start()
        started.wait()
        while thread.is_alive() and not busy:  # the GIL is free, or we would not get here
            try:
                exe.states  # noqa: B018
                exe._core.fill_states(0)
            except BusyError:
                busy += 1
        thread.join()
        if busy:
            break
    assert busy
    assert (exe.run(x=data)["y"] == 0).all()


def test_sessions_run_in_parallel(target: Target) -> None:
    def work(seed: int) -> bool:
        exe = linear(target)
        exe.weights["w"] = W * seed
        return all(np.allclose(exe.run(x=X)["y"], X @ W * seed) for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
