"""The command line as its users call it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "data"
BESSEMER = [sys.executable, "-m", "bessemer"]


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BESSEMER, *args], capture_output=True, text=True, timeout=120, check=False
    )


def test_version() -> None:
    import bessemer

    assert run("--version").stdout.split()[-1] == bessemer.__version__


def test_generate_json() -> None:
    done = run("generate", "smollm2", "Once upon a time", "-n", "5", "--json", "--threads", "2")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert set(value) >= {"prompt_ids", "ids", "text", "timings", "memory"}
    assert set(value["timings"]) == {"load_s", "compile_s", "prefill_tok_s", "decode_tok_s"}
    assert set(value["memory"]) == {"weights", "states", "arena", "arena_bound", "peak_rss"}
    assert len(value["ids"]) == 5
    plain = run("generate", "smollm2", "Once upon a time", "-n", "5", "--threads", "2")
    assert plain.stdout == value["text"] + "\n"


def test_bench_json() -> None:
    done = run("bench", "smollm2", "--pp", "8", "--tg", "4", "--repeat", "2", "--json")
    value = json.loads(done.stdout)
    for name in ("prefill_tok_s", "decode_tok_s"):
        assert 0 < value[name + "_min"] <= value[name] <= value[name + "_max"]


def test_inspect_prints_thunks_a_layer(tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    done = run("inspect", "smollm2", "--html", str(page))
    assert "thunks a layer: 6 (over 30 layers)" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert "Memory over time" in text
    assert "http" not in text.replace("http-equiv", "")  # nothing is loaded from anywhere


def test_plan_writes_offsets_and_exits_by_result(tmp_path: Path) -> None:
    problem = DATA / "arena_problems/B.1048576.csv"
    out = tmp_path / "out.csv"
    done = run("plan", str(problem), "--capacity", "1048576", "-o", str(out), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["found"]
    assert out.read_text(encoding="utf-8").startswith("id,lower,upper,size,offset\n")
    assert run("plan", str(problem), "--capacity", "1000", "-o", str(out)).returncode == 1
    bad = tmp_path / "bad.csv"
    bad.write_text("id,lower,upper,size\n1,2,3\n", encoding="utf-8")
    done = run("plan", str(bad), "--capacity", "10")
    assert done.returncode == 2
    assert "line 2" in done.stderr


@pytest.mark.parametrize("kind", ["missing", "empty", "truncated", "magic"])
def test_a_bad_model_is_one_clear_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "truncated":
        from bessemer.models.catalog import find_model

        path.write_bytes(Path(find_model("smollm2")).read_bytes()[:100_000])
    elif kind == "magic":
        path.write_bytes(b"GGML" + bytes(100))
    done = run("generate", str(path), "x")
    assert done.returncode in (1, 2)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("bessemer: ")


def test_a_closed_pipe_is_quiet() -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m bessemer generate smollm2 'Once upon a time' -n 40 | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert len(done.stdout) == 10


def test_an_interrupt_ends_it_cleanly() -> None:
    process = subprocess.Popen(
        [*BESSEMER, "generate", "smollm2", "Once upon a time", "-n", "4000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores interrupts, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    process.stdout.read(20)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - start < 10
    assert process.returncode == 130
    assert err.strip() == "interrupted"


def test_inspect_models_an_apple_chip() -> None:
    done = run("inspect", "smollm2", "--target", "m2-pro", "--depth", "100", "--json")
    assert done.returncode == 0, done.stderr
    times = json.loads(done.stdout)["modelled"]
    # A token streams the 98 MB of weights once, and little else.
    assert 98e6 < times["bytes"] < 103e6
    assert times["dispatches"] <= 30 * 6 + 3
    assert times["barriers"] <= 30 * 6 + 3
    parts = times["memory_s"] + times["compute_s"] + times["fixed_s"]
    assert times["seconds"] == max(parts, times["encode_s"])
    # No chip is faster than its memory.
    assert times["seconds"] > times["bytes"] / 200e9


def test_inspect_names_the_chips_it_knows() -> None:
    done = run("inspect", "smollm2", "--target", "m99")
    assert done.returncode == 1
    assert "no chip `m99` is modelled; there are: m1, m1-pro" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_modelled_device_does_not_run() -> None:
    import bessemer as bs
    import numpy as np

    graph = bs.Graph()
    graph.output("y", graph.input("x", (4,)) + 1.0)
    exe = bs.compile(graph, "modelled:m1")
    with pytest.raises(bs.errors.UnsupportedError, match="compiles for that chip"):
        exe.run(x=np.zeros(4, np.float32))


def test_doctor_finds_this_machine_well() -> None:
    done = run("doctor", "--device", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["passed"]
    assert report["device"] == "cpu"
    assert report["disabled"] == []
    assert all(v["passed"] and v["worst"] <= 2e-3 for v in report["verdicts"])
    families = {f for v in report["verdicts"] for f in v["families"]}
    assert {"linear", "attention", "elementwise", "norm", "embedding"} <= families


def test_doctor_fails_where_nothing_runs() -> None:
    done = run("doctor", "--device", "modelled:m1")
    assert done.returncode == 1
    assert "it cannot run" in done.stdout
    assert "0 of" in done.stdout.splitlines()[-1]
