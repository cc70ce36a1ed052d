"""``bessemer inspect``: what a compile decided."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import click

from bessemer.cli.options import print_json


def layer_counts(schedule: dict[str, Any], params: list[str], states: list[str]) -> Counter[int]:
    """Thunks of each layer: those that touch its weights or states, and those between them."""
    counts: Counter[int] = Counter()
    current: int | None = None
    pending = 0  # thunks without weights since the last one of `current`
    for thunk in schedule["thunks"]:
        layers = set()
        for operand in thunk["operands"]:
            name = ""
            if operand["space"] == "weights":
                name = params[operand["block"]]
            elif operand["space"] == "state":
                name = states[operand["block"]]
            found = re.match(r"blk\.(\d+)\.|[kv](\d+)$", name)
            if found:
                layers.add(int(found[1] or found[2]))
        if not layers:
            pending += 1
            continue
        if max(layers) == current:
            counts[current] += pending
        current = max(layers)
        counts[current] += 1
        pending = 0
    return counts


def _table(schedule: dict[str, Any]) -> list[str]:
    lines = [f"{'step':>5}   {'kernel':44} {'read':>10} {'written':>10} {'MFLOP':>9}  what"]
    for i, thunk in enumerate(schedule["thunks"]):
        mark = "|" if schedule["barrier_before"][i] else " "
        lines.append(
            f"{i:>5} {mark} {thunk['kernel']:44} {thunk['bytes_read']:>10} "
            f"{thunk['bytes_written']:>10} {thunk['flops'] / 1e6:>9.3f}  {thunk['label']}"
        )
    lines.append("(| marks a barrier: everything before has finished)")
    return lines


def _modelled(times: dict[str, Any], tokens: int, layers: int) -> list[str]:
    """The cost model's verdict in words."""
    seconds = times["seconds"]
    limit = times["bytes"] / times["bandwidth_bytes_s"]
    lines = [
        f"MODELLED on {times['chip']}, never measured (docs/modelled-devices.md):",
        f"  {times['dispatches']} dispatches, {times['barriers']} barriers, critical path "
        f"{times['critical_path']}, {times['bytes'] / 1e6:.1f} MB, "
        f"{times['flops'] / 1e6:.1f} MFLOP",
        f"  memory-bound {times['memory_s'] * 1e3:.3f} ms, compute-bound "
        f"{times['compute_s'] * 1e3:.3f} ms, fixed {times['fixed_s'] * 1e3:.3f} ms, "
        f"host encoding {times['encode_s'] * 1e3:.3f} ms (overlapped)",
    ]
    if seconds > 0:
        rate = f", {tokens / seconds:.0f} tokens/s" if layers else ""
        lines.append(
            f"  run {seconds * 1e3:.3f} ms{rate}; {100 * limit / seconds:.0f} % of the memory limit"
        )
    return lines


@click.command("inspect")
@click.argument("model")
@click.option(
    "--stage",
    type=click.Choice(["graph", "fused", "schedule", "plan"]),
    default="plan",
    show_default=True,
    help="What to print.",
)
@click.option("--tokens", type=click.IntRange(min=1), default=1, show_default=True,
              help="Show the schedule that runs so many tokens (models only).")  # fmt: skip
@click.option("--precision", type=click.Choice(["default", "f32"]), default="default",
              show_default=True)  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), default=None)
@click.option("--target", metavar="CHIP", default=None,
              help="Lower for an Apple chip (m1, m2-pro, ...) and model its times.")  # fmt: skip
@click.option("--depth", type=click.IntRange(min=0), default=0, show_default=True,
              help="Tokens that the KV cache holds before the run.")  # fmt: skip
@click.option("--html", type=click.Path(dir_okay=False), default=None,
              help="Also write a page with the memory map and the schedule.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the schedule as one JSON document.")
def command(
    model: str,
    stage: str,
    tokens: int,
    precision: str,
    threads: int | None,
    target: str | None,
    depth: int,
    html: str | None,
    as_json: bool,
) -> None:
    """Show what a compile made of MODEL (as for generate) or of a graph in text form (*.txt)."""
    import bessemer as bs
    from bessemer.errors import InvalidArgumentError

    layers = 0
    device = "cpu" if target is None else f"modelled:{target}"
    if model.endswith(".txt"):
        try:
            text = Path(model).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(f"cannot read `{model}`: {error}") from error
        graph = bs.Graph.parse(text)
        exe = bs.compile(
            graph,
            device,
            bs.CompileOptions(precision=precision),
            bs.RuntimeOptions(threads=threads),
        )
        bucket = len(exe.plan.buckets) - 1
        extents, context = None, None
        title = graph.name
    else:
        lm = bs.models.load(model, device=device, precision=precision, threads=threads)
        exe = lm.executable
        layers = lm.config.layers
        buckets = exe.plan.buckets
        fitting = [i for i, b in enumerate(buckets) if b["tokens"] >= tokens]
        if not fitting:
            raise InvalidArgumentError(
                f"no schedule runs {tokens} tokens; the largest has {buckets[-1]['tokens']}"
            )
        bucket = fitting[0]
        extents = {"tokens": tokens, "rows": 1}  # the logits of the last token
        context = depth + tokens
        title = Path(lm.path).name
    plan = exe.plan
    schedule = plan.schedule(bucket, extents, context)
    if html is not None:
        from bessemer.cli.inspect_page import page

        Path(html).write_text(page(title, plan, bucket), encoding="utf-8")
    if as_json:
        if target is not None:
            schedule["modelled"] = plan.modelled(target, bucket, extents, context)
        print_json(schedule)
        return
    if stage == "graph":
        click.echo(plan.graph, nl=False)
    elif stage == "fused":
        click.echo(plan.fused, nl=False)
    elif stage == "schedule":
        click.echo(schedule["text"], nl=False)
    else:
        click.echo(str(plan))
        click.echo()
        bounds = ", ".join(f"{k} <= {v}" for k, v in schedule["maxima"].items()) or "no extents"
        click.echo(f"schedule for {bounds}")
        for line in _table(schedule):
            click.echo(line)
        if layers:
            params = [name for name, _, _ in exe._core.params()]
            states = [name for name, _, _ in exe._core.states()]
            counts = layer_counts(schedule, params, states)
            most = max(counts.values(), default=0)
            click.echo(
                f"{len(schedule['thunks'])} thunks, {schedule['barriers']} barriers; "
                f"thunks a layer: {most} (over {len(counts)} layers)"
            )
        if target is not None:
            for line in _modelled(plan.modelled(target, bucket, extents, context), tokens, layers):
                click.echo(line)
        rewrites = ", ".join(f"{name} {count}" for name, count, _ in plan.passes if count)
        click.echo(f"passes: {rewrites or 'none'}")
