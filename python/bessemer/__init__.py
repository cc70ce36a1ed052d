"""bessemer: an ML graph compiler and runtime for Apple GPUs, complete on Linux CPUs.

import bessemer as bs

g = bs.Graph("mlp")
x = g.input("x", (bs.Extent("batch", max=64), 784), bs.f32)
w = g.param("w", (784, 10), bs.f32)
g.output("y", bs.softmax(x @ w))
exe = bs.compile(g)
exe.weights["w"] = array
y = exe.run(x=batch)["y"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bessemer import elementwise as _elementwise
from bessemer import ops as _ops
from bessemer._core import __version__
from bessemer.dtypes import (
    DType,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    q4_0,
    q4_1,
    q4_k,
    q5_0,
    q5_1,
    q5_k,
    q6_k,
    q8_0,
    u8,
    u32,
)  # fmt: skip
from bessemer.elementwise import *  # noqa: F403
from bessemer.errors import Error
from bessemer.executable import Executable, State, Weights, compile
from bessemer.graph import Extent, Graph, Tensor
from bessemer.ops import *  # noqa: F403
from bessemer.options import CompileOptions, RuntimeOptions
from bessemer.plan import Plan

if TYPE_CHECKING:
    from bessemer import models

__all__ = [
    "CompileOptions",
    "DType",
    "Error",
    "Executable",
    "Extent",
    "Graph",
    "Plan",
    "RuntimeOptions",
    "State",
    "Tensor",
    "Weights",
    "__version__",
    "bf16",
    "bool_",
    "compile",
    "f16",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "models",
    "q4_0",
    "q4_1",
    "q4_k",
    "q5_0",
    "q5_1",
    "q5_k",
    "q6_k",
    "q8_0",
    "u8",
    "u32",
]  # fmt: skip
__all__ += _elementwise.__all__
__all__ += _ops.__all__


def __getattr__(name: str) -> Any:
    # Tokenisers and templates are only loaded by who uses models.
    if name == "models":
        import importlib

        return importlib.import_module("bessemer.models")
    raise AttributeError(f"module 'bessemer' has no attribute {name!r}")
