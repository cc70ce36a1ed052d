"""
Native core of bessemer; use the bessemer package.
"""
from __future__ import annotations
import collections.abc
import numpy
import typing
__all__: list[str] = ['Device', 'Dim', 'Executable', 'GgufFile', 'GgufStrings', 'GgufTensor', 'Graph', 'apple_chips', 'device_names', 'op_table', 'pass_names', 'probe_count', 'release_free_memory', 'solve_arena_csv']
class Dim:
    """
    A size: an integer polynomial of a graph's extents.
    """
    def __add__(self, arg0: typing.Any) -> Dim:
        ...
    def __eq__(self, arg0: typing.Any) -> bool:
        ...
    def __floordiv__(self, arg0: typing.Any) -> Dim:
        ...
    def __hash__(self) -> int:
        ...
    def __mul__(self, arg0: typing.Any) -> Dim:
        ...
    def __radd__(self, arg0: typing.Any) -> Dim:
        ...
    def __repr__(self) -> str:
        ...
    def __rmul__(self, arg0: typing.Any) -> Dim:
        ...
    def __sub__(self, arg0: typing.Any) -> Dim:
        ...
class Graph:
    """
    A graph under construction; bessemer.Graph wraps it.
    """
    @staticmethod
    def parse(text: str) -> Graph:
        ...
    def __init__(self, name: str) -> None:
        ...
    def constant(self, dtype: str, shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data: bytes, where: str) -> tuple[int, int]:
        ...
    def extent(self, name: str, max: typing.SupportsInt | typing.SupportsIndex) -> Dim:
        ...
    def extents(self) -> dict:
        ...
    def identical(self, arg0: Graph) -> bool:
        ...
    def leaf(self, kind: str, name: str, dtype: str, shape: list, where: str) -> tuple[int, int]:
        ...
    def nodes(self) -> int:
        ...
    def op(self, name: str, operands: collections.abc.Sequence[tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]], attrs: dict, where: str) -> list:
        ...
    def output(self, name: str, value: tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]) -> None:
        ...
    def text(self) -> str:
        ...
    def type_of(self, value: tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]) -> tuple:
        ...
    def update(self, name: str, value: tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex]) -> None:
        ...
    def verify(self) -> None:
        ...
    @property
    def name(self) -> str:
        ...
class Device:
    """
    A device of this build; see `bessemer doctor`.
    """
    def __init__(self, name: str, threads: typing.SupportsInt | typing.SupportsIndex, isa: str) -> None:
        ...
    def run_probe(self, index: typing.SupportsInt | typing.SupportsIndex) -> dict:
        """
        Compiles and runs one probe here and on the generic CPU kernels, and compares.
        """
    @property
    def disabled(self) -> list[tuple[str, str]]:
        ...
    @property
    def facts(self) -> list[tuple[str, str]]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def target(self) -> str:
        ...
class Executable:
    """
    Program, weights and session; see bessemer.Executable.
    """
    def __init__(self, graph: Graph, device: str, options: dict, threads: typing.SupportsInt | typing.SupportsIndex, isa: str) -> None:
        ...
    def buckets(self) -> list[dict[str, int]]:
        ...
    def fill_states(self, value: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def fused_text(self) -> str:
        ...
    def graph_text(self) -> str:
        ...
    def inputs(self) -> list:
        ...
    def map_weight(self, name: str, dtype: str, shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]) -> None:
        """
        Uses the array's memory in place and keeps the array alive.
        """
    def memory(self) -> dict[str, int]:
        ...
    def modelled(self, bucket: typing.SupportsInt | typing.SupportsIndex, chip: str, extents: collections.abc.Mapping[str, typing.SupportsInt | typing.SupportsIndex] | None = None, context: typing.SupportsInt | typing.SupportsIndex = -1) -> dict:
        ...
    def outputs(self) -> list:
        ...
    def params(self) -> list:
        ...
    def passes(self) -> list[tuple[str, int, float]]:
        ...
    def poison_arena(self, value: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def read_arena(self) -> bytes:
        ...
    def read_state(self, name: str) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        ...
    def read_weight(self, name: str) -> numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]:
        """
        A copy, flat, in carrier elements.
        """
    def run(self, inputs: collections.abc.Sequence[numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]], extents: collections.abc.Sequence[tuple[str, typing.SupportsInt | typing.SupportsIndex]], into: collections.abc.Sequence[numpy.ndarray[typing.Any, numpy.dtype[typing.Any]] | None]) -> list:
        ...
    def schedule(self, bucket: typing.SupportsInt | typing.SupportsIndex, extents: collections.abc.Mapping[str, typing.SupportsInt | typing.SupportsIndex] | None = None, context: typing.SupportsInt | typing.SupportsIndex = -1) -> dict:
        ...
    def seal(self) -> None:
        ...
    def sealed(self) -> bool:
        ...
    def set_profiling(self, on: bool) -> None:
        ...
    def set_weight(self, name: str, dtype: str, shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]) -> None:
        ...
    def states(self) -> list:
        ...
    def times(self) -> list[list[tuple[float, int]]]:
        ...
    def write_state(self, name: str, data: numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]) -> None:
        ...
    @property
    def compile_seconds(self) -> float:
        ...
    @property
    def device(self) -> str:
        ...
    @property
    def target(self) -> str:
        ...
