"""Refuses upward includes: a folder of cpp/ includes only what stands above it in the list.

Usage: python tests/tools/check_layers.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# In dependency order; a folder may include itself and everything before it.
LAYERS = [
    "base",
    "kernel_abi",
    "ir",
    "thunk",
    "target",
    "ops",
    "passes",
    "partition",
    "plan",
    "runtime",
    "devices",
]
# kernel_abi headers are read by shader compilers too; beside that they may name dtypes.
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def main() -> int:
    """Prints each upward include; 1 if there is any."""
    faults = 0
    for path in sorted((ROOT / "cpp").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".inl"):
            continue
        folder = path.relative_to(ROOT / "cpp").parts[0]
        if folder not in LAYERS:
            if folder != "include":
                print(f"{path.relative_to(ROOT)}: folder `{folder}` is not in the list of layers")
                faults += 1
            continue
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = name.split("/")[0]
            if target not in LAYERS:
                if name != "op_table.def":
                    print(f'{path.relative_to(ROOT)}: "{name}" is not rooted at cpp/')
                    faults += 1
            elif LAYERS.index(target) > LAYERS.index(folder):
                print(f"{path.relative_to(ROOT)}: `{folder}` may not include `{target}` ({name})")
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
