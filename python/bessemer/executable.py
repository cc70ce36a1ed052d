"""Compiled graphs: weights in, runs out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bessemer import _core
from bessemer.dtypes import BY_NAME, DType, numpy_dtype
from bessemer.errors import DtypeError, InvalidArgumentError, ShapeError, UnknownNameError
from bessemer.graph import Graph
from bessemer.options import CompileOptions, RuntimeOptions, environment
from bessemer.plan import Plan

Array = npt.NDArray[Any]


def compile(
    graph: Graph,
    device: str = "auto",
    options: CompileOptions | None = None,
    runtime: RuntimeOptions | None = None,
) -> Executable:
    """Compiles a graph and allocates its arena and states; blocks, with the GIL released.

    Args:
        graph: at least one output or state update. It may be changed afterwards.
        device: "cpu", or "auto" for the best one here.

    Raises:
        UnsupportedError: an op or size that the device cannot do, named.
        OutOfMemoryError: arena or states do not fit.
    """
    runtime = runtime or RuntimeOptions()
    threads = environment().threads if runtime.threads is None else runtime.threads
    isa = environment().isa if runtime.isa is None else runtime.isa
    core = _core.Executable(
        graph._core, device, (options or CompileOptions()).as_core(), threads, isa
    )
    return Executable(core)


def _carrier(array: Array) -> Array:
    """The array as the core takes it: C-contiguous, bf16 as its bits."""
    array = np.asarray(array, order="C")  # ascontiguousarray gives scalars an axis
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _uncarrier(array: Array, dtype: DType) -> Array:
    return array.view(numpy_dtype(dtype)) if dtype.name == "bf16" else array


class Weights(Mapping[str, Array]):
    """The params of an executable by name. Assign each once or more, then ``seal``.

    Reading gives a copy; block-quantised params read and assign as flat uint8 of their raw blocks
    or, when assigned, as arrays of that many bytes in any shape.
    """

    def __init__(self, core: _core.Executable) -> None:
        self._core = core
        self._types = {
            name: (BY_NAME[dtype], tuple(int(d) for d in shape))
            for name, dtype, shape in core.params()
        }

    def _type(self, name: str) -> tuple[DType, tuple[int, ...]]:
        if name not in self._types:
            raise UnknownNameError(f"no param named `{name}`; there are {_some(self._types)}")
        return self._types[name]

    def _checked(self, name: str, value: npt.ArrayLike) -> tuple[DType, tuple[int, ...], Array]:
        dtype, shape = self._type(name)
        array = np.asarray(value)
        if dtype.is_quantised:
            if array.dtype != np.uint8:
                raise DtypeError(
                    f"param `{name}` is {dtype.name}: pass its raw blocks as uint8, "
                    f"got {array.dtype}"
                )
            return dtype, shape, _carrier(array.reshape(-1))
        want = numpy_dtype(dtype)
        if array.dtype != want:
            raise DtypeError(
                f"param `{name}` is {dtype.name}, got an array of {array.dtype}; convert it first"
            )
        if array.shape != shape:
            raise ShapeError(f"param `{name}` is {list(shape)}, got {list(array.shape)}")
        return dtype, shape, _carrier(array)

    def __setitem__(self, name: str, value: npt.ArrayLike) -> None:
        dtype, shape, array = self._checked(name, value)
        self._core.set_weight(name, dtype.name, list(shape), array)

    def map(self, name: str, value: Array) -> None:
        """Uses the array's memory in place instead of a copy; it must not change afterwards.

        The array is kept alive. It must be C-contiguous.
        """
        dtype, shape, array = self._checked(name, value)
        if not np.shares_memory(array, value) and array.nbytes:
            raise InvalidArgumentError(f"param `{name}`: only a C-contiguous array can be mapped")
        self._core.map_weight(name, dtype.name, list(shape), array)

    def __getitem__(self, name: str) -> Array:
        dtype, shape = self._type(name)
        flat = self._core.read_weight(name)
        return flat if dtype.is_quantised else _uncarrier(flat, dtype).reshape(shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def seal(self) -> None:
        """Makes the weights immutable.

        Raises:
            StateError: params without data, named.
        """
        self._core.seal()

    @property
    def sealed(self) -> bool:
        return self._core.sealed()


class State:
    """One state of an executable. Calls block and may raise BusyError during a run."""

    def __init__(self, core: _core.Executable, name: str, dtype: DType, shape: tuple[int, ...]):
        self._core = core
        self.name = name
        self.dtype = dtype
        self.shape = shape

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.block_bytes

    def read(self) -> Array:
        """A copy of the contents."""
        return _uncarrier(self._core.read_state(self.name), self.dtype)

    def write(self, value: npt.ArrayLike) -> None:
        """Replaces the contents.

        Raises:
            DtypeError, ShapeError: not exactly this state's dtype and shape.
        """
        array = np.asarray(value)
        if array.dtype != numpy_dtype(self.dtype):
            raise DtypeError(f"state `{self.name}` is {self.dtype.name}, got {array.dtype}")
        if array.shape != self.shape:
            raise ShapeError(f"state `{self.name}` is {list(self.shape)}, got {list(array.shape)}")
        self._core.write_state(self.name, _carrier(array))

    def fill(self, value: float) -> None:
        """Sets every element."""
        self.write(np.full(self.shape, value, numpy_dtype(self.dtype)))


class Executable:
    """A program, its weights and one session.

    ``run`` belongs to one thread at a time: a second thread gets BusyError.
    """

    def __init__(self, core: _core.Executable) -> None:
        self._core = core
        self.weights = Weights(core)
        self.states: dict[str, State] = {
            name: State(core, name, BY_NAME[dtype], tuple(int(d) for d in shape))
            for name, dtype, shape in core.states()
        }
        self._inputs = [(n, BY_NAME[d]) for n, d, _ in core.inputs()]
        self._input_names = {n for n, _ in self._inputs}
        self._outputs = [(n, BY_NAME[d]) for n, d, _ in core.outputs()]

    def run(
        self,
        inputs: Mapping[str, npt.ArrayLike] | None = None,
        /,
        *,
        extents: Mapping[str, int] | None = None,
        outputs: Mapping[str, Array] | None = None,
        **named: npt.ArrayLike,
    ) -> dict[str, Array]:
        """Runs once, to completion, with the GIL released.

        Args:
            inputs: arrays by name (or as keywords) of exactly the inputs' dtypes; any strides.
                Python numbers and lists are converted.
            extents: values of extents that no input's shape gives.
            outputs: arrays to write results into; C-contiguous, of the results' shapes.

        Returns:
            The outputs by name.

        Raises:
            UnknownNameError: an unknown or missing name.
            DtypeError, ShapeError, InvalidArgumentError: an input that does not fit, an extent
                above its bound, an index out of range.
            StateError: params without data. BusyError: another thread is running.
        """
        given = {**(inputs or {}), **named}
        for name in given:
            if name not in self._input_names:
                raise UnknownNameError(
                    f"no input named `{name}`; there are {_some(self._input_names)}"
                )
        arrays = []
        for name, dtype in self._inputs:
            if name not in given:
                raise UnknownNameError(f"input `{name}` was not given")
            arrays.append(_input(name, dtype, given[name]))
        into: list[Array | None] = [None] * len(self._outputs)
        if outputs:
            names = [n for n, _ in self._outputs]
            for name, array in outputs.items():
                if name not in names:
                    raise UnknownNameError(f"no output named `{name}`; there are {_some(names)}")
                if not isinstance(array, np.ndarray):
                    raise DtypeError(f"output `{name}` needs a NumPy array, got {type(array)}")
                i = names.index(name)
                if array.dtype != numpy_dtype(self._outputs[i][1]):
                    raise DtypeError(
                        f"output `{name}` is {self._outputs[i][1].name}, got {array.dtype}"
                    )
                into[i] = array.view(np.uint16) if array.dtype.name == "bfloat16" else array
        results = self._core.run(arrays, list((extents or {}).items()), into)
        return {
            name: _uncarrier(array, dtype)
            for (name, dtype), array in zip(self._outputs, results, strict=True)
        }

    def reset_states(self) -> None:
        """Sets every state to zero."""
        self._core.fill_states(0)

    @property
    def plan(self) -> Plan:
        """The schedules, barriers and memory of every bucket; ``print(exe.plan)``."""
        return Plan(self._core)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes: weights (of these weights_mapped in place), states, arena, arena_bound."""
        return self._core.memory()

    @property
    def device(self) -> str:
        """Device and target: "cpu (cpu-avx512vnni)"."""
        return f"{self._core.device} ({self._core.target})"


def _input(name: str, dtype: DType, value: Any) -> Array:
    want = numpy_dtype(dtype)
    if not isinstance(value, np.ndarray) and not hasattr(value, "__array__"):
        if hasattr(value, "__dlpack__"):
            value = np.from_dlpack(value)
        else:
            plain = np.asarray(value)
            if plain.size and not np.can_cast(plain.dtype, want, "same_kind"):
                raise DtypeError(f"input `{name}` is {dtype.name}, got Python values {plain.dtype}")
            value = plain.astype(want)
    array = np.asarray(value)
    if array.dtype != want:
        raise DtypeError(f"input `{name}` is {dtype.name}, got an array of {array.dtype}")
    return _carrier(array)


def _some(names: Any) -> str:
    listed = sorted(names)
    return ", ".join(f"`{n}`" for n in listed[:8]) + (", ..." if len(listed) > 8 else "")
