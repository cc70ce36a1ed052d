"""Files that are generated stay what their generators write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"


@pytest.mark.parametrize("tool", ["generate_from_op_table.py", "one_graph.py", "check_layers.py"])
def test_generated_files_are_current(tool: str) -> None:
    check = [] if tool == "check_layers.py" else ["--check"]
    done = subprocess.run(
        [sys.executable, str(TOOLS / tool), *check], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
