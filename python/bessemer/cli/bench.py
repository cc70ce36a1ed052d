"""``bessemer bench``: prefill and decode speed of one model."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import click

from bessemer._core import __version__
from bessemer.cli.options import model_options, print_json


def cpu_description() -> dict[str, Any]:
    """The CPU's name, the features that matter to us, and how many of its cores we may use."""
    import os
    import platform

    name = platform.processor() or platform.machine()
    features: list[str] = []
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            if key.strip() in ("flags", "Features"):
                have = set(value.split())
                wanted = (
                    "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni",
                    "avx512_bf16", "amx_int8", "asimd", "asimddp", "i8mm",
                )  # fmt: skip
                features = [f for f in wanted if f in have]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"name": name, "features": features, "cores": cores}


@click.command("bench")
@click.argument("model")
@model_options
@click.option("--pp", type=click.IntRange(min=0), default=512, show_default=True,
              help="Tokens of the prefill.")  # fmt: skip
@click.option("--tg", type=click.IntRange(min=0), default=128, show_default=True,
              help="Tokens of the decode.")  # fmt: skip
@click.option("--depth", type=click.IntRange(min=0), default=0, show_default=True,
              help="Tokens in the KV cache before either.")  # fmt: skip
@click.option("--repeat", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    model: str,
    precision: str,
    threads: int | None,
    device: str,
    context: int | None,
    pp: int,
    tg: int,
    depth: int,
    repeat: int,
    as_json: bool,
) -> None:
    """Measure MODEL: medians of --repeat runs after a warm-up, with the smallest and largest."""
    import numpy as np

    from bessemer import models
    from bessemer.errors import InvalidArgumentError
    from bessemer.models.language_model import LanguageModel

    lm = models.load(model, device=device, precision=precision, threads=threads, context=context)
    if depth + max(pp, tg) > lm.context:
        raise InvalidArgumentError(
            f"depth {depth} and {max(pp, tg)} tokens do not fit the context of {lm.context}"
        )
    rng = np.random.default_rng(0)
    ids = rng.integers(0, lm.config.vocabulary, max(depth, pp, 1)).astype(np.int32)

    def prefill(model_: LanguageModel, n: int, position: int) -> None:
        step = model_._limits.tokens
        for start in range(0, n, step):
            chunk = ids[start : min(start + step, n)]
            rows = np.array([len(chunk) - 1], np.int32) if start + step >= n else ids[:0]
            model_._run(0, chunk, position + start, rows)

    def seconds(function: Any) -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    def decode() -> None:
        rows = np.zeros(1, np.int32)
        token = ids[:1]
        for i in range(tg):
            logits = lm._run(0, token, depth + i, rows)
            token = np.array([int(np.argmax(logits[0]))], np.int32)

    if depth:
        prefill(lm, depth, 0)
    prefill_rates: list[float] = []
    decode_rates: list[float] = []
    for i in range(repeat + 1):  # the first is the warm-up
        if pp:
            rate = pp / seconds(lambda: prefill(lm, pp, depth))
            prefill_rates += [rate] if i else []
        if tg:
            rate = tg / seconds(decode)
            decode_rates += [rate] if i else []
    result: dict[str, Any] = {
        "model": Path(lm.path).name,
        "version": __version__,
        "device": lm.executable.device,
        "cpu": cpu_description(),
        "threads": threads or cpu_description()["cores"],
        "precision": precision,
        "pp": pp,
        "tg": tg,
        "depth": depth,
        "repeat": repeat,
    }
    for name, rates in (("prefill_tok_s", prefill_rates), ("decode_tok_s", decode_rates)):
        result[name] = statistics.median(rates) if rates else None
        result[name + "_min"] = min(rates) if rates else None
        result[name + "_max"] = max(rates) if rates else None
    if as_json:
        print_json(result)
        return
    click.echo(f"{result['model']} on {result['device']}, {result['threads']} threads")
    for name, size in (("prefill", pp), ("decode", tg)):
        if size:
            click.echo(
                f"{name:8} {size:5} tokens at depth {depth}: "
                f"{result[name + '_tok_s']:8.1f} tok/s "
                f"({result[name + '_tok_s_min']:.1f} to {result[name + '_tok_s_max']:.1f})"
            )
