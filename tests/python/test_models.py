"""The two test models against independent forward passes, and what a language model promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bessemer as bs
import numpy as np
import pytest
from bessemer.errors import BusyError, InvalidArgumentError, UnsupportedError
from bessemer.models import LanguageModel
from oracles.llm_forward import LlmOracle

DATA = Path(__file__).parents[1] / "data"
MODELS = {"smollm2": "smollm2", "gemma3-270m": "gemma3"}
TOKENS = 500


@pytest.fixture(scope="module", params=sorted(MODELS))
def name(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture(scope="module")
def exact(name: str) -> LanguageModel:
    return bs.models.load(name, precision="f32")


@pytest.fixture(scope="module")
def reference(name: str) -> dict[str, Any]:
    text = (DATA / f"llm_reference_{MODELS[name]}.json").read_text(encoding="utf-8")
    value: dict[str, Any] = json.loads(text)
    return value


@pytest.fixture(scope="module")
def text_logits(exact: LanguageModel, reference: dict[str, Any]) -> Iterator[Any]:
    ids = reference["text_ids"][:TOKENS]
    yield ids, np.asarray(LlmOracle(exact.path).logits(ids))


def relative_error(got: Any, want: Any) -> float:
    """The largest difference over the row's largest logit."""
    worst: float = (np.abs(got - want).max(axis=1) / np.abs(want).max(axis=1)).max()
    return worst


