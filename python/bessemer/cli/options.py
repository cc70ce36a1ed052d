"""Options that several commands take."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def model_options(function: F) -> F:
    """--precision --threads --device --context."""
    for option in (
        click.option(
            "--context", type=int, default=None, help="Tokens a sequence can hold [the model's]."
        ),
        click.option("--device", default="cpu", show_default=True, help="Device to run on."),
        click.option(
            "--threads", type=click.IntRange(1, 1024), default=None, help="CPU threads [all]."
        ),
        click.option(
            "--precision",
            type=click.Choice(["default", "f32"]),
            default="default",
            show_default=True,
            help="f32 is exact; default may use int8 activations.",
        ),
    ):
        function = option(function)
    return function


def sampling_options(function: F) -> F:
    """-n --temperature --top-k --top-p --min-p --seed."""
    for option in (
        click.option("--seed", type=int, default=None, help="Of the random choices [random]."),
        click.option("--min-p", type=float, default=0.0, show_default=True),
        click.option("--top-p", type=float, default=1.0, show_default=True),
        click.option("--top-k", type=int, default=0, show_default=True, help="0 keeps all."),
        click.option(
            "--temperature", type=float, default=0.0, show_default=True, help="0 is greedy."
        ),
        click.option(
            "-n",
            "--max-tokens",
            type=click.IntRange(min=0),
            default=128,
            show_default=True,
            help="At most so many new tokens.",
        ),
    ):
        function = option(function)
    return function


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def peak_rss_bytes() -> int:
    """The process's highest resident memory so far, in bytes.

    From /proc where there is one: ru_maxrss is inherited over exec, so that it may speak of the
    parent that started this process.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
