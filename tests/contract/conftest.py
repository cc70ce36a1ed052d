"""The contract: what every device must do. Tests here run once for each device and SIMD family."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

# Every compile is replayed by the independent validator. Set before bessemer reads it.
os.environ["BESSEMER_VALIDATE"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import bessemer as bs


@dataclass(frozen=True)
class Target:
    """A device, and the SIMD family it is forced to."""

    device: str
    isa: str

    def compile(self, graph: bs.Graph, **options: object) -> bs.Executable:
        """Compiles for this target with two threads."""
        return bs.compile(
            graph,
            self.device,
            bs.CompileOptions(**options),  # type: ignore[arg-type]
            bs.RuntimeOptions(threads=2, isa=self.isa),
        )

    def __str__(self) -> str:
        return f"{self.device}-{self.isa}"


def available_targets() -> list[Target]:
    """The devices of this build, in every SIMD family that this machine runs."""
    probe = bs.Graph()
    probe.output("y", probe.input("x", (1,)))
    targets = []
    for isa in ("generic", "avx2", "avx512", "avx512vnni", "neon"):
        target = Target("cpu", isa)
        try:
            target.compile(probe)
        except bs.Error:
            continue
        targets.append(target)
    return targets


TARGETS = available_targets()
counts: Counter[str] = Counter()


@pytest.fixture(params=TARGETS, ids=str)
def target(request: pytest.FixtureRequest) -> Target:
    """One device and SIMD family."""
    value: Target = request.param
    return value


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much was compared."""
    if counts:
        parts = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        terminalreporter.write_line(f"contract: {parts}")
