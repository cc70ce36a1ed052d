"""Writes what follows from cpp/op_table.def: python/bessemer/elementwise.py and docs/ops.md.

Usage: python tests/tools/generate_from_op_table.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from bessemer import _core

ROOT = Path(__file__).parents[2]
RULES = {
    "float": "floats to the same dtype",
    "numeric": "floats and integers to the same dtype",
    "bits": "integers and bool to the same dtype",
    "logical": "bool to bool",
    "test": "floats to bool",
    "compare": "any one dtype to bool",
    "select": "(bool, T, T) to T",
}
ARGS = {1: ["x"], 2: ["x", "y"], 3: ["x", "y", "z"]}


def natural(name: str) -> list[tuple[int, str]]:
    """Numbers by value, as the linter sorts names: log2 before log10."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", name)]


def python_source(rows: list[dict[str, object]]) -> str:
    """The module of elementwise functions."""
    out = [
        '"""Elementwise functions, generated from cpp/op_table.def. Operands broadcast."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Any",
        "",
        "from bessemer.graph import Tensor, apply_elementwise",
        "",
        "__all__ = [",
    ]
    elementwise = sorted(
        (r for r in rows if r["class"] == "elementwise"), key=lambda r: natural(str(r["name"]))
    )
    out += [f'    "{r["name"]}",' for r in elementwise]
    out.append("]")
    for row in elementwise:
        args = ARGS[int(str(row["min_operands"]))]
        signature = ", ".join(f"{a}: {'Tensor' if len(args) == 1 else 'Any'}" for a in args)
        name = row["name"]
        out += [
            "",
            "",
            f"def {name}({signature}) -> Tensor:",
            f'    """{row["doc"]}',
            "",
            f"    Takes {RULES[str(row['rule'])]}.",
            "",
            f"    Example: ``{row['example']}``",
            '    """',
            f'    return apply_elementwise("{name}", {", ".join(args)})',
        ]
    return "\n".join(out) + "\n"


def docs_source(rows: list[dict[str, object]]) -> str:
    """The page of all ops."""
    out = [
        "# Ops",
        "",
        "Generated from `cpp/op_table.def` by `tests/tools/generate_from_op_table.py`.",
    ]
    titles = {
        "leaf": "Leaves",
        "elementwise": "Elementwise",
        "structured": "Structured",
        "fused": "Fused (made by passes only)",
    }
    for cls, title in titles.items():
        out += [
            "",
            f"## {title}",
            "",
            "| op | takes | what it gives | example |",
            "|---|---|---|---|",
        ]
        for row in rows:
            if row["class"] != cls:
                continue
            takes = RULES.get(str(row["rule"]), "")
            doc = str(row["doc"]).replace("|", "\\|")
            example = f"`{row['example']}`" if row["example"] else ""
            out.append(f"| `{row['name']}` | {takes} | {doc} | {example} |")
    return "\n".join(out) + "\n"


def main() -> int:
    """Writes or compares the files; 1 if --check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    rows = _core.op_table()
    stale = 0
    for path, text in (
        (ROOT / "python/bessemer/elementwise.py", python_source(rows)),
        (ROOT / "docs/ops.md", docs_source(rows)),
    ):
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(ROOT)} is stale; run {Path(__file__).name}", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
