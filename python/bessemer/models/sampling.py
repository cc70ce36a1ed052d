"""Choosing the next token on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bessemer.errors import InvalidArgumentError


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen.

    Attributes:
        temperature: 0 takes the most likely token; the other settings then have no effect.
        top_k: only the k most likely tokens; 0 keeps all.
        top_p: the fewest tokens whose probabilities reach this sum; 1 keeps all.
        min_p: only tokens at least this fraction as likely as the most likely; 0 keeps all.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise InvalidArgumentError(f"temperature must be >= 0, got {self.temperature}")
        if self.top_k < 0:
            raise InvalidArgumentError(f"top_k must be >= 0, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise InvalidArgumentError(f"top_p must be in (0, 1], got {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise InvalidArgumentError(f"min_p must be in [0, 1], got {self.min_p}")

    def pick(self, logits: npt.NDArray[np.float32], rng: np.random.Generator) -> int:
        """One token of ``logits`` [vocabulary]; ties of the greedy choice take the lower id.

        Raises:
            InvalidArgumentError: no logit is a number.
        """
        if self.temperature == 0:
            best = int(np.argmax(logits))
            if not np.isfinite(logits[best]):
                raise InvalidArgumentError("the model's logits are not finite")
            return best
        scores = logits.astype(np.float64) / self.temperature
        order = np.argsort(-scores, kind="stable")
        if self.top_k:
            order = order[: self.top_k]
        scores = scores[order]
        if not np.isfinite(scores[0]):
            raise InvalidArgumentError("the model's logits are not finite")
        p = np.exp(scores - scores[0])
        keep = p >= self.min_p  # p is relative to the most likely here
        p /= p.sum()
        # The token that crosses top_p stays.
        keep &= np.cumsum(p) - p < self.top_p
        p = np.where(keep, p, 0.0)
        return int(order[rng.choice(len(order), p=p / p.sum())])
