"""A loaded language model: text in, text out, over one compiled graph."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from bessemer import _core
from bessemer.errors import BusyError, InvalidArgumentError
from bessemer.executable import Executable, compile
from bessemer.frontends.gguf import GgufFile
from bessemer.graph import Graph
from bessemer.models.catalog import find_model
from bessemer.models.chat_template import ChatTemplate
from bessemer.models.decoder import (
    DecoderConfig,
    DecoderLimits,
    TensorInfo,
    build_decoder,
    read_config,
)
from bessemer.models.sampling import Sampling
from bessemer.models.tokenizer import Tokenizer
from bessemer.options import CompileOptions, RuntimeOptions
from bessemer.plan import Plan

Messages = Sequence[Mapping[str, str]]

# Tokens of one prefill run, and token counts with a schedule of their own.
_CHUNK = 512
_TOKEN_BUCKETS = (1, 8, 64)
# Rows of logits of one run of `logits`.
_ROWS = 64


def load(
    model: str | Path,
    *,
    device: str = "cpu",
    precision: str = "default",
    threads: int | None = None,
    context: int | None = None,
    max_batch: int = 1,
) -> LanguageModel:
    """Loads a model and compiles its graph. Blocks.

    Weights stay in the mapped file and are used from there; nothing is copied.

    Args:
        model: path of a GGUF file, or the name of a model that an installed package carries.
        precision: "default" (int8 activations with block-quantised weights, f16 KV cache) or
            "f32" (exact products, f32 KV cache).
        threads: workers of the CPU device; all that this process may use by default.
        context: tokens that one sequence can hold; the model's own by default. Memory of a KV
            cache is taken as it fills.
        max_batch: sequences that may be alive at once.

    Raises:
        UnknownNameError: no such model. ParseError: a broken file. UnsupportedError: an unknown
            architecture, tokeniser or tensor type, named. InvalidArgumentError: a context longer
            than the model's. OutOfMemoryError.
    """
    return LanguageModel(
        model,
        device=device,
        precision=precision,
        threads=threads,
        context=context,
        max_batch=max_batch,
    )


class LanguageModel:
    """See ``load``. One call at a time; BusyError when more sequences than max_batch are alive."""

    def __init__(
        self,
        model: str | Path,
        *,
        device: str,
        precision: str,
        threads: int | None,
        context: int | None,
        max_batch: int,
    ) -> None:
        start = time.perf_counter()
        self.path = find_model(model)
        file = GgufFile(self.path)
        tensors = {
            name: TensorInfo(info.dtype, tuple(info.shape)) for name, info in file.tensors.items()
        }
        self.config: DecoderConfig = read_config(file.metadata, tensors)
        if max_batch < 1:
            raise InvalidArgumentError(f"max_batch must be at least 1, got {max_batch}")
        if context is None:
            context = self.config.context
        if not 1 <= context <= self.config.context:
            raise InvalidArgumentError(
                f"context must be 1 to the model's {self.config.context}, got {context}"
            )
        self.context = context
        self.max_batch = max_batch
        self.tokenizer = Tokenizer.from_gguf(file)
        self._template: ChatTemplate | None = None
        chunk = min(_CHUNK, context * max_batch)
        rows = min(_ROWS, chunk)
        limits = DecoderLimits(chunk, rows, max_batch, context)
        self.graph: Graph = build_decoder(
            self.config, limits, tensors, "f32" if precision == "f32" else "f16"
        )
        self.load_seconds = time.perf_counter() - start
        start = time.perf_counter()
        self._limits = limits
        self._exe: Executable = compile(
            self.graph,
            device,
            CompileOptions(
                precision=precision,
                specialize={
                    "tokens": [n for n in _TOKEN_BUCKETS if n < chunk],
                    "rows": [1] if rows > 1 else [],
                },
            ),
            RuntimeOptions(threads=threads),
        )
        self.compile_seconds = time.perf_counter() - start
        start = time.perf_counter()
        for name in self._exe.weights:
            self._exe.weights.map(name, file.tensor(name))
        self._exe.weights.seal()
        # Vocabularies come and go as lists of strings: tens of megabytes that nobody needs.
        _core.release_free_memory()
        self.load_seconds += time.perf_counter() - start
        self._free = list(range(max_batch))
        self._lock = threading.Lock()

    def __del__(self) -> None:
        # Drop what is large first, so that it goes back to the system now and not into a heap that
        # fragments a little more with every model. A generation that dies with us still gives its
        # sequence back: the rest stays.
        for name in ("_exe", "tokenizer", "graph", "_metadata", "_template"):
            self.__dict__.pop(name, None)
        if not sys.is_finalizing():
            _core.release_free_memory()

    @property
    def plan(self) -> Plan:
        """Schedules and memory of the compiled graph."""
        return self._exe.plan

    @property
    def memory(self) -> dict[str, int]:
        """Bytes by owner; see ``Executable.memory``."""
        return self._exe.memory

    @property
    def executable(self) -> Executable:
        """The compiled graph. Inputs ids, seq, pos, rows; output logits."""
        return self._exe

    def tokenize(self, text: str, special: bool = False) -> list[int]:
        """Ids of ``text``, without a leading BOS.

        Args:
            special: text such as ``<|im_start|>`` becomes the token of that name; otherwise it is
                ordinary text.
        """
        return self.tokenizer.encode(text, special=special)

    def detokenize(self, ids: Sequence[int]) -> str:
        """Text of ``ids``; control tokens are left out, invalid UTF-8 becomes U+FFFD."""
        return self.tokenizer.decode(ids)

    @property
    def chat_template(self) -> ChatTemplate:
        """The model's chat template.

        Raises:
            UnsupportedError: the file has none.
        """
        if self._template is None:
            self._template = self.tokenizer.chat_template()
        return self._template

    def logits(self, ids: Sequence[int]) -> npt.NDArray[np.float32]:
        """Next-token logits after each of ``ids``: float32 (len(ids), vocabulary).

        Raises:
            InvalidArgumentError: an id outside the vocabulary, or more ids than the context.
        """
        tokens = self._check_ids(ids)
        out = np.empty((len(tokens), self.config.vocabulary), np.float32)
        sequence = self._acquire()
        try:
            step = self._limits.rows
            for start in range(0, len(tokens), step):
                chunk = tokens[start : start + step]
                rows = np.arange(len(chunk), dtype=np.int32)
                self._run(sequence, chunk, start, rows, out[start : start + step])
        finally:
            self._release(sequence)
        return out

    def generate(
        self,
        prompt: str | Messages | Sequence[int],
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
    ) -> Generation:
        """Continues a prompt; iterate over the result for pieces of text as they come.

        Args:
            prompt: text (a BOS is added where the model wants one), chat messages
                (``[{"role": "user", "content": "..."}]``, through the model's template), or ids
                that are used as they are.
            max_tokens: at most so many new tokens; fewer at an end token, a stop string or the end
                of the context (see ``Generation.finish_reason``).
            seed: of the random choices; random by default.
            stop: text at which to stop; it is not part of the result.

        Raises:
            InvalidArgumentError: an empty prompt, one longer than the context, a setting out of
                its domain.
            BusyError: while iterating, max_batch generations are alive already.
        """
        if max_tokens < 0:
            raise InvalidArgumentError(f"max_tokens must be >= 0, got {max_tokens}")
        ids = self._check_ids(self.prompt_ids(prompt))
        stops = [stop] if isinstance(stop, str) else list(stop)
        if not all(isinstance(s, str) and s for s in stops):
            raise InvalidArgumentError(f"stop must be non-empty strings, got {stop!r}")
        sampling = Sampling(temperature, top_k, top_p, min_p)
        return Generation(self, ids, max_tokens, sampling, np.random.default_rng(seed), stops)

    def prompt_ids(self, prompt: str | Messages | Sequence[int]) -> list[int]:
        """The ids that ``generate`` starts from."""
        if isinstance(prompt, str):
            return self.tokenizer.with_bos(self.tokenizer.encode(prompt, special=False))
        items = list(prompt)
        if items and isinstance(items[0], Mapping):
            text = self.chat_template.render(cast("Messages", items))
            ids = self.tokenizer.encode(text, special=True)
            # Templates write their own BOS where the model has one.
            return ids if ids[:1] == [self.tokenizer.bos_id] else self.tokenizer.with_bos(ids)
        return [int(i) for i in cast("list[int]", items)]

    def _check_ids(self, ids: Sequence[int]) -> npt.NDArray[np.int32]:
        if len(ids) == 0:
            raise InvalidArgumentError("the prompt is empty")
        if len(ids) > self.context:
            raise InvalidArgumentError(
                f"{len(ids)} tokens do not fit the context of {self.context}"
            )
        array = np.asarray(ids)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InvalidArgumentError("ids must be a flat list of ints")
        if array.min() < 0 or array.max() >= self.config.vocabulary:
            raise InvalidArgumentError(
                f"ids must be in 0..{self.config.vocabulary - 1}, got "
                f"{int(array.min())}..{int(array.max())}"
            )
        return array.astype(np.int32)

    def _acquire(self) -> int:
        with self._lock:
            if not self._free:
                raise BusyError(
                    f"all {self.max_batch} sequences are in use; close a generation, or load with "
                    "a larger max_batch"
                )
            return self._free.pop(0)

    def _release(self, sequence: int) -> None:
        with self._lock:
            self._free.append(sequence)
            self._free.sort()

    def _run(
        self,
        sequence: int,
        ids: npt.NDArray[np.int32],
        position: int,
        rows: npt.NDArray[np.int32],
        into: npt.NDArray[np.float32] | None = None,
    ) -> npt.NDArray[np.float32]:
        n = len(ids)
        return self._exe.run(
            {
                "ids": ids,
                "seq": np.full(n, sequence, np.int32),
                "pos": np.arange(position, position + n, dtype=np.int32),
                "rows": rows,
            },
            outputs=None if into is None else {"logits": into},
        )["logits"]

    def _prefill(self, sequence: int, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        """Runs the prompt; the logits after its last token."""
        none = np.zeros(0, np.int32)
        for start in range(0, len(ids), self._limits.tokens):
            chunk = ids[start : start + self._limits.tokens]
            last = start + len(chunk) == len(ids)
            rows = np.array([len(chunk) - 1], np.int32) if last else none
            logits = self._run(sequence, chunk, start, rows)
        first: npt.NDArray[np.float32] = logits[0]
        return first


class Generation:
    """One continuation: an iterator of pieces of text. Iterate once.

    A sequence of the model's KV cache is held from the first piece to the last, or to ``close``.

    Attributes:
        prompt_ids: the tokens it started from.
        ids: the tokens so far, end tokens excluded.
        text: the text so far.
        finish_reason: "stop", "length" or "context" once it has ended, else "".
        prefill_seconds, decode_seconds: time in the model so far.
    """

    def __init__(
        self,
        model: LanguageModel,
        ids: npt.NDArray[np.int32],
        max_tokens: int,
        sampling: Sampling,
        rng: np.random.Generator,
        stops: list[str],
    ) -> None:
        self._model = model
        self._prompt = ids
        self._max_tokens = max_tokens
        self._sampling = sampling
        self._rng = rng
        self._stops = stops
        self.prompt_ids: list[int] = ids.tolist()
        self.ids: list[int] = []
        self.text = ""
        self.finish_reason = ""
        self.prefill_seconds = 0.0
        self.decode_seconds = 0.0
        self._iterator = self._pieces()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._iterator)

    def close(self) -> None:
        """Ends the generation and frees its sequence."""
        self._iterator.close()

    @property
    def prefill_tokens_per_second(self) -> float:
        return len(self.prompt_ids) / self.prefill_seconds if self.prefill_seconds else 0.0

    @property
    def decode_tokens_per_second(self) -> float:
        # The first token comes out of the prefill.
        steps = len(self.ids) - 1
        return steps / self.decode_seconds if steps > 0 and self.decode_seconds else 0.0

    def _tokens(self) -> Generator[int, None, None]:
        model = self._model
        if self._max_tokens == 0:
            self.finish_reason = "length"
            return
        sequence = model._acquire()
        try:
            start = time.perf_counter()
            logits = model._prefill(sequence, self._prompt)
            self.prefill_seconds = time.perf_counter() - start
            position = len(self._prompt)
            rows = np.zeros(1, np.int32)
            while True:
                token = self._sampling.pick(logits, self._rng)
                if token in model.tokenizer.end_ids:
                    self.finish_reason = "stop"
                    return
                self.ids.append(token)
                yield token
                if len(self.ids) == self._max_tokens:
                    self.finish_reason = "length"
                    return
                if position == model.context:
                    self.finish_reason = "context"
                    return
                start = time.perf_counter()
                logits = model._run(sequence, np.array([token], np.int32), position, rows)[0]
                self.decode_seconds += time.perf_counter() - start
                position += 1
        finally:
            model._release(sequence)

    def _pieces(self) -> Generator[str, None, None]:
        stream = self._model.tokenizer.stream()
        tokens = self._tokens()
        held = ""  # may be the beginning of a stop string
        try:
            for token in tokens:
                held += stream.push(token)
                emit, held, stopped = _split_at_stop(held, self._stops)
                if emit:
                    self.text += emit
                    yield emit
                if stopped:
                    self.finish_reason = "stop"
                    return
            emit, rest, stopped = _split_at_stop(held + stream.flush(), self._stops)
            if stopped:
                self.finish_reason = "stop"
            else:
                emit += rest
            if emit:
                self.text += emit
                yield emit
        finally:
            tokens.close()


def _split_at_stop(text: str, stops: Sequence[str]) -> tuple[str, str, bool]:
    """(text that is certain, text that may yet become a stop string, whether one is complete)."""
    found = [i for i in (text.find(s) for s in stops) if i >= 0]
    if found:
        return text[: min(found)], "", True
    hold = 0
    for s in stops:
        for n in range(min(len(s) - 1, len(text)), hold, -1):
            if text.endswith(s[:n]):
                hold = n
                break
    cut = len(text) - hold
    return text[:cut], text[cut:], False
