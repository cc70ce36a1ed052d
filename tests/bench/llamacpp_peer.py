"""llama.cpp's side of ``bench_vs_llamacpp.py``; runs in an environment that has llama-cpp-python.

    llamacpp_peer.py bench MODEL --pp 512 --tg 128 --threads 2    one JSON line with tok/s
    llamacpp_peer.py first-token MODEL PROMPT --threads 2         prints the generated text

``bench`` calls llama.cpp's C interface, so that Python costs it a few microseconds a call, the way
its own llama-bench does: flash attention and the KV cache as they are by default, batches of 512, a
warm-up, the cache cleared before each measurement, tokens drawn at random. ``first-token`` is what
a user of the Python binding writes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

BATCH = 512


class Peer:
    """A loaded model and a context of `tokens` positions."""

    def __init__(self, model: str, tokens: int, threads: int) -> None:
        import llama_cpp

        self._api: Any = llama_cpp
        self._quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._quiet, ctypes.c_void_p())
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(
            model.encode(), llama_cpp.llama_model_default_params()
        )
        if not self._model:
            raise SystemExit(f"llama.cpp could not load {model}")
        vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.vocab: int = llama_cpp.llama_vocab_n_tokens(vocab)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = tokens
        params.n_batch = params.n_ubatch = BATCH
        params.n_threads = params.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        if not self._context:
            raise SystemExit("llama.cpp could not make a context")

    def clear(self) -> None:
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)

    def run(self, ids: Sequence[int]) -> None:
        """Append `ids` to the sequence, compute the last one's logits and wait for them."""
        for start in range(0, len(ids), BATCH):
            piece = ids[start : start + BATCH]
            tokens = (ctypes.c_int32 * len(piece))(*piece)
            batch = self._api.llama_batch_get_one(tokens, len(piece))
            status = self._api.llama_decode(self._context, batch)
            if status != 0:
                raise SystemExit(f"llama_decode failed with {status}")
        self._api.llama_synchronize(self._context)


def bench(args: argparse.Namespace) -> None:
    import llama_cpp

    depth = args.depth
    peer = Peer(args.model, depth + max(args.pp, args.tg), args.threads)
    draw = random.Random(0)

    def ids(count: int) -> list[int]:
        return [draw.randrange(peer.vocab) for _ in range(count)]

    peer.run(ids(args.pp))
    peer.clear()
    peer.run(ids(1))

    peer.clear()
    if depth:
        peer.run(ids(depth))
    prompt = ids(args.pp)
    start = time.perf_counter()
    peer.run(prompt)
    prefill = args.pp / (time.perf_counter() - start)

    peer.clear()
    if depth:
        peer.run(ids(depth))
    steps = ids(args.tg)
    start = time.perf_counter()
    for token in steps:
        peer.run([token])
    decode = args.tg / (time.perf_counter() - start)
    result = {
        "prefill_tok_s": prefill,
        "decode_tok_s": decode,
        "version": llama_cpp.__version__,
        "system": llama_cpp.llama_print_system_info().decode().strip(),
    }
    print(json.dumps(result))


def first_token(args: argparse.Namespace) -> None:
    from llama_cpp import Llama

    model = Llama(args.model, n_threads=args.threads, n_threads_batch=args.threads, verbose=False)
    pieces: Any = model.create_completion(
        args.prompt, max_tokens=args.tokens, temperature=0.0, stream=True
    )
    for piece in pieces:
        sys.stdout.write(piece["choices"][0]["text"])
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser("bench")
    measure.add_argument("model")
    measure.add_argument("--pp", type=int, default=512)
    measure.add_argument("--tg", type=int, default=128)
    measure.add_argument("--depth", type=int, default=0)
    measure.add_argument("--threads", type=int, default=2)
    measure.set_defaults(action=bench)
    first = commands.add_parser("first-token")
    first.add_argument("model")
    first.add_argument("prompt")
    first.add_argument("--tokens", type=int, default=4)
    first.add_argument("--threads", type=int, default=2)
    first.set_defaults(action=first_token)
    args = parser.parse_args()
    args.action(args)


if __name__ == "__main__":
    main()
