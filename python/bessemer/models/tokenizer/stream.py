"""Text from tokens as they come."""

from __future__ import annotations

import codecs
from typing import Protocol


class TokenWriter(Protocol):
    """What knows the bytes of a token: a :class:`~bessemer.models.tokenizer.Tokenizer`."""

    def token_bytes(self, token_id: int, *, skip_special: bool = True) -> bytes:
        """The bytes that a token writes."""


class TokenStream:
    """Turns tokens into text one at a time, and never gives half a character.

    A character whose bytes are spread over several tokens comes with the last of them; bytes that
    can no longer become one come as U+FFFD. All pieces joined equal the text of all tokens decoded
    at once, except that a stream continues a text: it keeps a space at its beginning.

    Belongs to one caller at a time.
    """

    def __init__(self, tokenizer: TokenWriter, *, skip_special: bool = True) -> None:
        self._tokenizer = tokenizer
        self._skip_special = skip_special
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token_id: int) -> str:
        """The text that this token completes; empty while a character is unfinished.

        Raises:
            InvalidArgumentError: an id that the vocabulary does not have; the stream is unchanged.
        """
        return self._decoder.decode(
            self._tokenizer.token_bytes(token_id, skip_special=self._skip_special)
        )

    def flush(self) -> str:
        """U+FFFD for bytes that were left of an unfinished character, else nothing.

        The stream is as new afterwards.
        """
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
