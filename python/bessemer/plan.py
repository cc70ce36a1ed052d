"""What a compile decided: schedules, barriers and memory, as data and as text."""

from __future__ import annotations

from typing import Any

from bessemer import _core


def human_bytes(n: float) -> str:
    """A size in B, KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if abs(n) < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.2f} GiB"


class Plan:
    """The plan of every bucket of an executable."""

    def __init__(self, core: _core.Executable) -> None:
        self._core = core

    @property
    def buckets(self) -> list[dict[str, int]]:
        """The largest extents of each schedule."""
        return self._core.buckets()

    def schedule(self, bucket: int = -1, extents: dict[str, int] | None = None) -> dict[str, Any]:
        """One bucket's schedule as plain data, sizes at ``extents`` (the bucket's by default)."""
        count = len(self.buckets)
        return self._core.schedule(bucket + count if bucket < 0 else bucket, extents)

    @property
    def graph(self) -> str:
        """The graph as given, in text form."""
        return self._core.graph_text()

    @property
    def fused(self) -> str:
        """The graph after all passes, in text form."""
        return self._core.fused_text()

    @property
    def passes(self) -> list[tuple[str, int, float]]:
        """Name, rewrites and seconds of each pass."""
        return self._core.passes()

    def __str__(self) -> str:
        memory = self._core.memory()
        lines = [
            f"device {self._core.device} ({self._core.target}), compiled in "
            f"{self._core.compile_seconds * 1e3:.1f} ms",
            f"memory: weights {human_bytes(memory['weights'])} "
            f"({human_bytes(memory['weights_mapped'])} in place), "
            f"states {human_bytes(memory['states'])}, arena {human_bytes(memory['arena'])} "
            f"(bound {human_bytes(memory['arena_bound'])})",
        ]
        for i, maxima in enumerate(self.buckets):
            s = self.schedule(i)
            flops = sum(t["flops"] for t in s["thunks"])
            moved = sum(t["bytes_read"] + t["bytes_written"] for t in s["thunks"])
            extents = ", ".join(f"{k} <= {v}" for k, v in maxima.items()) or "all"
            lines.append(
                f"{extents}: {len(s['thunks'])} thunks, {s['barriers']} barriers, "
                f"arena {human_bytes(s['arena_bytes'])} (bound {human_bytes(s['arena_bound'])}), "
                f"{human_bytes(moved)} and {flops / 1e6:.1f} MFLOP a run"
            )
        return "\n".join(lines)
