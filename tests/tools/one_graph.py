"""Writes docs/one-graph-end-to-end.md: one small graph through every stage, as really printed.

Usage: python tests/tools/one_graph.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import bessemer as bs
import numpy as np

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/one-graph-end-to-end.md"

SOURCE = """\
g = bs.Graph("block")
tokens = bs.Extent("tokens", max=16)
x = g.input("x", (tokens, 64))
gate = g.param("gate", (96, 64), "q4_1")
up = g.param("up", (96, 64), "q4_1")
down = g.param("down", (64, 96))
h = bs.rms_norm(x, g.param("norm", (64,)), 1e-5)
gated = bs.matmul(h, gate, transpose_b=True)
h = gated * bs.sigmoid(gated) * bs.matmul(h, up, transpose_b=True)
y = x + bs.matmul(h, down, transpose_b=True)
g.output("y", y)
g.output("top", bs.argmax(y * 0.5 + 1.0, axis=-1))
"""


def build() -> bs.Graph:
    """The graph of the page, without the lines of this file in it."""
    scope: dict[str, object] = {"bs": bs}
    exec(compile(SOURCE, "block.py", "exec"), scope)
    graph = scope["g"]
    assert isinstance(graph, bs.Graph)
    return graph


def fence(text: str) -> str:
    """A code block."""
    return f"```\n{text.rstrip()}\n```\n"


def page() -> str:
    """The whole page."""
    graph = build()
    exe = bs.compile(
        graph,
        "cpu",
        bs.CompileOptions(validate=True),
        bs.RuntimeOptions(threads=2, isa="generic"),
    )
    rng = np.random.default_rng(0)
    for name, weight in _weights(rng):
        exe.weights[name] = weight
    exe.weights.seal()
    x = rng.standard_normal((3, 64), dtype=np.float32)
    result = exe.run(x=x)
    schedule = exe.plan.schedule()
    passes = "\n".join(f"{name:20} {count}" for name, count, _ in exe.plan.passes if count)
    return f"""# One graph, end to end

What happens to one small graph at every stage. Every block below is what the program prints: the
page is written by `tests/tools/one_graph.py`, and a test compares it, so that it cannot rot.

## 1. Python

A gated feed-forward block with a residual. `tokens` is an extent: any number up to 16, without
recompiling. `gate` and `up` are stored in blocks of 4-bit weights.

```python
{SOURCE.rstrip()}
```

## 2. The graph

Typed SSA nodes, checked while they were made; each remembers the user's line. The text parses back
to an identical graph.

{fence(exe.plan.graph)}
## 3. Passes

An ordered list; each makes a new graph, which is verified. Those that found something here, with
the number of rewrites:

{fence(passes)}
Two products, the norm before them and the activation between them became one `linear` with two
weights; the last product took the residual with it. Weights were not copied. Products with weights
in blocks are marked for int8 activations.

{fence(exe.plan.fused)}
## 4. Thunks, places, barriers

Lowering turns nodes into thunks: a kernel's name, operand ranges with access modes, parameters, and
the patches that make them follow `tokens`. The plan orders them, gives every value a place in one
arena, and puts barriers where a hazard crosses.

{fence(schedule["text"])}
The arena has {schedule["arena_bytes"]} bytes; the largest sum of bytes alive at once is
{schedule["arena_bound"]}, so no plan could be smaller than that. The validator replayed the
schedule against the graph's own order, byte by byte, before it was accepted.

## 5. A run

`exe.run(x=...)` with 3 tokens: the patches are evaluated at `tokens = 3`, kernels run one after the
other over the pool, and nothing beyond the bytes of 3 tokens is touched.

{fence(f"y: {result['y'].dtype}{list(result['y'].shape)}, top: {result['top'].tolist()}")}"""


def _weights(rng: np.random.Generator) -> list[tuple[str, np.ndarray]]:
    """Small random weights; blocks get a scale of 2^-6 and a minimum of -8 times that."""
    blocks = rng.integers(0, 256, (96 * 2, 20), dtype=np.uint8)
    blocks[:, :4] = np.array([2.0**-6, -(2.0**-3)], np.float16).view(np.uint8)
    return [
        ("gate", blocks),
        ("up", blocks[::-1]),
        ("down", rng.standard_normal((64, 96), dtype=np.float32)),
        ("norm", np.ones(64, np.float32)),
    ]


def main() -> int:
    """Writes or compares the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    text = re.sub(r"[ \t]+\n", "\n", page())
    # Runs of empty parameter words say nothing to a reader.
    text = re.sub(r"(?: 0{16}){3,}", " ...", text)
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print("docs/one-graph-end-to-end.md is stale; run tests/tools/one_graph.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
