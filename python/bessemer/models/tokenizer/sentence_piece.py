"""SentencePiece vocabularies (``tokenizer.ggml.model`` "llama"), on the SentencePiece library.

Kudo and Richardson, "SentencePiece: A simple and language independent subword tokenizer and
detokenizer for Neural Text Processing", 2018. The library is the one that the models were trained
with; docs/decisions/0003-sentencepiece-library.md says why it is not ``tokenizers`` here.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from bessemer.errors import ParseError
from bessemer.frontends.gguf import GgufFile
from bessemer.models.tokenizer.vocabulary import PREFIX, TokenKind

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

_SPACE = "\u2581".encode()


class SentencePieceVocabulary:
    """A SentencePiece BPE vocabulary. Immutable; safe to use from any thread.

    Neighbours are merged by score, the leftmost first among equals; user-defined tokens are matched
    before that; characters without a token become byte tokens where the vocabulary has those,
    else the unknown token. U+2581 in a text is taken for a space, as everywhere in SentencePiece.

    Raises:
        ParseError: tokens, scores or kinds that are missing or do not fit together.
    """

    begins_with_bos = True

    def __init__(self, file: GgufFile, kinds: array[int]) -> None:
        self.adds_space = file.metadata.flag(PREFIX + "add_space_prefix", True)
        self._kinds = kinds
        self._texts = file.core.strings(PREFIX + "tokens")
        self._library = self._build(file)

    def _build(self, file: GgufFile) -> SentencePieceProcessor:
        # Imported here: who brings token ids needs no tokeniser.
        from sentencepiece import SentencePieceProcessor

        library = SentencePieceProcessor()
        try:
            library.LoadFromSerializedProto(file.core.sentencepiece_model())
        except RuntimeError as error:
            raise ParseError(
                f"GGUF: SentencePiece refuses the vocabulary: {error}", [f"in `{file.path}`"]
            ) from error
        return library

    def encode(self, text: str) -> list[int]:
        return list(self._library.EncodeAsIds(text))

    def token_bytes(self, token_id: int) -> bytes:
        text: bytes = self._texts[token_id]
        if self._kinds[token_id] == TokenKind.BYTE:
            return bytes([int(text[3:5], 16)])  # "<0x0A>"; the library checked the form
        return text.replace(_SPACE, b" ")
