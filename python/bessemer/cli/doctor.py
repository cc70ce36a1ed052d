"""``bessemer doctor``: does this machine compute what it should?"""

from __future__ import annotations

import sys
from typing import Any

import click

from bessemer.cli.options import print_json


@click.command("doctor")
@click.option("--device", default="auto", show_default=True, help="Device to examine.")
@click.option("--threads", type=click.IntRange(1, 1024), default=None, help="CPU threads [all].")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as one JSON document.")
def command(device: str, threads: int | None, as_json: bool) -> None:
    """Run every kernel family of a device against the portable CPU kernels.

    Exit code 0: all agree. 1: one does not.
    """
    import platform

    from bessemer import _core

    opened = _core.Device(device, threads or 0, "")
    count = _core.probe_count()
    verdicts: list[dict[str, Any]] = []
    with click.progressbar(
        range(count),
        label="testing",
        file=sys.stderr,
        hidden=as_json or not sys.stderr.isatty(),
    ) as steps:
        for i in steps:
            verdicts.append(opened.run_probe(i))
    failed = [v for v in verdicts if not v["passed"]]
    report = {
        "version": _core.__version__,
        "system": platform.platform(),
        "device": opened.name,
        "target": opened.target,
        "facts": dict(opened.facts),
        "verdicts": verdicts,
        "disabled": opened.disabled,
        "passed": not failed,
    }
    if as_json:
        print_json(report)
    else:
        click.echo(f"bessemer {report['version']} on {report['system']}")
        click.echo(f"device {opened.name} ({opened.target})")
        for name, value in opened.facts:
            click.echo(f"  {name}: {value}")
        for v in verdicts:
            click.echo(
                f"{'ok  ' if v['passed'] else 'FAIL'} {v['probe']:24} off by {v['worst']:.1e}  "
                f"{', '.join(v['families'])}"
            )
            if not v["passed"]:
                click.echo(f"     {v['detail']}")
        for name, reason in opened.disabled:
            click.echo(f"disabled: {name}: {reason}")
        click.echo(f"{count - len(failed)} of {count} probes agree with the CPU reference")
    if failed:
        click.get_current_context().exit(1)
