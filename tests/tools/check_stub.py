"""Generates the stub of the native module and compares it with the committed one.

Usage: python tests/tools/check_stub.py [--write]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUB = ROOT / "python/bessemer/_core.pyi"


def generate() -> str:
    """The stub of bessemer._core as installed in this interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pybind11_stubgen",
                "bessemer._core",
                "--output-dir",
                folder,
                "--numpy-array-use-type-var",
            ],
            check=True,
            capture_output=True,
        )
        return (Path(folder) / "bessemer/_core.pyi").read_text(encoding="utf-8")


def main() -> int:
    """1 if the committed stub is not what the module gives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write instead of comparing")
    text = generate()
    if parser.parse_args().write:
        STUB.write_text(text, encoding="utf-8")
    elif not STUB.exists() or STUB.read_text(encoding="utf-8") != text:
        print("python/bessemer/_core.pyi is stale; run tests/tools/check_stub.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
