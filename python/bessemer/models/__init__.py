"""Models from files: ``bs.models.load("smollm2")``."""

from bessemer.models.language_model import Generation, LanguageModel, load

__all__ = ["Generation", "LanguageModel", "load"]
