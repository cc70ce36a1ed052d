"""Tokenisers written for clarity, to judge the real ones: every step is a scan over the whole text.

Byte-level BPE follows Radford et al. 2019, section 2.2, and SentencePiece BPE Kudo and Richardson
2018, section 3.1; neither uses a tokeniser library or a regular expression.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

_PREFIX = "tokenizer.ggml."
# Unicode's White_Space property; str.isspace also takes U+001C to U+001F, which it has not.
_WHITE_SPACE = frozenset(
    map(chr, [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)])
) | frozenset("\u2028\u2029\u202f\u205f\u3000")


def _is_space(c: str) -> bool:
    return c in _WHITE_SPACE


def _is_letter(c: str) -> bool:
    return unicodedata.category(c)[0] == "L"


def _is_number(c: str) -> bool:
    return unicodedata.category(c)[0] == "N"


def _is_other(c: str) -> bool:
    return not (_is_space(c) or _is_letter(c) or _is_number(c))


def gpt2_words(text: str) -> list[str]:
    """Words by GPT-2's rule: contractions; letters, numbers or others with a space before; space.

    A run of white space leaves its last character to the word that follows.
    """
    words = []
    at = 0
    while at < len(text):
        end = _contraction(text, at) or _word(text, at)
        if end is None:
            end = at
            while end < len(text) and _is_space(text[end]):
                end += 1
            if end < len(text) and end - at > 1:
                end -= 1
        words.append(text[at:end])
        at = end
    return words


def _contraction(text: str, at: int) -> int | None:
    for suffix in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d"):
        if text.startswith(suffix, at):
            return at + len(suffix)
    return None


def _word(text: str, at: int) -> int | None:
    start = at + 1 if text[at] == " " else at
    for belongs in (_is_letter, _is_number, _is_other):
        end = start
        while end < len(text) and belongs(text[end]):
            end += 1
        if end > start:
            return end
    return None


def single_digits(text: str) -> list[str]:
    """The text cut before and after every number character."""
    parts: list[str] = []
    for c in text:
        if parts and not _is_number(c) and not _is_number(parts[-1][-1]):
            parts[-1] += c
        else:
            parts.append(c)
    return parts


def smollm_words(text: str) -> list[str]:
    """Words of SmolLM2: every digit alone, the rest by GPT-2's rule."""
    return [word for part in single_digits(text) for word in gpt2_words(part)]


def _byte_symbols() -> list[str]:
    symbols, extra = [], 0
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174:
            symbols.append(chr(byte))
        else:
            symbols.append(chr(256 + extra))
            extra += 1
    return symbols


class ByteLevelOracle:
    """Byte-level BPE from a file's metadata and a rule that cuts words."""

    def __init__(self, metadata: dict[str, Any], words: Callable[[str], list[str]]) -> None:
        self._ids = {t: i for i, t in enumerate(metadata[_PREFIX + "tokens"])}
        self._ranks = {m: rank for rank, m in enumerate(metadata[_PREFIX + "merges"])}
        self._words = words
        self._symbols = _byte_symbols()

    def encode(self, text: str) -> list[int]:
        return [i for word in self._words(text) for i in self._word_ids(word)]

    def _word_ids(self, word: str) -> Iterator[int]:
        parts = [self._symbols[byte] for byte in word.encode()]
        # Bytes that the vocabulary has no symbol for are left out.
        parts = [p for p in parts if p in self._ids]
        while True:
            ranked = [
                (self._ranks[pair], at)
                for at in range(len(parts) - 1)
                if (pair := f"{parts[at]} {parts[at + 1]}") in self._ranks
            ]
            if not ranked:
                return iter([self._ids[p] for p in parts])
            _, at = min(ranked)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]


class SentencePieceOracle:
    """SentencePiece BPE from a file's metadata."""

    NORMAL, USER_DEFINED = 1, 4

    def __init__(self, metadata: dict[str, Any]) -> None:
        tokens = metadata[_PREFIX + "tokens"]
        types = metadata[_PREFIX + "token_type"]
        scores = metadata[_PREFIX + "scores"]
        self._space_first = metadata.get(_PREFIX + "add_space_prefix", True)
        self._all = {t: i for i, t in enumerate(tokens)}
        self._normal = {t: i for i, t in enumerate(tokens) if types[i] == self.NORMAL}
        self._score = {t: scores[i] for t, i in self._normal.items()}
        self._defined = {
            t.replace(" ", "\u2581"): i
            for i, t in enumerate(tokens)
            if types[i] == self.USER_DEFINED
        }
        self._longest = max(map(len, self._defined), default=0)

    def encode(self, text: str) -> list[int]:
        if text and self._space_first:
            text = " " + text
        text = text.replace(" ", "\u2581")
        ids: list[int] = []
        plain = ""
        at = 0
        while at < len(text):
            for length in range(min(self._longest, len(text) - at), 0, -1):
                if text[at : at + length] in self._defined:
                    ids += self._plain_ids(plain)
                    ids.append(self._defined[text[at : at + length]])
                    plain = ""
                    at += length
                    break
            else:
                plain += text[at]
                at += 1
        return ids + self._plain_ids(plain)

    def _plain_ids(self, text: str) -> list[int]:
        parts = list(text)
        while True:
            scored = [
                (-self._score[pair], at)
                for at in range(len(parts) - 1)
                if (pair := parts[at] + parts[at + 1]) in self._score
            ]
            if not scored:
                break
            _, at = min(scored)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        ids = []
        for part in parts:
            if part in self._normal:
                ids.append(self._normal[part])
            else:
                ids += [self._all[f"<0x{byte:02X}>"] for byte in part.encode()]
        return ids
