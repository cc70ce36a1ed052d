"""Text to token ids and back, from the vocabulary that a model file carries."""

from bessemer.models.tokenizer.stream import TokenStream
from bessemer.models.tokenizer.tokenizer import Tokenizer

__all__ = ["TokenStream", "Tokenizer"]
