"""The tokeniser of a model file."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import SupportsIndex

from bessemer.errors import DtypeError, InvalidArgumentError, ParseError, UnsupportedError
from bessemer.frontends.gguf import GgufFile
from bessemer.models.chat_template import ChatTemplate
from bessemer.models.tokenizer.byte_level import ByteLevelVocabulary
from bessemer.models.tokenizer.sentence_piece import SentencePieceVocabulary
from bessemer.models.tokenizer.special import SpecialTokens
from bessemer.models.tokenizer.stream import TokenStream
from bessemer.models.tokenizer.vocabulary import PREFIX, TokenKind, token_kinds

# Tokens that end a turn or a text, by the names that model families give to them.
_END_TEXTS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>",
    "<|end_of_text|>", "<|eot|>", "<|return|>", "<|call|>", "</s>", "<eos>", "<EOT>", "<|EOT|>",
    "<|END_OF_TURN_TOKEN|>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
)  # fmt: skip
_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>", "<|eot|>", "<EOT>")


class Tokenizer:
    """Text to token ids and back. Immutable; safe to use from any thread.

    Made from a file's own vocabulary by :meth:`from_gguf`. :meth:`encode` adds no token of its own;
    see :meth:`with_bos`.

    Attributes:
        vocab_size: number of tokens; ids are ``0 .. vocab_size - 1``.
        bos_id, eos_id, eot_id, unk_id, pad_id: of the tokens that begin and end a text, end a turn
            of a chat, stand for the unknown and pad; ``None`` where the model has none.
        end_ids: every token at which generation stops.
        add_bos, add_eos: whether the model expects ``bos_id`` before, ``eos_id`` after a text.
        add_space_prefix: whether a text gets a space in front of it before it is cut into tokens.
    """

    def __init__(self, file: GgufFile) -> None:
        metadata = file.metadata
        kind = metadata.text(PREFIX + "model")
        self._file = file
        self._texts = file.core.strings(PREFIX + "tokens")
        self.vocab_size = len(self._texts)
        self._kinds = token_kinds(file, self.vocab_size)
        self._vocabulary: ByteLevelVocabulary | SentencePieceVocabulary
        if kind == "gpt2":
            self._vocabulary = ByteLevelVocabulary(file, self._kinds)
            self.add_space_prefix = metadata.flag(PREFIX + "add_space_prefix", False)
            if self.add_space_prefix:
                raise UnsupportedError(
                    f"a byte-level vocabulary with `{PREFIX}add_space_prefix`",
                    [f"in `{file.path}`"],
                )
        elif kind == "llama":
            self._vocabulary = SentencePieceVocabulary(file, self._kinds)
            self.add_space_prefix = self._vocabulary.adds_space
        else:
            raise UnsupportedError(
                f"the tokeniser (`{PREFIX}model`) is `{kind}`, expected `gpt2` or `llama`",
                [f"in `{file.path}`"],
            )
        self._bytes: dict[int, bytes] = {}
        self._read_special_tokens()
        # The defaults of the "llama" kind are those of SentencePiece's trainer.
        defaults = (1, 2, 0) if kind == "llama" else (None, None, None)
        self.bos_id = self._special_id("bos", defaults[0])
        self.eos_id = self._special_id("eos", defaults[1])
        self.unk_id = self._special_id("unknown", defaults[2])
        self.pad_id = self._special_id("padding", None)
        self.eot_id = self._special_id("eot", self._first_of(_TURN_ENDS))
        ends = {self.eos_id, self.eot_id, self._special_id("eom", None)}
        ends.update(self._control.get(text) for text in _END_TEXTS)
        self.end_ids = frozenset(i for i in ends if i is not None)
        self.add_bos = metadata.flag(
            PREFIX + "add_bos_token", self._vocabulary.begins_with_bos and self.bos_id is not None
        )
        self.add_eos = metadata.flag(PREFIX + "add_eos_token", False)
        for wanted, token_id, name in (
            (self.add_bos, self.bos_id, "bos"),
            (self.add_eos, self.eos_id, "eos"),
        ):
            if wanted and token_id is None:
                raise ParseError(
                    f"GGUF: `{PREFIX}add_{name}_token` is set, but there is no "
                    f"`{PREFIX}{name}_token_id`",
                    [f"in `{file.path}`"],
                )

    @classmethod
    def from_gguf(cls, file: GgufFile) -> Tokenizer:
        """The tokeniser of an open model file, which stays mapped as long as the tokeniser lives.

        Raises:
            UnsupportedError: a kind of tokeniser, or a way to cut words, that is not known here.
            ParseError: a vocabulary that is incomplete or contradicts itself.
        """
        return cls(file)

    def __repr__(self) -> str:
        return f"Tokenizer({self._file.path!r}, vocab_size={self.vocab_size})"

    def _read_special_tokens(self) -> None:
        normal = int(TokenKind.NORMAL)  # a plain int: this runs once a token
        plain: dict[str, int] = {}
        self._control: dict[str, int] = {}
        for token_id in [i for i, kind in enumerate(self._kinds) if kind != normal]:
            kind = self._kinds[token_id]
            if kind == TokenKind.USER_DEFINED:
                plain[self._literal(token_id)] = token_id
            elif kind in (TokenKind.UNKNOWN, TokenKind.CONTROL):
                self._control[self._literal(token_id)] = token_id
        # SentencePiece matches user-defined tokens itself.
        by_library = isinstance(self._vocabulary, SentencePieceVocabulary)
        self._in_plain_text = SpecialTokens({} if by_library else plain)
        self._in_marked_text = SpecialTokens(self._control | plain)

    def _literal(self, token_id: int) -> str:
        try:
            return self._texts[token_id].decode("utf-8")
        except UnicodeDecodeError:
            raise ParseError(
                f"GGUF: the text of token {token_id} is not UTF-8", [f"in `{self._file.path}`"]
            ) from None

    def _first_of(self, texts: Iterable[str]) -> int | None:
        return next((self._control[t] for t in texts if t in self._control), None)

    def _special_id(self, name: str, default: int | None) -> int | None:
        key = f"{PREFIX}{name}_token_id"
        token_id = self._file.metadata.integer(key, None)
        if token_id is None:
            return default if default is None or default < self.vocab_size else None
        if not 0 <= token_id < self.vocab_size:
            raise ParseError(
                f"GGUF: metadata `{key}` is {token_id}, expected 0 to {self.vocab_size - 1}",
                [f"in `{self._file.path}`"],
            )
        return token_id

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """The texts that only ``encode(..., special=True)`` recognises, with their ids."""
        return MappingProxyType(self._control)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """Ids of a text; an empty text has none.

        Args:
            special: recognise the text of special tokens (``"<|im_start|>"``) as the token. By
                default such text is text like any other, as it must be for what a user typed;
                only tokens that the vocabulary defines as user-defined are always recognised.

        Raises:
            DtypeError: not a ``str``.
            InvalidArgumentError: a lone surrogate, which no UTF-8 text has.
        """
        if not isinstance(text, str):
            raise DtypeError(f"text is {type(text).__name__}, expected str")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(
                f"the text has the lone surrogate U+{ord(text[error.start]):04X} at character "
                f"{error.start}"
            ) from None
        ids: list[int] = []
        for part in (self._in_marked_text if special else self._in_plain_text).split(text):
            if isinstance(part, int):
                ids.append(part)
            else:
                ids.extend(self._vocabulary.encode(part))
        return ids

    def with_bos(self, ids: Sequence[int]) -> list[int]:
        """The ids with the beginning-of-sequence token first, if the model expects one.

        For text that continues nothing. The text of a chat template has the token already.
        """
        return [self.bos_id, *ids] if self.add_bos and self.bos_id is not None else list(ids)

    def chat_template(self) -> ChatTemplate:
        """The file's chat template, with the names of this vocabulary's special tokens.

        Raises:
            UnsupportedError: the file has none.
            ParseError: it is not Jinja2.
        """
        bos, eos = (
            "" if token_id is None else self._literal(token_id)
            for token_id in (self.bos_id, self.eos_id)
        )
        return ChatTemplate.from_gguf(self._file, bos_token=bos, eos_token=eos)

    def stream(self, *, skip_special: bool = True) -> TokenStream:
        """A decoder for tokens as they are generated, one stream a text."""
        return TokenStream(self, skip_special=skip_special)

    def token_bytes(self, token_id: SupportsIndex, *, skip_special: bool = True) -> bytes:
        """The bytes that one token writes: possibly part of a character, or nothing.

        Args:
            skip_special: control, unknown and unused tokens write nothing; otherwise their name.

        Raises:
            InvalidArgumentError: an id that the vocabulary does not have.
            DtypeError: not an integer.
        """
        try:
            index = operator.index(token_id)
        except TypeError:
            raise DtypeError(
                f"a token id is {type(token_id).__name__}, expected an integer"
            ) from None
        if not 0 <= index < self.vocab_size:
            raise InvalidArgumentError(
                f"token id {index} is not in the vocabulary of {self.vocab_size}"
            )
        kind = self._kinds[index]
        if kind in (TokenKind.NORMAL, TokenKind.BYTE):
            known = self._bytes.get(index)
            if known is None:
                known = self._bytes[index] = self._vocabulary.token_bytes(index)
            return known
        if skip_special and kind != TokenKind.USER_DEFINED:
            return b""
        return bytes(self._texts[index])

    def decode_bytes(self, ids: Iterable[SupportsIndex], *, skip_special: bool = True) -> bytes:
        """The bytes that a sequence of tokens writes, which need not be valid UTF-8.

        The space that ``encode`` put in front (see ``add_space_prefix``) is taken off again.

        Raises:
            InvalidArgumentError: an id that the vocabulary does not have.
            DtypeError: an id that is not an integer.
        """
        pieces = [self.token_bytes(i, skip_special=skip_special) for i in ids]
        if self.add_space_prefix:
            first = next((n for n, piece in enumerate(pieces) if piece), None)
            if first is not None:
                pieces[first] = pieces[first].removeprefix(b" ")
        return b"".join(pieces)

    def decode(self, ids: Iterable[SupportsIndex], *, skip_special: bool = True) -> str:
        """The text of a sequence of tokens; bytes that are not UTF-8 come as U+FFFD.

        ``decode(encode(text))`` is ``text`` wherever the vocabulary can spell it. To decode tokens
        as they are generated, use :meth:`stream`.

        Raises:
            InvalidArgumentError: an id that the vocabulary does not have.
            DtypeError: an id that is not an integer.
        """
        return self.decode_bytes(ids, skip_special=skip_special).decode("utf-8", errors="replace")
