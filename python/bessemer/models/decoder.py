"""Decoder-only transformers as graphs: the architectures ``llama`` and ``gemma3`` of GGUF files.

The layouts of tensors and the names of metadata keys follow the GGUF specification; the models
themselves: Touvron et al. 2023 (Llama) and the Gemma 3 report (2025).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import bessemer as bs
from bessemer.errors import ParseError, ShapeError, UnsupportedError
from bessemer.graph import Graph, Tensor


@dataclass(frozen=True)
class TensorInfo:
    """What a weight file says of one tensor: dtype name and row-major shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class DecoderConfig:
    """Hyperparameters of one model, all read from its file."""

    architecture: str
    layers: int
    embedding: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    vocabulary: int
    context: int
    norm_epsilon: float
    n_rot: int
    rope_base: float
    rope_scale: float
    rope_interleaved: bool
    local_rope_base: float
    window: int  # 0: every layer sees everything
    attention_scale: float
    embedding_scale: float
    activation: str
    logit_softcap: float

    def is_local(self, layer: int) -> bool:
        """Whether the layer sees only a sliding window: five of six in Gemma 3."""
        return self.window > 0 and layer % 6 != 5


class _Metadata:
    """Typed reads of the keys of one architecture; a missing or odd one is a ParseError."""

    def __init__(self, metadata: Mapping[str, Any], architecture: str) -> None:
        self._metadata = metadata
        self._prefix = architecture + "."

    def integer(self, key: str, otherwise: int | None = None, *, low: int = 1) -> int:
        value = self._metadata.get(self._prefix + key, otherwise)
        if value is None:
            raise ParseError(f"the file lacks `{self._prefix}{key}`")
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**31:
            raise ParseError(f"`{self._prefix}{key}` should be a size, got {str(value)[:40]!r}")
        return value

    def number(self, key: str, otherwise: float | None = None) -> float:
        value = self._metadata.get(self._prefix + key, otherwise)
        if value is None:
            raise ParseError(f"the file lacks `{self._prefix}{key}`")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
            raise ParseError(f"`{self._prefix}{key}` should be a number, got {str(value)[:40]!r}")
        return float(value)

    def text(self, key: str, otherwise: str) -> str:
        return str(self._metadata.get(self._prefix + key, otherwise))


