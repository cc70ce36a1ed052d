"""Byte-level BPE vocabularies (``tokenizer.ggml.model`` "gpt2"), on the ``tokenizers`` library.

Text is cut into words by the patterns that ``tokenizer.ggml.pre`` names, words become bytes, each
byte a printable character, and neighbours are merged by rank (Radford et al., "Language Models are
Unsupervised Multitask Learners", 2019, section 2.2).
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import TYPE_CHECKING

from bessemer.errors import ParseError, UnsupportedError
from bessemer.frontends.gguf import GgufFile
from bessemer.models.tokenizer.vocabulary import PREFIX, TokenKind

if TYPE_CHECKING:
    from tokenizers import Tokenizer as LibraryTokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{DIGITS}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = _LLAMA3.replace("{DIGITS}", "{1,3}")
QWEN2 = _LLAMA3.replace("{DIGITS}", "")
DIGIT = r"\p{N}"

# Patterns in order: each cuts the pieces that the ones before it left. The published tokenisers of
# the families have these patterns; the names are those that llama.cpp gives to them.
_PATTERNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(["gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais", "mellum"], (GPT2,)),
    **dict.fromkeys(
        ["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"],
        (DIGIT, GPT2),
    ),
    **dict.fromkeys(["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"], (LLAMA3,)),
    **dict.fromkeys(["qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan"], (QWEN2,)),
    "default": (r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"),
}
# A word that is a token as a whole is that token, whatever the merges would make of it.
_WHOLE_WORDS_FIRST = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"}
# A text begins with the beginning-of-sequence token unless the file says otherwise.
_BEGINS_WITH_BOS = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"}
# The published tokeniser composes characters (Unicode NFC) before it cuts words.
_COMPOSED = {"qwen2"}


def byte_characters() -> dict[str, int]:
    """The character that stands for each byte.

    Bytes that print as one Latin-1 character stand for themselves; the others, in order, are
    U+0100 and on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    characters = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    characters.update({chr(0x100 + i): byte for i, byte in enumerate(others)})
    return characters


class ByteLevelVocabulary:
    """A byte-level BPE vocabulary. Immutable; safe to use from any thread.

    A byte that the vocabulary has no character for is left out, as the published tokenisers do:
    SmolLM2's has 235 of the 256, and lacks some control characters.

    Raises:
        ParseError: tokens or merges that are missing, malformed, or occur twice.
        UnsupportedError: a ``tokenizer.ggml.pre`` that is not known here, named.
    """

    def __init__(self, file: GgufFile, kinds: array[int]) -> None:
        pre = file.metadata.text(PREFIX + "pre", "default")
        if pre not in _PATTERNS:
            raise UnsupportedError(
                f"the tokeniser's way to cut words (`{PREFIX}pre`) is `{pre}`, "
                f"expected one of {', '.join(sorted(_PATTERNS))}",
                [f"in `{file.path}`"],
            )
        self.begins_with_bos = pre in _BEGINS_WITH_BOS
        self._kinds = kinds
        self._texts = file.core.strings(PREFIX + "tokens")
        self._bytes = byte_characters()
        self._library = self._build(file, pre)

    def _build(self, file: GgufFile, pre: str) -> LibraryTokenizer:
        # Imported here: who brings token ids needs no tokeniser.
        from tokenizers import Tokenizer as LibraryTokenizer
        from tokenizers import normalizers

        try:
            document = file.core.bpe_tokenizer_json(pre in _WHOLE_WORDS_FIRST)
        except ParseError as error:
            raise ParseError(str(error), [f"in `{file.path}`"]) from None
        try:
            library = LibraryTokenizer.from_buffer(document)
        except Exception as error:  # the library has no narrower class
            raise ParseError(
                f"GGUF: the tokenizers library refuses the vocabulary: {error}",
                [f"in `{file.path}`"],
            ) from error
        library.pre_tokenizer = _word_cutter(_PATTERNS[pre])
        if pre in _COMPOSED:
            library.normalizer = normalizers.NFC()
        return library

    def encode(self, text: str) -> list[int]:
        return list(self._library.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token_id: int) -> bytes:
        text = self._texts[token_id].decode("utf-8")
        if self._kinds[token_id] == TokenKind.BYTE:
            return bytes([int(text[3:5], 16)]) if len(text) == 6 else b""
        if all(c in self._bytes for c in text):
            return bytes(self._bytes[c] for c in text)
        return text.encode("utf-8")


@lru_cache(maxsize=len(_PATTERNS))
def _word_cutter(patterns: tuple[str, ...]) -> PreTokenizer:
    from tokenizers import Regex, pre_tokenizers

    cutters: list[PreTokenizer] = []
    for pattern in patterns:
        if pattern == DIGIT:
            cutters.append(pre_tokenizers.Digits(individual_digits=True))
        elif pattern != GPT2 or pattern != patterns[-1]:
            cutters.append(pre_tokenizers.Split(Regex(pattern), behavior="isolated"))
    # Bytes become characters last. The library has GPT-2's pattern built in there, which is faster.
    cutters.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=patterns[-1] == GPT2))
    return cutters[0] if len(cutters) == 1 else pre_tokenizers.Sequence(cutters)
