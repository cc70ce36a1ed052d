"""Graph construction: typed values, checked as they are made.

A ``Graph`` is not thread-safe while it is built. Every error names the op, its operands' types and
the line of the user's code that made it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bessemer import _core
from bessemer.dtypes import BY_NAME, DType, as_dtype
from bessemer.errors import DtypeError, InvalidArgumentError, ShapeError

_PACKAGE = str(Path(__file__).parent)


class Extent:
    """A named size that may vary at run time, up to ``max`` (at least 1). Use it as a dim."""

    def __init__(self, name: str, max: int) -> None:
        self.name = name
        self.max = max

    def __repr__(self) -> str:
        return f"Extent({self.name!r}, max={self.max})"


DimLike: TypeAlias = "int | str | Extent | _core.Dim"


def _where() -> str:
    """The first caller outside this package, as "file.py:12"."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


class Graph:
    """A graph of typed values.

    Args:
        name: for people and printed forms.
        default_extent_max: the bound of an extent that is first mentioned as a bare string dim. A
            run above an extent's bound raises InvalidArgumentError.
    """

    def __init__(self, name: str = "graph", *, default_extent_max: int = 1024) -> None:
        self._core = _core.Graph(name)
        self._default_extent_max = default_extent_max

    @classmethod
    def parse(cls, text: str) -> Graph:
        """Builds the graph that ``str(graph)`` printed.

        Raises:
            ParseError: malformed text, with the line.
            InternalError: types that do not follow from the ops.
        """
        graph = cls()
        graph._core = _core.Graph.parse(text)
        return graph

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def extents(self) -> dict[str, int]:
        """Name to bound of every extent."""
        return self._core.extents()

    def extent(self, name: str, max: int) -> _core.Dim:
        """Declares an extent and gives it as a dim, for arithmetic: ``2 * g.extent("n", 64)``.

        Raises:
            UnknownNameError: known with another bound, or not an identifier.
        """
        return self._core.extent(name, max)

    def _dim(self, dim: DimLike) -> int | str | _core.Dim:
        if isinstance(dim, Extent):
            return self._core.extent(dim.name, dim.max)
        if isinstance(dim, str) and dim.isidentifier() and dim not in self._core.extents():
            return self._core.extent(dim, self._default_extent_max)
        return dim

    def _shape(self, shape: Iterable[DimLike]) -> list[int | str | _core.Dim]:
        return [self._dim(d) for d in shape]

    def _leaf(self, kind: str, name: str, shape: Iterable[DimLike], dtype: DType | str) -> Tensor:
        return Tensor(
            self,
            self._core.leaf(kind, name, as_dtype(dtype).name, self._shape(shape), _where()),
        )

    def input(self, name: str, shape: Iterable[DimLike], dtype: DType | str = "f32") -> Tensor:
        """A tensor given to each run. Dims may be ints, extents, or polynomials of them.

        Raises:
            UnknownNameError: a second input of that name.
        """
        return self._leaf("input", name, shape, dtype)

    def param(self, name: str, shape: Iterable[int], dtype: DType | str = "f32") -> Tensor:
        """A weight of fixed shape. Only params may be block-quantised: rows of whole blocks.

        Raises:
            ShapeError: a variable dim, or rows that are not whole blocks.
        """
        return self._leaf("param", name, shape, dtype)

    def state(self, name: str, shape: Iterable[int], dtype: DType | str = "f32") -> Tensor:
        """A named buffer that outlives a run, zero at first: its value when the run starts.

        ``update`` sets its value for the next run.
        """
        return self._leaf("state", name, shape, dtype)

    def constant(self, value: npt.ArrayLike, dtype: DType | str | None = None) -> Tensor:
        """Literal data. Without ``dtype``: Python floats are f32, ints i32, arrays as they are."""
        array = np.asarray(value)
        if dtype is None and not isinstance(value, np.ndarray | np.generic):
            if array.dtype == np.float64:
                dtype = "f32"
            elif array.dtype == np.int64:
                dtype = "i32"
        want = as_dtype(dtype) if dtype is not None else as_dtype(array.dtype)
        raw = _constant_bytes(array, want)
        return Tensor(self, self._core.constant(want.name, list(array.shape), raw, _where()))

    def output(self, name: str, value: Tensor) -> None:
        """Names a result of each run.

        Raises:
            UnknownNameError: a second output of that name.
        """
        self._core.output(name, self._own(value)._handle)

    def update(self, state: str, value: Tensor) -> None:
        """Sets the state's value for the next run. Row updates (``scatter_rows``) happen in place.

        Raises:
            UnknownNameError, ShapeError, DtypeError: no such state, or another type.
            StateError: updated already.
        """
        self._core.update(state, self._own(value)._handle)

    def _own(self, value: Tensor) -> Tensor:
        if not isinstance(value, Tensor):
            raise InvalidArgumentError(f"expected a Tensor, got {type(value).__name__}")
        if value.graph is not self:
            raise InvalidArgumentError(
                f"a value of graph `{value.graph.name}` was used in graph `{self.name}`"
            )
        return value

    def op(
        self, name: str, operands: Sequence[Tensor], attrs: Mapping[str, Any] | None = None
    ) -> tuple[Tensor, ...]:
        """Adds a node by the op table's name; the functions of ``bessemer`` are the usual way."""
        handles = [self._own(v)._handle for v in operands]
        converted = {k: v.name if isinstance(v, DType) else v for k, v in (attrs or {}).items()}
        return tuple(Tensor(self, h) for h in self._core.op(name, handles, converted, _where()))

    def verify(self) -> None:
        """Checks structure and types again. Raises InternalError on a fault."""
        self._core.verify()

    def __str__(self) -> str:
        return self._core.text()

    def __repr__(self) -> str:
        return f"<bessemer.Graph {self.name!r}, {self._core.nodes()} nodes>"