def test_exact_logits_are_the_oracles(
    exact: LanguageModel, text_logits: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ids, want = text_logits
    error = relative_error(exact.logits(ids), want)
    with capsys.disabled():
        print(f"\n{exact.path.name} f32: relative error of logits {error:.2e} over {len(ids)}")
    assert error <= 2e-4


def test_default_precision_is_close(
    name: str, text_logits: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ids, want = text_logits
    got = bs.models.load(name).logits(ids)
    norms = np.linalg.norm(got, axis=1) * np.linalg.norm(want, axis=1)
    cosine = (got * want).sum(axis=1) / norms
    agree = (got.argmax(axis=1) == want.argmax(axis=1)).mean()
    with capsys.disabled():
        print(f"\n{name} default: smallest cosine {cosine.min():.6f}, top-1 agreement {agree:.1%}")
    assert cosine.min() >= 0.999
    assert agree >= (0.97 if name == "smollm2" else 0.96)


def test_greedy_text_is_the_references(exact: LanguageModel, reference: dict[str, Any]) -> None:
    for prompt in reference["prompts"]:
        special = "<|" in prompt["text"]
        generation = exact.generate(prompt["ids"] if special else prompt["text"], max_tokens=48)
        assert generation.prompt_ids == prompt["ids"]
        text = "".join(generation)
        want = prompt["greedy_ids"][:48]
        # The reference goes on past end tokens; we stop there.
        ends = [i for i, token in enumerate(want) if token in exact.tokenizer.end_ids]
        want = want[: ends[0]] if ends else want
        assert generation.ids == want, prompt["text"]
        assert text == exact.detokenize(want)
        assert generation.finish_reason == ("stop" if ends else "length")


def test_gemma_beyond_its_window() -> None:
    lm = bs.models.load("gemma3-270m", precision="f32", context=1024)
    reference = json.loads((DATA / "llm_reference_gemma3.json").read_text(encoding="utf-8"))
    ids = (reference["text_ids"] * 3)[:700]
    rows = list(range(500, 700, 7))
    want = np.asarray(LlmOracle(lm.path).logits(ids, rows))
    assert relative_error(lm.logits(ids)[rows], want) <= 2e-4


def test_chunks_do_not_change_a_bit(exact: LanguageModel, reference: dict[str, Any]) -> None:
    ids = reference["text_ids"][:150]
    whole = exact.logits(ids)  # in chunks of 64 rows
    none = np.zeros(0, np.int32)
    array = np.asarray(ids, np.int32)
    position = 0
    for size in (1, 5, 1, 60, 3, 79, 1):  # other buckets, other tiles
        rows = none if position + size < len(ids) else np.array([size - 1], np.int32)
        out = exact._run(0, array[position : position + size], position, rows)
        position += size
    assert position == len(ids)
    assert out[0].tobytes() == whole[-1].tobytes()


def test_smaller_extents_equal_compiling_at_them(exact: LanguageModel) -> None:
    ids = np.arange(5, dtype=np.int32) + 40
    rows = np.array([0, 4], np.int32)
    inputs = {"ids": ids, "seq": np.zeros(5, np.int32), "pos": np.arange(5, dtype=np.int32)}
    want = exact.executable.run(inputs, rows=rows)["logits"]
    text = str(exact.graph)
    for extent, size in (("tokens", 5), ("rows", 2)):
        at = text.index(f"extent {extent} <= ")
        end = text.index("\n", at)
        text = f"{text[:at]}extent {extent} <= {size}{text[end:]}"
    small = bs.compile(bs.Graph.parse(text), "cpu", bs.CompileOptions(precision="f32"))
    for key in small.weights:
        small.weights.map(key, exact.executable.weights[key])
    assert small.run(inputs, rows=rows)["logits"].tobytes() == want.tobytes()


def test_a_decode_step_is_few_thunks(exact: LanguageModel) -> None:
    from bessemer.cli.inspect import layer_counts

    core = exact.executable._core
    counts = layer_counts(
        exact.plan.schedule(0), [p[0] for p in core.params()], [s[0] for s in core.states()]
    )
    assert len(counts) == exact.config.layers
    assert max(counts.values()) <= 8


def test_arena_is_at_its_lower_bound(exact: LanguageModel) -> None:
    for i in range(len(exact.plan.buckets)):
        schedule = exact.plan.schedule(i)
        assert schedule["arena_bytes"] <= 1.05 * schedule["arena_bound"]


@pytest.fixture(scope="module")
def small() -> LanguageModel:
    return bs.models.load("smollm2", context=64, threads=2)


def test_bad_prompts_are_typed_errors(small: LanguageModel) -> None:
    for prompt in ("", [], [10**6], [-1], list(range(65))):
        with pytest.raises(InvalidArgumentError):
            small.generate(prompt)
    for bad in ({"max_tokens": -1}, {"temperature": -1.0}, {"top_p": 0.0}, {"min_p": 2.0},
                {"top_k": -1}, {"stop": ""}):  # fmt: skip
        with pytest.raises(InvalidArgumentError):
            small.generate("x", **bad)
    with pytest.raises(InvalidArgumentError):
        bs.models.load("smollm2", context=10**6)
    assert list(small.generate("x", max_tokens=0)) == []


def test_a_sequence_is_held_and_freed(small: LanguageModel) -> None:
    first = small.generate("Once upon a time", max_tokens=8)
    next(first)
    with pytest.raises(BusyError):
        next(small.generate("Hello", max_tokens=1))
    with pytest.raises(BusyError):
        small.logits([1, 2])
    first.close()
    assert small.logits([1, 2]).shape == (2, small.config.vocabulary)


def test_it_ends_at_the_context(small: LanguageModel) -> None:
    generation = small.generate(list(range(100, 150)), max_tokens=1000)
    pieces = list(generation)
    assert generation.finish_reason in ("context", "stop")
    assert len(generation.prompt_ids) + len(generation.ids) <= small.context + 1
    assert "".join(pieces) == generation.text


def test_stop_strings_do_not_leak(small: LanguageModel) -> None:
    full = "".join(small.generate("Once upon a time", max_tokens=24))
    stop = full[10:16]
    generation = small.generate("Once upon a time", max_tokens=24, stop=[stop, "never there"])
    assert "".join(generation) == full[: full.index(stop)]
    assert generation.finish_reason == "stop"


def test_seeds_make_choices_repeatable(small: LanguageModel) -> None:
    def text(seed: int) -> str:
        options = {"max_tokens": 12, "temperature": 1.0, "top_k": 50, "top_p": 0.95}
        return "".join(small.generate("My favourite colour", seed=seed, **options))

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(4)}) > 1


def test_chat_goes_through_the_template(small: LanguageModel) -> None:
    messages = [{"role": "user", "content": "Hi <|im_end|>"}]
    ids = small.prompt_ids(messages)
    assert small.tokenizer.decode(ids, skip_special=False).startswith("<|im_start|>system")
    with pytest.raises(UnsupportedError):
        _ = bs.models.load("gemma3-270m").chat_template


def test_sequences_do_not_disturb_each_other() -> None:
    lm = bs.models.load("smollm2", precision="f32", context=128, max_batch=2)
    alone = ["".join(lm.generate(p, max_tokens=10)) for p in ("The sea", "A red apple")]
    generations = [lm.generate(p, max_tokens=10) for p in ("The sea", "A red apple")]
    texts = ["", ""]
    for _ in range(12):
        for i, generation in enumerate(generations):
            texts[i] += next(generation, "")
    assert texts == alone
