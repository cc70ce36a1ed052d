"""``bessemer plan``: static memory allocation problems as CSV."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bessemer.cli.options import print_json


@click.command("plan")
@click.argument("problem", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--capacity", type=click.IntRange(min=0), required=True, help="Bytes to fit into.")
@click.option("--budget-s", type=click.FloatRange(min=0), default=15.0, show_default=True,
              help="Seconds to search.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 64), default=None, help="Search threads [all].")
@click.option("-o", "--output", type=click.Path(dir_okay=False, allow_dash=True), default=None,
              help="Where to write the solution [standard output, unless --json].")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print figures as one JSON document.")
def command(
    problem: str,
    capacity: int,
    budget_s: float,
    threads: int | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Place the buffers of PROBLEM (a CSV file: id,lower,upper,size) within a capacity.

    The solution is the input with an offset column. Exit code 0: found. 1: not found within the
    budget; the best so far is written. 2: bad input, with the line number.
    """
    from bessemer import _core
    from bessemer.errors import InvalidArgumentError

    try:
        text = sys.stdin.read() if problem == "-" else Path(problem).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"cannot read `{problem}`: {error}") from error
    report = _core.solve_arena_csv(text, capacity, budget_s, threads or 0)
    if output is not None and output != "-":
        Path(output).write_text(report["csv"], encoding="utf-8")
    elif not as_json or output == "-":
        click.echo(report["csv"], nl=False)
    figures = {k: v for k, v in report.items() if k != "csv"}
    if as_json:
        print_json(figures)
    else:
        verdict = "found" if report["found"] else "not found"
        click.echo(
            f"{verdict}: peak {report['peak']} of {capacity} bytes, bound {report['bound']}, "
            f"{report['seconds']:.2f} s",
            err=True,
        )
    if not report["found"]:
        click.get_current_context().exit(1)