class GgufTensor:
    """
    Where a tensor lies in a GGUF file, and what it is.
    """
    def __repr__(self) -> str:
        ...
    def data(self) -> memoryview:
        """
        Its bytes: a read-only view into the mapping, not a copy.
        """
    @property
    def dtype(self) -> str:
        """
        Name of the element type: "f32", "q4_1".
        """
    @property
    def name(self) -> str:
        ...
    @property
    def nbytes(self) -> int:
        ...
    @property
    def offset(self) -> int:
        """
        Bytes from the start of the file.
        """
    @property
    def shape(self) -> tuple[int, ...]:
        """
        Sizes, row-major: a linear weight is (outputs, inputs).
        """
class GgufStrings:
    """
    An array of strings of a GGUF file, as bytes by index.
    """
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> bytes:
        ...
    def __len__(self) -> int:
        ...
class GgufFile:
    """
    A memory-mapped GGUF file. Immutable; safe to use from any thread. Its buffer is the whole file.
    """
    def __contains__(self, key: str) -> bool:
        ...
    def __init__(self, path: typing.Any) -> None:
        ...
    def bpe_tokenizer_json(self, ignore_merges: bool) -> bytes:
        """
        The byte-level BPE vocabulary as the `tokenizers` library loads it (JSON, UTF-8); see runtime/bpe_model.h.
        """
    def keys(self) -> list[str]:
        """
        Keys of the metadata, in file order.
        """
    def release_header(self) -> None:
        """
        Takes the header's pages out of this process's resident memory until read again.
        """
    def sentencepiece_model(self) -> bytes:
        """
        The vocabulary as a serialised SentencePiece ModelProto; see runtime/sentencepiece_model.h.
        """
    def strings(self, key: str) -> GgufStrings:
        """
        An array of strings, read by index as bytes without a copy of the rest.
        """
    def tensors(self) -> dict[str, GgufTensor]:
        """
        All tensors by name, in file order; a new dict at each call.
        """
    def value(self, key: str) -> typing.Any:
        """
        One metadata value: int, float, bool, str, list[str], list[bool] or array.array.
        
        Raises UnknownNameError for an unknown key, ParseError for text that is not UTF-8.
        """
    @property
    def alignment(self) -> int:
        """
        Of tensor data, in bytes.
        """
    @property
    def data_address(self) -> int:
        """
        Address of the file's first byte, valid while this object lives.
        """
    @property
    def header_nbytes(self) -> int:
        """
        Bytes before the tensor data.
        """
    @property
    def nbytes(self) -> int:
        """
        Size of the file.
        """
    @property
    def path(self) -> typing.Any:
        ...
    @property
    def version(self) -> int:
        ...
def _raise(kind: typing.SupportsInt | typing.SupportsIndex, message: str) -> None:
    """
    Raises the error of a kind (for tests).
    """
def apple_chips() -> list[str]:
    """
    Names of the chips that `modelled:CHIP` knows.
    """
def device_names() -> list[str]:
    ...
def op_table() -> list:
    """
    The op table: one dict a row.
    """
def pass_names() -> list[str]:
    """
    Names of all passes in their order.
    """
def probe_count() -> int:
    """
    How many probes the self-test has.
    """
def release_free_memory() -> None:
    """
    Gives memory that the allocator holds unused back to the system.
    """
def solve_arena_csv(text: str, capacity: typing.SupportsInt | typing.SupportsIndex, budget_s: typing.SupportsFloat | typing.SupportsIndex, threads: typing.SupportsInt | typing.SupportsIndex) -> dict:
    """
    Packs a static allocation problem; see cpp/plan/arena_csv.h.
    """
__version__: str = '0.1.0'
