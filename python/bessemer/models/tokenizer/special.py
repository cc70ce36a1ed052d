"""Finds the text of special tokens inside a string."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping


class SpecialTokens:
    """A set of literal texts, each with its token id.

    Where several match at one place the longest wins, and the leftmost place wins over later ones.
    Immutable; safe to use from any thread.
    """

    def __init__(self, ids: Mapping[str, int]) -> None:
        self._ids = {text: token_id for text, token_id in ids.items() if text}
        lengths: dict[str, set[int]] = {}
        for text in self._ids:
            lengths.setdefault(text[0], set()).add(len(text))
        # Candidates are found by their first character, and tried longest first. One alternation of
        # all texts would try each of Gemma's 6,414 in turn, and take longer to compile than the
        # rest of the tokeniser to load.
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}
        firsts = "".join(re.escape(first) for first in sorted(self._lengths))
        self._first = re.compile(f"[{firsts}]") if firsts else None

    def split(self, text: str) -> Iterator[str | int]:
        """The text in order: special tokens as ids, what lies between as non-empty strings."""
        done = 0
        if self._first is not None:
            match = self._first.search(text)
            while match is not None:
                at = match.start()
                for length in self._lengths[match.group()]:
                    token_id = self._ids.get(text[at : at + length])
                    if token_id is not None:
                        if at > done:
                            yield text[done:at]
                        yield token_id
                        done = at + length
                        break
                match = self._first.search(text, max(done, at + 1))
        if done < len(text):
            yield text[done:]
