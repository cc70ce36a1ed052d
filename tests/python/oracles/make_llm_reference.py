"""Write ``tests/data/llm_reference_<model>.json``: facts about a test model by llama.cpp.

    python tests/python/oracles/make_llm_reference.py {smollm2,gemma3} [-o FILE]

Needs numpy, llama-cpp-python and the model's package. The weights are first expanded to F32 in a
temporary GGUF file (0.5 GB for smollm2, 1.1 GB for gemma3), the KV cache is F32 and flash attention
is off, so that llama.cpp computes in float32 throughout: with the packed weights it would quantise
the activations to 8 bits and prove nothing to better than 1 %. (Its GELU still goes through an F16
table.)

The file holds: prompts with their ids and 48 greedy ids; the ids of the first `TEXT_TOKENS` tokens
of ``text_public_domain.txt``; the most likely next token at each of them; and at some positions the
eight largest logits, with mean and standard deviation over the vocabulary.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracles import models
from oracles.gguf_file import GgufFile

GREEDY_TOKENS = 48
TEXT_TOKENS = 700  # past Gemma's window of 512
POSITIONS = (0, 1, 2, 7, 31, 63, 127, 255, 400, 499, 510, 511, 512, 513, 520, 600, 699)
# Tokens decoded at once, all with logits: bounds the memory of the output buffer.
BATCH = 64

_QUESTION = "Name three primary colours."
PROMPTS: dict[str, tuple[str, ...]] = {
    models.SMOLLM2: (
        "The capital of France is",
        "Once upon a time, in a small village by the sea,",
        "def fibonacci(n):\n",
        "Water boils at 100 degrees Celsius because",
        f"<|im_start|>user\n{_QUESTION}<|im_end|>\n<|im_start|>assistant\n",
        "El río más largo de América del Sur es",
    ),
    models.GEMMA3: (
        "The capital of France is",
        "Once upon a time, in a small village by the sea,",
        "def fibonacci(n):\n",
        "Water boils at 100 degrees Celsius because",
        f"Question: {_QUESTION}\nAnswer:",
        "El río más largo de América del Sur es",
    ),
}


class LlamaCpp:
    """The calls of llama.cpp that are needed here, through its C interface."""

    def __init__(self, path: Path, context: int, *, exact: bool, threads: int = 2) -> None:
        import llama_cpp

        self._api: Any = llama_cpp
        self._quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._quiet, ctypes.c_void_p())
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(
            str(path).encode(), llama_cpp.llama_model_default_params()
        )
        if not self._model:
            raise RuntimeError(f"llama.cpp could not load {path}")
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.vocab = llama_cpp.llama_vocab_n_tokens(self._vocab)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = context
        params.n_batch = params.n_ubatch = BATCH
        params.n_threads = params.n_threads_batch = threads
        if exact:
            params.type_k = params.type_v = 0  # GGML_TYPE_F32
            params.flash_attn_type = 0  # disabled
        self._context = llama_cpp.llama_init_from_model(self._model, params)

    def close(self) -> None:
        self._api.llama_free(self._context)
        self._api.llama_model_free(self._model)

    def tokenize(self, text: str) -> list[int]:
        """Ids as the model wants them: with its start token if it has one; specials are parsed."""
        raw = text.encode()
        out = (ctypes.c_int32 * (len(raw) + 8))()
        count = self._api.llama_tokenize(self._vocab, raw, len(raw), out, len(out), True, True)
        if count < 0:
            raise RuntimeError(f"llama.cpp wants room for {-count} tokens")
        return list(out[:count])

    def logits(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """(len(ids), vocab) of a new sequence."""
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)
        rows = [
            self._decode(ids[start : start + BATCH], start) for start in range(0, len(ids), BATCH)
        ]
        return np.concatenate(rows)

    def greedy(self, ids: Sequence[int], n: int) -> list[int]:
        row = self.logits(ids)[-1]
        out = [int(np.argmax(row))]
        while len(out) < n:
            row = self._decode(out[-1:], len(ids) + len(out) - 1)[-1]
            out.append(int(np.argmax(row)))
        return out

    def _decode(self, ids: Sequence[int], start: int) -> NDArray[np.float32]:
        batch = self._api.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i] = token
            batch.pos[i] = start + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = 0
            batch.logits[i] = 1
        status = self._api.llama_decode(self._context, batch)
        self._api.llama_batch_free(batch)
        if status != 0:
            raise RuntimeError(f"llama_decode failed with {status}")
        found = self._api.llama_get_logits(self._context)
        result: NDArray[np.float32] = np.ctypeslib.as_array(
            found, shape=(len(ids), self.vocab)
        ).copy()
        return result


def make(name: str) -> dict[str, Any]:
    import llama_cpp

    path = models.model_path(name)
    if path is None:
        raise RuntimeError(f"the package that carries {name} is not installed")
    text = models.data_path("text_public_domain.txt").read_text(encoding="ascii")
    with tempfile.TemporaryDirectory() as folder:
        expanded = Path(folder) / "f32.gguf"
        GgufFile(path).write_as_f32(expanded)
        llama = LlamaCpp(expanded, 1024, exact=True)
        prompts = []
        for prompt in PROMPTS[name]:
            ids = llama.tokenize(prompt)
            prompts.append(
                {"text": prompt, "ids": ids, "greedy_ids": llama.greedy(ids, GREEDY_TOKENS)}
            )
        text_ids = llama.tokenize(text[: TEXT_TOKENS * 8])[:TEXT_TOKENS]
        logits = llama.logits(text_ids)
        llama.close()
    samples = []
    for position in POSITIONS:
        row = logits[position].astype(np.float64)
        top = np.argsort(-row, kind="stable")[:8]
        samples.append(
            {
                "position": position,
                "top_ids": top.tolist(),
                "top_logits": [round(float(v), 5) for v in row[top]],
                "mean": round(float(row.mean()), 6),
                "std": round(float(row.std()), 6),
            }
        )
    return {
        "model_file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "made_by": f"llama-cpp-python {llama_cpp.__version__}, weights expanded to F32",
        "prompts": prompts,
        "text_ids": text_ids,
        "text_top1": np.argmax(logits, axis=1).tolist(),
        "text_samples": samples,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", choices=sorted(PROMPTS))
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    target = args.output or models.data_path(f"llm_reference_{args.model}.json")
    facts = json.dumps(make(args.model), indent=1, ensure_ascii=False)
    target.write_text(_one_line_lists(facts) + "\n", encoding="utf-8")
    print(target)


def _one_line_lists(text: str) -> str:
    """Put lists of numbers on one line each, so that the file reads and diffs well."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        stripped = line.strip()
        if inside:
            lines[-1] += stripped if stripped.startswith("]") else f"{stripped} "
            lines[-1] = lines[-1].replace(" ]", "]")
            inside = not stripped.startswith("]")
            continue
        lines.append(line)
        inside = line.endswith("[") and any(
            line.strip().startswith(f'"{key}"')
            for key in ("ids", "greedy_ids", "text_ids", "text_top1", "top_ids", "top_logits")
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
