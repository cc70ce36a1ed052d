"""Options of compile and run. Environment variables are read here, once, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bessemer.errors import InvalidArgumentError


@dataclass(frozen=True)
class CompileOptions:
    """How a graph becomes a program.

    Attributes:
        precision: "default": products with block-quantised weights use int8 activations where the
            device gains by it. "f32": exact products in f32.
        specialize: one schedule per listed value of an extent, over the same weights, states and
            arena; a run takes the smallest that covers it. The extent's bound is always added.
        disabled_passes: names of passes to leave out (see docs/passes.md).
        opt_level: 0 leaves out every pass that lowering does not need.
        reuse_memory: False gives every value a place of its own.
        validate: replay every schedule in the independent validator; costs compile time.
            None: as BESSEMER_VALIDATE says.
    """

    precision: str = "default"
    specialize: Mapping[str, Sequence[int]] = field(default_factory=dict)
    disabled_passes: Sequence[str] = ()
    opt_level: int = 1
    reuse_memory: bool = True
    validate: bool | None = None

    def as_core(self) -> dict[str, Any]:
        """The form that the native core takes."""
        return {
            "precision": self.precision,
            "specialize": {k: list(v) for k, v in self.specialize.items()},
            "disabled_passes": set(self.disabled_passes),
            "opt_level": self.opt_level,
            "reuse_memory": self.reuse_memory,
            "validate": environment().validate if self.validate is None else self.validate,
        }


@dataclass(frozen=True)
class RuntimeOptions:
    """How a program runs.

    Attributes:
        threads: workers of the CPU device; None: as BESSEMER_THREADS says, else all that this
            process may use (affinity and cgroup quota).
        isa: SIMD family of the CPU device ("generic", "avx2", "avx512", "avx512vnni", "neon");
            None: as BESSEMER_CPU_ISA says, else the best one here.
    """

    threads: int | None = None
    isa: str | None = None


@dataclass(frozen=True)
class Environment:
    """What the BESSEMER_* variables say; docs/environment.md lists them."""

    threads: int = 0
    isa: str = ""
    validate: bool = False


_environment: Environment | None = None


def environment() -> Environment:
    """The environment's options, read at the first call.

    Raises:
        InvalidArgumentError: a variable is malformed.
    """
    global _environment
    if _environment is None:
        threads = os.environ.get("BESSEMER_THREADS", "0")
        if not threads.isdecimal():
            raise InvalidArgumentError(f"BESSEMER_THREADS must be a number, got {threads!r}")
        validate = os.environ.get("BESSEMER_VALIDATE", "0")
        if validate not in ("0", "1"):
            raise InvalidArgumentError(f"BESSEMER_VALIDATE must be 0 or 1, got {validate!r}")
        _environment = Environment(
            int(threads), os.environ.get("BESSEMER_CPU_ISA", ""), validate == "1"
        )
    return _environment