def read_config(metadata: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> DecoderConfig:
    """The configuration that a file's metadata describes.

    Raises:
        UnsupportedError: an architecture or feature that is not known, named.
        ParseError: a missing or malformed key, named.
    """
    architecture = metadata.get("general.architecture")
    if not isinstance(architecture, str):
        raise ParseError("the file lacks `general.architecture`")
    if architecture not in ("llama", "gemma3"):
        raise UnsupportedError(
            f"architecture `{architecture[:40]}` is not known; there are llama, gemma3"
        )
    m = _Metadata(metadata, architecture)
    if m.integer("expert_count", 0, low=0) > 0:
        raise UnsupportedError("mixture-of-experts models are not supported")
    gemma = architecture == "gemma3"
    layers = m.integer("block_count")
    embedding = m.integer("embedding_length")
    heads = m.integer("attention.head_count")
    head_dim = m.integer("attention.key_length", embedding // heads)
    scaling = m.text("rope.scaling.type", "none")
    if scaling not in ("none", "linear"):
        raise UnsupportedError(f"rope scaling `{scaling[:40]}` is not supported")
    factor = m.number("rope.scaling.factor", 1.0) if scaling == "linear" else 1.0
    if factor <= 0:
        raise ParseError(f"`{architecture}.rope.scaling.factor` must be above 0, got {factor}")
    if "token_embd.weight" not in tensors:
        raise ParseError("the file lacks the tensor `token_embd.weight`")
    # The 27B Gemma 3 is the one whose queries are scaled by the embedding, not the head.
    query_dim = embedding // heads if gemma and layers == 62 else head_dim
    return DecoderConfig(
        architecture=architecture,
        layers=layers,
        embedding=embedding,
        feed_forward=m.integer("feed_forward_length"),
        heads=heads,
        kv_heads=m.integer("attention.head_count_kv", heads),
        head_dim=head_dim,
        value_dim=m.integer("attention.value_length", head_dim),
        vocabulary=tensors["token_embd.weight"].shape[0],
        context=m.integer("context_length"),
        norm_epsilon=m.number("attention.layer_norm_rms_epsilon"),
        n_rot=m.integer("rope.dimension_count", head_dim),
        rope_base=m.number("rope.freq_base", 10000.0),
        rope_scale=1.0 / factor,
        rope_interleaved=not gemma,
        local_rope_base=m.number("rope.freq_base_swa", 10000.0),
        window=m.integer("attention.sliding_window", 0, low=0) if gemma else 0,
        attention_scale=query_dim**-0.5,
        embedding_scale=embedding**0.5 if gemma else 1.0,
        activation="gelu_tanh" if gemma else "silu",
        logit_softcap=m.number("final_logit_softcapping", 0.0),
    )


@dataclass(frozen=True)
class DecoderLimits:
    """Bounds of a decoder graph: tokens and logit rows of one run, sequences and their context."""

    tokens: int
    rows: int
    sequences: int
    context: int


def build_decoder(
    config: DecoderConfig,
    limits: DecoderLimits,
    tensors: Mapping[str, TensorInfo],
    kv_dtype: str,
) -> Graph:
    """The decoder as a graph over a flat list of tokens.

    Inputs: ``ids``, ``seq``, ``pos`` i32[tokens] (each token, its sequence and its position) and
    ``rows`` i32[rows] (which tokens get logits). Output: ``logits`` f32[rows, vocabulary].
    States: ``k0``, ``v0``, ... [sequences, context, kv_heads, head_dim].

    Raises:
        ParseError, ShapeError: a tensor that is missing or has another shape, named.
    """
    return _Builder(config, limits, tensors, kv_dtype).build()


class _Builder:
    def __init__(
        self,
        config: DecoderConfig,
        limits: DecoderLimits,
        tensors: Mapping[str, TensorInfo],
        kv_dtype: str,
    ) -> None:
        self.c = config
        self.limits = limits
        self.tensors = tensors
        self.kv_dtype = kv_dtype
        self.g = Graph(config.architecture)
        self.activation: Callable[[Tensor], Tensor] = getattr(bs, config.activation)

    def param(self, name: str, *shape: int) -> Tensor:
        info = self.tensors.get(name)
        if info is None:
            raise ParseError(f"the file lacks the tensor `{name}`")
        if info.shape != shape:
            raise ShapeError(
                f"tensor `{name}` should be {list(shape)}, the file has {list(info.shape)}"
            )
        return self.g.param(name, shape, info.dtype)

    def linear(self, x: Tensor, name: str, n: int, k: int) -> Tensor:
        y = bs.matmul(x, self.param(name + ".weight", n, k), transpose_b=True)
        if name + ".bias" in self.tensors:
            y = y + self.param(name + ".bias", n)
        return y

    def norm(self, x: Tensor, name: str, size: int) -> Tensor:
        return bs.rms_norm(x, self.param(name + ".weight", size), self.c.norm_epsilon)

    def build(self) -> Graph:
        c, g = self.c, self.g
        tokens = bs.Extent("tokens", max=self.limits.tokens)
        self.ids = g.input("ids", (tokens,), bs.i32)
        self.seq = g.input("seq", (tokens,), bs.i32)
        self.pos = g.input("pos", (tokens,), bs.i32)
        rows = g.input("rows", (bs.Extent("rows", max=self.limits.rows),), bs.i32)
        self.factors = None
        if "rope_freqs.weight" in self.tensors:
            self.factors = self.param("rope_freqs.weight", c.n_rot // 2)
        table = self.param("token_embd.weight", c.vocabulary, c.embedding)
        x = bs.embedding(table, self.ids)
        if c.embedding_scale != 1.0:
            x = x * c.embedding_scale
        for layer in range(c.layers):
            x = self.attention(x, layer)
            x = self.feed_forward(x, layer)
        x = bs.gather(x, rows)
        x = self.norm(x, "output_norm", c.embedding)
        head = table
        if "output.weight" in self.tensors:
            head = self.param("output.weight", c.vocabulary, c.embedding)
        logits = bs.matmul(x, head, transpose_b=True)
        if c.logit_softcap > 0:
            logits = bs.tanh(logits / c.logit_softcap) * c.logit_softcap
        g.output("logits", logits)
        return g

    def attention(self, x: Tensor, layer: int) -> Tensor:
        c, g = self.c, self.g
        at = f"blk.{layer}."
        h = self.norm(x, at + "attn_norm", c.embedding)
        q = self.linear(h, at + "attn_q", c.heads * c.head_dim, c.embedding)
        k = self.linear(h, at + "attn_k", c.kv_heads * c.head_dim, c.embedding)
        v = self.linear(h, at + "attn_v", c.kv_heads * c.value_dim, c.embedding)
        q = bs.reshape(q, (-1, c.heads, c.head_dim))
        k = bs.reshape(k, (-1, c.kv_heads, c.head_dim))
        v = bs.reshape(v, (-1, c.kv_heads, c.value_dim))
        if at + "attn_q_norm.weight" in self.tensors:
            q = self.norm(q, at + "attn_q_norm", c.head_dim)
            k = self.norm(k, at + "attn_k_norm", c.head_dim)
        local = c.is_local(layer)
        base = c.local_rope_base if local else c.rope_base
        scale = 1.0 if local else c.rope_scale

        def rotate(t: Tensor) -> Tensor:
            return bs.rope(
                t,
                self.pos,
                self.factors,
                base=base,
                scale=scale,
                n_rot=c.n_rot,
                interleaved=c.rope_interleaved,
            )

        limits = self.limits
        k_state = g.state(
            f"k{layer}", (limits.sequences, limits.context, c.kv_heads, c.head_dim), self.kv_dtype
        )
        v_state = g.state(
            f"v{layer}", (limits.sequences, limits.context, c.kv_heads, c.value_dim), self.kv_dtype
        )
        q = rotate(q)
        k_state = bs.scatter_rows(k_state, rotate(k), self.seq, self.pos)
        v_state = bs.scatter_rows(v_state, v, self.seq, self.pos)
        g.update(f"k{layer}", k_state)
        g.update(f"v{layer}", v_state)
        a = bs.attention(
            q,
            k_state,
            v_state,
            self.seq,
            self.pos,
            causal=True,
            window=c.window if local else None,
            scale=c.attention_scale,
        )
        a = bs.reshape(a, (-1, c.heads * c.value_dim))
        y = self.linear(a, at + "attn_output", c.embedding, c.heads * c.value_dim)
        if at + "post_attention_norm.weight" in self.tensors:
            y = self.norm(y, at + "post_attention_norm", c.embedding)
        return x + y

    def feed_forward(self, x: Tensor, layer: int) -> Tensor:
        c = self.c
        at = f"blk.{layer}."
        h = self.norm(x, at + "ffn_norm", c.embedding)
        gate = self.linear(h, at + "ffn_gate", c.feed_forward, c.embedding)
        up = self.linear(h, at + "ffn_up", c.feed_forward, c.embedding)
        y = self.linear(self.activation(gate) * up, at + "ffn_down", c.embedding, c.feed_forward)
        if at + "post_ffw_norm.weight" in self.tensors:
            y = self.norm(y, at + "post_ffw_norm", c.embedding)
        return x + y
