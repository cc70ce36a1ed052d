"""Forward pass of the test models in NumPy, over dequantised weights: what bessemer is judged by.

Architectures ``llama`` (SmolLM2) and ``gemma3`` of GGUF. Sources: the model papers (Llama 2,
Gemma 3), the GGUF metadata keys, and the behaviour of llama.cpp for what neither states:

* ``llama`` files store q and k weights permuted for rotary embedding of *adjacent* pairs;
  ``gemma3`` files keep the half-split order (pairs ``i, i + n/2``).
* ``gemma3``: of every six layers the first five are local (window of ``attention.sliding_window``
  tokens that includes the token itself, rope base 10,000) and the sixth is global
  (``rope.freq_base``). The norm weights in the file already contain Gemma's ``1 +``.

Everything is computed in `dtype`: float32, or float64 to judge which of two float32 answers is
right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gguf_file import GgufFile

Array = NDArray[Any]

_GEMMA3_PERIOD = 6
_GEMMA3_LOCAL_ROPE_BASE = 10_000.0


@dataclass
class KvCache:
    """Keys and values of one sequence: per layer a list of (tokens, kv_heads, head_dim) pieces."""

    tokens: int = 0
    keys: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)


@dataclass(frozen=True)
class _Layer:
    """Weights by the GGUF name without ``blk.N.`` and ``.weight``, and what differs by layer."""

    weights: dict[str, Array]
    window: int  # 0: unlimited
    rope_base: float


@dataclass(frozen=True)
class Greedy:
    """Greedy text: the generated ids, and per step the lead of the best logit over the second."""

    ids: list[int]
    margins: list[float]


class LlmOracle:
    """One model, loaded and dequantised. Calls are independent of each other; not thread-safe."""

    def __init__(self, path: str | Path, dtype: type[np.floating[Any]] = np.float32) -> None:
        gguf = GgufFile(path)
        self.dtype = np.dtype(dtype)
        self.architecture: str = gguf.metadata["general.architecture"]
        if self.architecture not in ("llama", "gemma3"):
            raise ValueError(f"{path}: architecture {self.architecture!r} has no oracle")
        gemma = self.architecture == "gemma3"
        self.width = int(gguf.get("embedding_length"))
        self.heads = int(gguf.get("attention.head_count"))
        self.kv_heads = int(gguf.get("attention.head_count_kv", self.heads))
        self.head_dim = int(gguf.get("attention.key_length", self.width // self.heads))
        self.eps = float(gguf.get("attention.layer_norm_rms_epsilon"))
        self.rotated = int(gguf.get("rope.dimension_count", self.head_dim))
        self.interleaved = not gemma
        # Gemma 3 27B scales by another number than the head size; no test model does.
        self.scale = self.head_dim**-0.5
        if "rope_freqs.weight" in gguf.tensors or gguf.get("rope.scaling.type") is not None:
            raise ValueError(f"{path}: scaled rotary embedding has no oracle")
        base = float(gguf.get("rope.freq_base", 10_000.0))
        window = int(gguf.get("attention.sliding_window", 0)) if gemma else 0

        def load(name: str) -> Array:
            return gguf.tensors[name].dequantized().astype(self.dtype, copy=False)

        self.embedding = load("token_embd.weight")
        self.head = load("output.weight") if "output.weight" in gguf.tensors else self.embedding
        self.output_norm = load("output_norm.weight")
        self.vocab = self.embedding.shape[0]
        self.layers: list[_Layer] = []
        for i in range(int(gguf.get("block_count"))):
            prefix = f"blk.{i}."
            weights = {
                name[len(prefix) : -len(".weight")]: load(name)
                for name in gguf.tensors
                if name.startswith(prefix)
            }
            local = gemma and i % _GEMMA3_PERIOD < _GEMMA3_PERIOD - 1
            self.layers.append(
                _Layer(weights, window if local else 0, _GEMMA3_LOCAL_ROPE_BASE if local else base)
            )

    def logits(self, ids: Sequence[int], positions: Sequence[int] | None = None) -> Array:
        """Full-sequence causal forward: (len(ids), vocab), or the rows `positions` of it only."""
        hidden = self.hidden(ids, KvCache())
        if positions is not None:
            hidden = hidden[np.asarray(positions)]
        return self._logits_of(hidden)

    def hidden(self, ids: Sequence[int], cache: KvCache) -> Array:
        """States after the last layer, before the output norm: (len(ids), width).

        Appends the tokens to `cache`, behind what it holds.
        """
        x = self.embedding[np.asarray(ids, dtype=np.int64)]
        if self.architecture == "gemma3":
            # llama.cpp and the model's reference code multiply by the root rounded to float32.
            x = x * self.dtype.type(np.float32(np.sqrt(self.width)))
        start = cache.tokens
        positions = np.arange(start, start + len(ids))
        for i, layer in enumerate(self.layers):
            x = self._layer(x, layer, i, positions, cache)
        cache.tokens = start + len(ids)
        return x

    def generate_greedy(
        self, prompt_ids: Sequence[int], n: int, stop_ids: Sequence[int] = ()
    ) -> Greedy:
        """`n` tokens after the prompt, the best logit each (lowest id on a tie), with a KV cache.

        Ends early after a token of `stop_ids`, which is part of the result.
        """
        cache = KvCache()
        ids: list[int] = []
        margins: list[float] = []
        row = self._logits_of(self.hidden(prompt_ids, cache)[-1:])[0]
        while True:
            best = int(np.argmax(row))
            second, first = np.partition(row, -2)[-2:]
            ids.append(best)
            margins.append(float(first - second))
            if len(ids) == n or best in stop_ids:
                return Greedy(ids, margins)
            row = self._logits_of(self.hidden([best], cache)[-1:])[0]

    def _logits_of(self, hidden: Array) -> Array:
        result: Array = self._norm(hidden, self.output_norm) @ self.head.T
        return result

    def _layer(
        self, x: Array, layer: _Layer, index: int, positions: Array, cache: KvCache
    ) -> Array:
        w = layer.weights
        attended = self._attention(self._norm(x, w["attn_norm"]), layer, index, positions, cache)
        if self.architecture == "gemma3":
            attended = self._norm(attended, w["post_attention_norm"])
        x = x + attended
        h = self._norm(x, w["ffn_norm"])
        gate = h @ w["ffn_gate"].T
        gate = _gelu_tanh(gate) if self.architecture == "gemma3" else _silu(gate)
        h = (gate * (h @ w["ffn_up"].T)) @ w["ffn_down"].T
        if self.architecture == "gemma3":
            h = self._norm(h, w["post_ffw_norm"])
        return x + h

    def _attention(
        self, h: Array, layer: _Layer, index: int, positions: Array, cache: KvCache
    ) -> Array:
        w = layer.weights
        n = h.shape[0]
        q = (h @ w["attn_q"].T).reshape(n, self.heads, self.head_dim)
        k = (h @ w["attn_k"].T).reshape(n, self.kv_heads, self.head_dim)
        v = (h @ w["attn_v"].T).reshape(n, self.kv_heads, -1)
        if self.architecture == "gemma3":
            q = self._norm(q, w["attn_q_norm"])
            k = self._norm(k, w["attn_k_norm"])
        q = self._rope(q, positions, layer.rope_base)
        k = self._rope(k, positions, layer.rope_base)
        if len(cache.keys) == index:
            cache.keys.append(k)
            cache.values.append(v)
        else:
            cache.keys[index] = np.concatenate([cache.keys[index], k])
            cache.values[index] = np.concatenate([cache.values[index], v])
        keys, values = cache.keys[index], cache.values[index]
        at = np.arange(keys.shape[0])
        allowed = at[None, :] <= positions[:, None]
        if layer.window > 0:
            allowed &= at[None, :] > positions[:, None] - layer.window
        group = self.heads // self.kv_heads
        out = np.empty((n, self.heads, values.shape[2]), dtype=self.dtype)
        for head in range(self.heads):
            scores = (q[:, head] @ keys[:, head // group].T) * self.dtype.type(self.scale)
            scores = np.where(allowed, scores, self.dtype.type(-np.inf))
            p = np.exp(scores - scores.max(axis=1, keepdims=True))
            out[:, head] = (p / p.sum(axis=1, keepdims=True)) @ values[:, head // group]
        result: Array = out.reshape(n, -1) @ w["attn_output"].T
        return result

    def _norm(self, x: Array, weight: Array) -> Array:
        mean_square = np.mean(np.square(x), axis=-1, keepdims=True)
        normed: Array = x / np.sqrt(mean_square + self.dtype.type(self.eps)) * weight
        return normed

    def _rope(self, x: Array, positions: Array, base: float) -> Array:
        """Rotate the first `rotated` elements of each head of x, (tokens, heads, head_dim)."""
        half = self.rotated // 2
        # Angles in float64: position times frequency loses the fraction in float32.
        angle = positions[:, None] * base ** (-np.arange(half) / half)
        cos = np.cos(angle).astype(self.dtype)[:, None, :]
        sin = np.sin(angle).astype(self.dtype)[:, None, :]
        out: Array = x.copy()
        if self.interleaved:
            first, second = slice(0, self.rotated, 2), slice(1, self.rotated, 2)
        else:
            first, second = slice(0, half), slice(half, self.rotated)
        a, b = x[..., first], x[..., second]
        out[..., first] = a * cos - b * sin
        out[..., second] = a * sin + b * cos
        return out


def _silu(x: Array) -> Array:
    with np.errstate(over="ignore"):  # exp(-x) = inf gives the right limit, -0
        result: Array = x / (1 + np.exp(-x))
    return result


def _gelu_tanh(x: Array) -> Array:
    inner = np.sqrt(x.dtype.type(2 / np.pi)) * (x + x.dtype.type(0.044715) * x * x * x)
    result: Array = x.dtype.type(0.5) * x * (1 + np.tanh(inner))
    return result
