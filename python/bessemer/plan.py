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

    def schedule(
        self,
        bucket: int = -1,
        extents: dict[str, int] | None = None,
        context: int | None = None,
    ) -> dict[str, Any]:
        """One bucket's schedule as plain data.

        Args:
            bucket: its index; a negative one counts from the last.
            extents: sizes are given at these; the bucket's largest by default.
            context: rows that a KV cache holds, for the bytes and FLOPs of attention; by default
                all that it has room for.

        Raises:
            InvalidArgumentError: no such bucket, or an extent outside it.
            UnknownNameError: no such extent.
        """
        return self._core.schedule(self._index(bucket), extents, -1 if context is None else context)

    def modelled(
        self,
        chip: str,
        bucket: int = -1,
        extents: dict[str, int] | None = None,
        context: int | None = None,
    ) -> dict[str, Any]:
        """How long one run would take on an Apple chip by the cost model: never a measurement.

        Meant for executables compiled for ``modelled:CHIP``. Arguments as for ``schedule``.

        Returns:
            ``dispatches``, ``barriers``, ``critical_path``, ``bytes``, ``flops`` and, in seconds,
            ``memory_s`` and ``compute_s`` (groups bound by each), ``fixed_s`` (barriers,
            dispatches, command buffers), ``encode_s`` (of the host) and ``seconds`` (the run).

        Raises:
            UnknownNameError: a chip that is not known.
        """
        return self._core.modelled(
            self._index(bucket), chip, extents, -1 if context is None else context
        )

    def _index(self, bucket: int) -> int:
        return bucket + len(self.buckets) if bucket < 0 else bucket

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