class Tensor:
    """A value of a graph: a dtype and a shape, no data. Operators follow NumPy."""

    __slots__ = ("_handle", "dtype", "graph", "shape")
    # NumPy leaves operators with an array on the left to us.
    __array_ufunc__ = None

    graph: Graph
    dtype: DType
    shape: tuple[int | _core.Dim, ...]

    def __init__(self, graph: Graph, handle: tuple[int, int]) -> None:
        self.graph = graph
        self._handle = handle
        name, shape = graph._core.type_of(handle)
        self.dtype = BY_NAME[name]
        self.shape = shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<{self.dtype.name}[{', '.join(map(str, self.shape))}]>"

    def __bool__(self) -> bool:
        raise InvalidArgumentError("a graph value has no truth: it has no data yet; use bs.where")

    def __len__(self) -> int:
        if not self.shape or not isinstance(self.shape[0], int):
            raise ShapeError(f"{self!r} has no fixed length")
        return self.shape[0]

    def _binary(self, op: str, other: Any, swap: bool = False) -> Tensor:
        if not isinstance(other, Tensor | int | float | np.ndarray | np.generic):
            return NotImplemented  # type: ignore[no-any-return]
        pair = (self, lift(self, other))
        return self.graph.op(op, pair[::-1] if swap else pair)[0]

    def __add__(self, other: Any) -> Tensor:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Tensor:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Tensor:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._binary("subtract", other, True)

    def __mul__(self, other: Any) -> Tensor:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Tensor:
        return self._binary("multiply", other, True)

    def __truediv__(self, other: Any) -> Tensor:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._binary("divide", other, True)

    def __floordiv__(self, other: Any) -> Tensor:
        return self._binary("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return self._binary("floor_divide", other, True)

    def __mod__(self, other: Any) -> Tensor:
        return self._binary("remainder", other)

    def __pow__(self, other: Any) -> Tensor:
        return self._binary("pow", other)

    def __and__(self, other: Any) -> Tensor:
        return self._binary("bitwise_and", other)

    def __or__(self, other: Any) -> Tensor:
        return self._binary("bitwise_or", other)

    def __xor__(self, other: Any) -> Tensor:
        return self._binary("bitwise_xor", other)

    def __lshift__(self, other: Any) -> Tensor:
        return self._binary("left_shift", other)

    def __rshift__(self, other: Any) -> Tensor:
        return self._binary("right_shift", other)

    def __rmod__(self, other: Any) -> Tensor:
        return self._binary("remainder", other, True)

    def __rpow__(self, other: Any) -> Tensor:
        return self._binary("pow", other, True)

    def __rand__(self, other: Any) -> Tensor:
        return self._binary("bitwise_and", other, True)

    def __ror__(self, other: Any) -> Tensor:
        return self._binary("bitwise_or", other, True)

    def __rxor__(self, other: Any) -> Tensor:
        return self._binary("bitwise_xor", other, True)

    def __lt__(self, other: Any) -> Tensor:
        return self._binary("less", other)

    def __le__(self, other: Any) -> Tensor:
        return self._binary("less_equal", other)

    def __gt__(self, other: Any) -> Tensor:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Tensor:
        return self._binary("greater_equal", other)

    def __neg__(self) -> Tensor:
        return self.graph.op("negative", [self])[0]

    def __invert__(self) -> Tensor:
        return self.graph.op("bitwise_not", [self])[0]

    def __abs__(self) -> Tensor:
        return self.graph.op("abs", [self])[0]

    def __matmul__(self, other: Tensor) -> Tensor:
        from bessemer.ops import matmul

        return matmul(self, other)

    def __getitem__(self, index: Any) -> Tensor:
        from bessemer.ops import getitem

        return getitem(self, index)

    def astype(self, dtype: DType | str) -> Tensor:
        """This value converted; see ``bessemer.cast``."""
        from bessemer.ops import cast

        return cast(self, dtype)

    def reshape(self, *shape: Any) -> Tensor:
        """This value in another shape; see ``bessemer.reshape``."""
        from bessemer.ops import reshape

        return reshape(
            self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        )


def lift(like: Tensor, other: Any) -> Tensor:
    """``other`` as a value of ``like``'s graph; a Python scalar takes ``like``'s dtype.

    Raises:
        DtypeError: a float with an integer tensor, or a number with a bool one.
    """
    if isinstance(other, Tensor):
        return other
    if isinstance(other, bool | int | float) and not isinstance(other, np.generic):
        dtype = like.dtype
        name = dtype.name
        kind = "bool" if isinstance(other, bool) else "int" if isinstance(other, int) else "float"
        fits = {
            "bool": name == "bool",
            "int": name != "bool" and not dtype.is_quantised,
            "float": name in ("f32", "f16", "bf16", "f64"),
        }[kind]
        if not fits:
            raise DtypeError(f"the Python {kind} {other!r} does not fit {like!r}; cast first")
        return like.graph.constant(other, dtype)
    return like.graph.constant(other)


def _constant_bytes(array: npt.NDArray[Any], dtype: DType) -> bytes:
    if dtype.is_quantised:
        raise DtypeError(f"a constant cannot be {dtype.name}")
    if dtype.name == "bf16" and array.dtype.name != "bfloat16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        nan = (bits & 0x7FFFFFFF) > 0x7F800000
        return bytes(np.where(nan, (bits >> 16) | 0x40, rounded).astype("<u2").tobytes())
    if array.dtype.name == "bfloat16":
        return bytes(np.ascontiguousarray(array).view(np.uint16).astype("<u2").tobytes())
    target = np.dtype({"bool": "bool"}.get(dtype.name, "")) if dtype.name == "bool" else None
    from bessemer.dtypes import numpy_dtype

    want = target or numpy_dtype(dtype)
    if want.kind in "iu" and array.dtype.kind == "f":
        raise DtypeError(f"a constant of floats is not {dtype.name}; round it first")
    if want.kind in "iu" and array.dtype.kind in "iu" and array.size:
        info = np.iinfo(want)
        if array.min() < info.min or array.max() > info.max:
            raise DtypeError(f"constant outside the range of {dtype.name}")
    return bytes(np.ascontiguousarray(array, want).tobytes())


def apply_elementwise(name: str, *operands: Any) -> Tensor:
    """One elementwise op; at least one operand is a Tensor, scalars take its dtype."""
    tensors = [o for o in operands if isinstance(o, Tensor)]
    if not tensors:
        raise InvalidArgumentError(f"`{name}` needs at least one Tensor, got {operands!r}")
    # The condition of `where` says nothing about the dtype of the other two.
    like = next((t for t in tensors if t.dtype.name != "bool"), tensors[0])
    return like.graph.op(name, [lift(like, o) for o in operands])[0]
