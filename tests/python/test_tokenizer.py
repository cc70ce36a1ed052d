"""The tokeniser against oracles of our own, its streams, its special tokens and its errors."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bessemer.errors import (
    DtypeError,
    Error,
    InvalidArgumentError,
    ParseError,
    UnsupportedError,
)
from bessemer.frontends.gguf import GgufFile
from bessemer.models.tokenizer import Tokenizer, TokenStream
from bessemer.models.tokenizer.special import SpecialTokens
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.gguf_file import GgufFile as OracleFile
from oracles.gguf_writer import write_gguf
from oracles.models import GEMMA3, SMOLLM2, model_path
from oracles.tokenize import ByteLevelOracle, SentencePieceOracle, smollm_words


def _load(name: str) -> tuple[Tokenizer, dict[str, Any]]:
    path = model_path(name)
    if path is None:
        pytest.skip(f"the package of {name} is not installed")
    return Tokenizer.from_gguf(GgufFile(path)), OracleFile(path).metadata


@pytest.fixture(scope="module")
def smollm2() -> tuple[Tokenizer, dict[str, Any]]:
    return _load(SMOLLM2)


@pytest.fixture(scope="module")
def gemma3() -> tuple[Tokenizer, dict[str, Any]]:
    return _load(GEMMA3)


# Characters whose properties no Unicode version since Python 3.10's has changed: old ones.
_CHARACTERS = st.characters(max_codepoint=0x2FFFF, exclude_categories=("Cs", "Cn", "Co")).filter(
    lambda c: unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)
)
_PIECES = st.one_of(
    st.text(_CHARACTERS, max_size=8),
    st.text("aeinorst AENT'.,0123456789\n\t \u2581", max_size=20),
    st.sampled_from(
        ["'s", "'ll", "'T", "the", " the", "  ", "\n\n", "\t\t", "ing", "<table>", "</s>", "<bos>",
         "<|im_end|>", "😀", "日本", "ção", "über", "123", "<0x0A>", "▁▁"]
    ),
)  # fmt: skip
_TEXTS = st.lists(_PIECES, max_size=8).map("".join)


@settings(max_examples=300, deadline=None)
@given(text=_TEXTS)
def test_byte_level_ids_are_those_of_the_oracle(
    smollm2: tuple[Tokenizer, dict[str, Any]], text: str
) -> None:
    tokenizer, metadata = smollm2
    oracle = _oracle(metadata, lambda m: ByteLevelOracle(m, smollm_words))
    assert tokenizer.encode(text) == oracle.encode(text)


@settings(max_examples=300, deadline=None)
@given(text=_TEXTS)
def test_sentencepiece_ids_are_those_of_the_oracle(
    gemma3: tuple[Tokenizer, dict[str, Any]], text: str
) -> None:
    tokenizer, metadata = gemma3
    oracle = _oracle(metadata, SentencePieceOracle)
    assert tokenizer.encode(text) == oracle.encode(text)


_oracles: dict[int, Any] = {}


def _oracle(metadata: dict[str, Any], make: Any) -> Any:
    if id(metadata) not in _oracles:
        _oracles[id(metadata)] = make(metadata)
    return _oracles[id(metadata)]


# A small SentencePiece vocabulary where equal scores and two ways to one token matter.
_TIED = ["<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "ba", "aba", "aa", "▁a", "aaa", "bab"]


def _sentencepiece_file(path: Path, tokens: list[str], scores: list[float], **changes: Any) -> Path:
    metadata: dict[str, Any] = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": [2, 3, 3] + [1] * (len(tokens) - 3),
    }
    metadata.update({f"tokenizer.ggml.{k}": v for k, v in changes.items()})
    return write_gguf(path, {k: v for k, v in metadata.items() if v is not None})


@settings(max_examples=100, deadline=None)
@given(
    scores=st.lists(st.integers(-3, 0), min_size=len(_TIED), max_size=len(_TIED)),
    text=st.text("ab ", max_size=24),
    space=st.booleans(),
)
def test_equal_scores_merge_leftmost_first(
    tmp_path_factory: pytest.TempPathFactory, scores: list[int], text: str, space: bool
) -> None:
    path = _sentencepiece_file(
        tmp_path_factory.mktemp("tied") / "tied.gguf",
        _TIED,
        [float(s) for s in scores],
        add_space_prefix=space,
    )
    tokenizer = Tokenizer.from_gguf(GgufFile(path))
    assert tokenizer.encode(text) == SentencePieceOracle(OracleFile(path).metadata).encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@settings(max_examples=200, deadline=None)
@given(text=_TEXTS)
def test_a_stream_gives_whole_characters_and_the_same_text(
    smollm2: tuple[Tokenizer, dict[str, Any]], gemma3: tuple[Tokenizer, dict[str, Any]], text: str
) -> None:
    for tokenizer, _ in (smollm2, gemma3):
        ids = tokenizer.encode(text)
        stream = tokenizer.stream()
        pieces = [stream.push(i) for i in ids]
        assert all("\ufffd" not in p for p in pieces) or "\ufffd" in text or tokenizer is smollm2[0]
        assert "".join(pieces) + stream.flush() == tokenizer.decode(ids)


@settings(max_examples=200, deadline=None)
@given(ids=st.lists(st.integers(0, 49151), max_size=30))
def test_any_ids_decode_and_stream_alike(
    smollm2: tuple[Tokenizer, dict[str, Any]], ids: list[int]
) -> None:
    tokenizer, _ = smollm2
    for skip in (True, False):
        stream = TokenStream(tokenizer, skip_special=skip)
        streamed = "".join(stream.push(i) for i in ids) + stream.flush()
        assert streamed == tokenizer.decode(ids, skip_special=skip)


def test_a_stream_holds_back_half_a_character(smollm2: tuple[Tokenizer, dict[str, Any]]) -> None:
    tokenizer, _ = smollm2
    ids = tokenizer.encode("\U0001f9ff!")
    assert len(ids) >= 3  # several tokens for one character
    stream = tokenizer.stream()
    assert [stream.push(i) for i in ids[:-2]] == [""] * (len(ids) - 2)
    assert stream.push(ids[-2]) == "\U0001f9ff"
    assert stream.push(ids[-1]) == "!"
    assert stream.flush() == ""
    stream.push(ids[0])
    assert stream.flush() == "\ufffd"
    assert stream.push(ids[-1]) == "!"  # as new after a flush
    with pytest.raises(InvalidArgumentError):
        stream.push(-1)


def test_special_tokens_only_where_asked(smollm2: tuple[Tokenizer, dict[str, Any]]) -> None:
    tokenizer, _ = smollm2
    text = "<|im_start|>user\nHi<|im_end|>"
    plain = tokenizer.encode(text)
    marked = tokenizer.encode(text, special=True)
    assert 1 not in plain and 2 not in plain
    assert marked[0] == 1 and marked[-1] == 2
    assert marked[1:-1] == tokenizer.encode("user\nHi")
    assert tokenizer.decode(plain) == text
    assert tokenizer.decode(marked) == "user\nHi"
    assert tokenizer.decode(marked, skip_special=False) == text


def test_model_settings(
    smollm2: tuple[Tokenizer, dict[str, Any]], gemma3: tuple[Tokenizer, dict[str, Any]]
) -> None:
    small, large = smollm2[0], gemma3[0]
    assert (small.bos_id, small.eos_id, small.eot_id, small.pad_id, small.unk_id) == (1, 2, 2, 2, 0)
    assert small.end_ids == {0, 2}
    assert not small.add_bos and not small.add_space_prefix
    assert small.with_bos([5]) == [5]
    assert small.vocab_size == 49152
    assert (large.bos_id, large.eos_id, large.pad_id, large.unk_id) == (2, 1, 0, 3)
    assert large.eot_id == large.control_tokens["<end_of_turn>"] == 106
    assert large.end_ids == {1, 106}
    assert large.add_bos and not large.add_space_prefix
    assert large.with_bos([5]) == [2, 5]
    assert large.vocab_size == 262144


def test_byte_tokens_write_their_byte(gemma3: tuple[Tokenizer, dict[str, Any]]) -> None:
    tokenizer, metadata = gemma3
    tokens = metadata["tokenizer.ggml.tokens"]
    for byte in (0x00, 0x0A, 0x41, 0xFF):
        token_id = tokens.index(f"<0x{byte:02X}>")
        assert tokenizer.token_bytes(token_id) == bytes([byte])
    assert tokenizer.token_bytes(tokens.index("▁the")) == b" the"
    assert tokenizer.encode("<0x0A>") != [tokens.index("<0x0A>")]


def test_bad_arguments(smollm2: tuple[Tokenizer, dict[str, Any]]) -> None:
    tokenizer, _ = smollm2
    with pytest.raises(DtypeError, match="text is bytes, expected str"):
        tokenizer.encode(b"x")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"lone surrogate U\+D800 at character 2"):
        tokenizer.encode("ab\ud800")
    for bad in (-1, 49152, 10**30):
        with pytest.raises(InvalidArgumentError, match=f"token id {bad} is not in the vocabulary"):
            tokenizer.decode([bad])
    with pytest.raises(DtypeError, match="float"):
        tokenizer.decode([1.0])  # type: ignore[list-item]
    assert tokenizer.decode(np.array([19556, 905], np.int32)) == "Hello world"
    assert tokenizer.encode("") == tokenizer.encode("", special=True) == []
    assert tokenizer.decode([]) == ""


def test_long_texts_take_no_long_time(
    smollm2: tuple[Tokenizer, dict[str, Any]], gemma3: tuple[Tokenizer, dict[str, Any]]
) -> None:
    # Each would take minutes if any step were quadratic.
    for text in (
        "a" * 300_000,
        " " * 300_000,
        "\n" * 300_000 + "x",
        "<|im_" * 60_000,
        "1" * 300_000,
    ):
        for tokenizer, _ in (smollm2, gemma3):
            assert tokenizer.decode(tokenizer.encode(text, special=True)) == text


def test_the_longest_special_token_wins_then_the_leftmost() -> None:
    special = SpecialTokens({"ab": 1, "abc": 2, "cd": 3, "bcd": 4, "": 9})
    assert list(special.split("abcd")) == [2, "d"]
    assert list(special.split("xabx")) == ["x", 1, "x"]
    assert list(special.split("acdab")) == ["a", 3, 1]
    assert list(special.split("")) == []
    assert list(SpecialTokens({}).split("abc")) == ["abc"]


def _byte_level_file(path: Path, **changes: Any) -> Path:
    metadata: dict[str, Any] = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": ["<|end|>", "a", "b", "ab", "<tag>", "Ġ"],
        "tokenizer.ggml.token_type": [3, 1, 1, 1, 4, 1],
        "tokenizer.ggml.merges": ["a b"],
    }
    metadata.update({f"tokenizer.ggml.{k}": v for k, v in changes.items()})
    return write_gguf(path, {k: v for k, v in metadata.items() if v is not None})


def test_user_defined_tokens_are_always_matched(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_gguf(GgufFile(_byte_level_file(tmp_path / "v.gguf")))
    assert tokenizer.encode("ab<tag>a<|end|>") == [3, 4, 1]  # what cannot be spelt is left out
    assert tokenizer.encode("ab<tag>a<|end|>", special=True) == [3, 4, 1, 0]
    assert tokenizer.decode([3, 4, 1, 0]) == "ab<tag>a"
    assert tokenizer.end_ids == {0}
    assert tokenizer.bos_id is None


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": None}, ParseError, "`tokenizer.ggml.model` is missing"),
        ({"model": "rwkv"}, UnsupportedError, "is `rwkv`, expected `gpt2` or `llama`"),
        ({"model": 3}, ParseError, "is int 3, expected a string"),
        ({"pre": "martian"}, UnsupportedError, "is `martian`, expected one of"),
        ({"tokens": None}, Error, "tokenizer.ggml.tokens"),
        ({"tokens": 7}, ParseError, "is not an array of strings"),
        ({"tokens": ["a", "b", "ab", "a", "x", "y"]}, ParseError, "tokens 0 and 3 have the same"),
        ({"merges": None}, ParseError, "merges` is missing"),
        ({"merges": ["a b", "b b"]}, ParseError, "merge 1 of"),
        ({"merges": ["ab"]}, ParseError, "merge 0 of"),
        ({"token_type": [1, 2]}, ParseError, "has 2 values"),
        ({"token_type": [1, 1, 1, 1, 1, 9]}, ParseError, "unknown kind 9"),
        ({"token_type": [1.0] * 6}, ParseError, "expected 6 integers"),
        ({"eos_token_id": 6}, ParseError, "is 6, expected 0 to 5"),
        ({"add_bos_token": True}, ParseError, "there is no"),
        ({"add_bos_token": "yes"}, ParseError, "expected a bool"),
        ({"tokens": ["\udcff", "a", "b", "ab", "x", "y"]}, ParseError, "not UTF-8"),
    ],
)
def test_bad_byte_level_vocabularies(
    tmp_path: Path, changes: dict[str, Any], error: type[Error], message: str
) -> None:
    file = GgufFile(_byte_level_file(tmp_path / "v.gguf", **changes))
    with pytest.raises(error, match=message):
        Tokenizer.from_gguf(file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": None}, "scores` is missing"),
        ({"scores": [0.0]}, "has 1 elements for 13 tokens"),
        ({"scores": [float("nan")] * 13}, "not finite at token 0"),
        ({"token_type": [2, 3, 3, 6] + [1] * 9}, "1 byte tokens, expected none or 256"),
        ({"tokens": [*_TIED[:12], "a"]}, "SentencePiece refuses"),
        ({"unknown_token_id": 99}, "not the id of a token"),
    ],
)
def test_bad_sentencepiece_vocabularies(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = _sentencepiece_file(tmp_path / "v.gguf", _TIED, [0.0] * 13)
    Tokenizer.from_gguf(GgufFile(path))
    path = tmp_path / "bad.gguf"
    given = {"tokens": _TIED, "scores": [0.0] * 13, **changes}
    file = GgufFile(_sentencepiece_file(path, **given))
    with pytest.raises(ParseError, match=message):
        Tokenizer.from_gguf(file)
