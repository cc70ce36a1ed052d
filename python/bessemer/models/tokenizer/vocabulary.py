"""What a vocabulary of any kind can do, and the kinds of its tokens."""

from __future__ import annotations

from array import array
from enum import IntEnum
from typing import Protocol

from bessemer.errors import ParseError
from bessemer.frontends.gguf import GgufFile

PREFIX = "tokenizer.ggml."


class TokenKind(IntEnum):
    """``tokenizer.ggml.token_type``; the values are SentencePiece's."""

    NORMAL = 1
    UNKNOWN = 2  # stands for what the vocabulary cannot spell
    CONTROL = 3  # never made from plain text, writes nothing
    USER_DEFINED = 4  # matched in plain text before anything else
    UNUSED = 5
    BYTE = 6  # one byte of UTF-8, for characters without a token


class Vocabulary(Protocol):
    """Turns text without special tokens into ids, and normal tokens into bytes."""

    def encode(self, text: str) -> list[int]:
        """Ids of plain text (valid Unicode, possibly empty)."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token of kind NORMAL or BYTE writes."""


def token_kinds(file: GgufFile, size: int) -> array[int]:
    """The kind of every token; all NORMAL where the file does not say.

    Raises:
        ParseError: kinds that are unknown or not as many as the tokens.
    """
    key = PREFIX + "token_type"
    kinds = file.metadata.numbers(key, None)
    if kinds is None:
        return array("i", [TokenKind.NORMAL]) * size
    if len(kinds) != size or kinds.typecode in "fd":
        raise ParseError(
            f"GGUF: metadata `{key}` has {len(kinds)} values of type `{kinds.typecode}`, "
            f"expected {size} integers",
            [f"in `{file.path}`"],
        )
    unknown = set(kinds) - set(TokenKind)
    if unknown:
        raise ParseError(
            f"GGUF: metadata `{key}` has the unknown kind {min(unknown)}, expected 1 to 6",
            [f"in `{file.path}`"],
        )
    return kinds
