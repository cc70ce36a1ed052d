"""One self-contained HTML page of a plan: memory over time and the schedule."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from bessemer.plan import Plan, human_bytes

_STYLE = """
:root { --ink:#1d2129; --soft:#667085; --line:#e4e7ec; --paper:#fff; --wash:#f7f8fa; --bar:#c2410c;
  --read:#3b82f6; --flop:#10b981; }
@media (prefers-color-scheme: dark) { :root { --ink:#e6e8ec; --soft:#98a2b3; --line:#2d333d;
  --paper:#14171c; --wash:#1b1f26; --bar:#fb923c; } }
* { box-sizing:border-box } body { margin:0; background:var(--paper); color:var(--ink);
  font:15px/1.5 system-ui,sans-serif } main { max-width:1180px; margin:0 auto;
  padding:32px 24px 64px }
h1 { font-size:26px; margin:0 } h2 { font-size:17px; margin:40px 0 8px }
p.sub { color:var(--soft); margin:4px 0 0 } .cards { display:flex; flex-wrap:wrap; gap:12px;
  margin-top:24px } .card { background:var(--wash); border:1px solid var(--line);
  border-radius:10px; padding:10px 16px; min-width:128px }
.card b { display:block; font-size:20px; font-weight:600 }
.card span { color:var(--soft); font-size:13px } svg { width:100%; height:auto; display:block;
  background:var(--wash); border:1px solid var(--line); border-radius:10px }
svg text { fill:var(--soft); font:11px system-ui,sans-serif } svg rect.v { stroke:var(--paper);
  stroke-width:.6 } svg rect.v:hover { stroke:var(--ink); stroke-width:1.5 }
table { border-collapse:collapse; width:100%; font-size:13px } th { text-align:left;
  color:var(--soft); font-weight:500; position:sticky; top:0; background:var(--paper) }
td,th { padding:3px 8px; border-bottom:1px solid var(--line); white-space:nowrap }
td.n,th.n { text-align:right; font-variant-numeric:tabular-nums } td.k { font-family:ui-monospace,
  monospace } tr.barrier td { border-top:2px solid var(--bar) } .meter { display:inline-block;
  height:8px; border-radius:2px; vertical-align:middle } .scroll { overflow-x:auto }
"""


def _color(label: str) -> str:
    """A steady pastel for a label."""
    seed = sum(ord(c) * (i + 7) for i, c in enumerate(label))
    return f"hsl({seed * 47 % 360} 62% {58 + seed % 3 * 6}%)"


def _memory_map(schedule: dict[str, Any]) -> str:
    """Values as rectangles: steps to the right, addresses upwards."""
    width, height, left, bottom = 1132.0, 360.0, 72.0, 26.0
    steps = max(len(schedule["thunks"]), 1)
    total = max(schedule["arena_bytes"], 1)
    sx = (width - left - 12) / steps
    sy = (height - bottom - 14) / total
    base = height - bottom
    # Blocks stand one above the other.
    heights: dict[int, int] = {}
    for v in schedule["values"]:
        block = v["block"]
        heights[block] = max(heights.get(block, 0), v["offset"] + v["bytes"])
    start: dict[int, int] = {}
    at = 0
    for block in sorted(heights):
        start[block] = at
        at += heights[block]
    parts = [f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="memory map">']
    for i in range(5):
        y = base - total * i / 4 * sy
        parts.append(
            f'<line x1="{left}" x2="{width - 12}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--line)"/>'
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{human_bytes(total * i / 4)}</text>"
        )
    for v in schedule["values"]:
        x = left + v["first"] * sx
        w = (v["last"] - v["first"] + 1) * sx
        h = max(v["bytes"] * sy, 0.7)
        y = base - (start[v["block"]] + v["offset"]) * sy - h
        title = html.escape(
            f"{v['label']}: {human_bytes(v['bytes'])} at {v['offset']}, "
            f"steps {v['first']} to {v['last']}"
        )
        parts.append(
            f'<rect class="v" x="{x:.2f}" y="{y:.2f}" width="{max(w, 0.8):.2f}" '
            f'height="{h:.2f}" fill="{_color(v["label"])}"><title>{title}</title></rect>'
        )
    bound = base - schedule["arena_bound"] * sy
    parts.append(
        f'<line x1="{left}" x2="{width - 12}" y1="{bound:.1f}" y2="{bound:.1f}" '
        f'stroke="var(--bar)" stroke-dasharray="5 4"/>'
        f'<text x="{width - 14}" y="{bound - 4:.1f}" text-anchor="end">lower bound</text>'
    )
    for i in range(5):
        step = (steps - 1) * i // 4
        anchor = ' text-anchor="end"' if i == 4 else ""
        parts.append(
            f'<text x="{left + step * sx:.1f}" y="{height - 8:.0f}"{anchor}>step {step}</text>'
        )
    parts.append("</svg>")
    return "".join(parts)


def _rows(schedule: dict[str, Any]) -> Iterable[str]:
    thunks = schedule["thunks"]
    most_bytes = max((t["bytes_read"] + t["bytes_written"] for t in thunks), default=1) or 1
    most_flops = max((t["flops"] for t in thunks), default=1) or 1
    for i, t in enumerate(thunks):
        moved = t["bytes_read"] + t["bytes_written"]
        barrier = ' class="barrier"' if schedule["barrier_before"][i] else ""
        yield (
            f'<tr{barrier}><td class="n">{i}</td><td class="k">{html.escape(t["kernel"])}</td>'
            f"<td>{html.escape(t['label'])}</td>"
            f'<td class="n">{human_bytes(moved)}</td><td><i class="meter" style="width:'
            f'{90 * moved / most_bytes:.1f}px;background:var(--read)"></i></td>'
            f'<td class="n">{t["flops"] / 1e6:.3f}</td><td><i class="meter" style="width:'
            f'{90 * t["flops"] / most_flops:.1f}px;background:var(--flop)"></i></td></tr>'
        )


def page(title: str, plan: Plan, bucket: int) -> str:
    """The page for one bucket of a plan. It loads nothing from anywhere."""
    schedule = plan.schedule(bucket)
    extents = ", ".join(f"{k} up to {v}" for k, v in schedule["maxima"].items()) or "fixed sizes"
    moved = sum(t["bytes_read"] + t["bytes_written"] for t in schedule["thunks"])
    flops = sum(t["flops"] for t in schedule["thunks"])
    ratio = schedule["arena_bytes"] / schedule["arena_bound"] if schedule["arena_bound"] else 1.0
    cards = [
        (len(schedule["thunks"]), "thunks"),
        (schedule["barriers"], "barriers"),
        (schedule["critical_path"], "longest chain"),
        (human_bytes(schedule["arena_bytes"]), f"arena, {ratio:.3f} of its bound"),
        (schedule["in_place_merges"], "merged in place"),
        (human_bytes(moved), "in operand ranges"),
        (f"{flops / 1e6:,.1f}", "MFLOP a run"),
    ]
    card_html = "".join(
        f'<div class="card"><b>{html.escape(str(v))}</b><span>{html.escape(k)}</span></div>'
        for v, k in cards
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{html.escape(title)}: plan</title><style>{_STYLE}</style></head><body><main>
<h1>{html.escape(title)}</h1>
<p class="sub">bessemer plan for {html.escape(extents)}</p>
<div class="cards">{card_html}</div>
<h2>Memory over time</h2>
<p class="sub">Each block is a value in the arena: from the step that writes it to the last that
reads it. Hover for its name.</p>
{_memory_map(schedule)}
<h2>Schedule</h2>
<p class="sub">An orange line is a barrier: what stands between two of them may run at once.</p>
<div class="scroll"><table><thead><tr><th class="n">step</th><th>kernel</th><th>op</th>
<th class="n">bytes</th><th></th><th class="n">MFLOP</th><th></th></tr></thead>
<tbody>{"".join(_rows(schedule))}</tbody></table></div>
</main></body></html>
"""
