"""Oracle of attention over a flat list of tokens: one query row at a time, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .values import Array


def attention(
    q: Array,
    k: Array,
    v: Array,
    seq: Array,
    pos: Array,
    key_seq: Array,
    key_pos: Array,
    *,
    scale: float,
    causal: bool = True,
    window: int = 0,
    softcap: float = 0.0,
    mask: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """Attention without states: [tokens, heads, v_head_dim].

    q [tokens, heads, head_dim]; k [keys, kv_heads, head_dim]; v [keys, kv_heads, v_head_dim]; head
    h reads kv head ``h // (heads / kv_heads)``. Token t may attend to key j of the same sequence
    (``key_seq[j] == seq[t]``) if, where `causal`, ``key_pos[j] <= pos[t]``; and where
    ``window > 0``, ``key_pos[j] > pos[t] - window`` (not causal: ``|pos[t] - key_pos[j]| <
    window``); and ``mask[t, j]`` where there is a mask, bool [tokens, keys].

    The score is ``scale * q.k``, then ``softcap * tanh(score / softcap)`` if softcap > 0, plus
    `bias` [1 or heads, tokens, keys]. A row with no key to attend to, or only scores of -inf, gives
    zeros.
    """
    return _attend(
        q,
        lambda t: (k, v, key_pos, key_seq == seq[t]),
        pos,
        v.shape[-1],
        scale=scale,
        causal=causal,
        window=window,
        softcap=softcap,
        mask=mask,
        bias=bias,
    )


def attention_stateful(
    q: Array,
    k_state: Array,
    v_state: Array,
    seq: Array,
    pos: Array,
    *,
    scale: float,
    causal: bool = True,
    window: int = 0,
    softcap: float = 0.0,
    mask: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """Attention over KV states: [tokens, heads, v_head_dim].

    k_state [sequences, context, kv_heads, head_dim], v_state [..., v_head_dim]: row j of sequence s
    is the key at position j, and token t reads those of ``seq[t]``. `mask` is [tokens, context]
    and `bias` [1 or heads, tokens, context]. All else as `attention`.
    """
    rows = np.arange(k_state.shape[1])
    every = np.ones(k_state.shape[1], dtype=bool)
    return _attend(
        q,
        lambda t: (k_state[seq[t]], v_state[seq[t]], rows, every),
        pos,
        v_state.shape[-1],
        scale=scale,
        causal=causal,
        window=window,
        softcap=softcap,
        mask=mask,
        bias=bias,
    )


def _attend(
    q: Array,
    keys_of: Callable[[int], tuple[Array, Array, Array, Array]],
    pos: Array,
    v_head_dim: int,
    *,
    scale: float,
    causal: bool,
    window: int,
    softcap: float,
    mask: Array | None,
    bias: Array | None,
) -> Array:
    """`keys_of(token)` gives keys, values, key positions, and which keys are of its sequence."""
    tokens, heads, _ = q.shape
    out = np.zeros((tokens, heads, v_head_dim))
    for t in range(tokens):
        keys, values, key_pos, allowed = keys_of(t)
        distance = int(pos[t]) - key_pos.astype(np.int64)
        if causal:
            allowed = allowed & (distance >= 0)
        if window > 0:
            allowed = allowed & ((distance if causal else np.abs(distance)) < window)
        if mask is not None:
            allowed = allowed & mask[t]
        chosen = np.flatnonzero(allowed)
        for h in range(heads):
            kv_head = h // (heads // keys.shape[1])
            k = keys[chosen, kv_head].astype(np.float64)
            score = scale * (k @ q[t, h].astype(np.float64))
            if softcap > 0:
                score = softcap * np.tanh(score / softcap)
            if bias is not None:
                score = score + bias[h % bias.shape[0], t, chosen].astype(np.float64)
            if score.size == 0 or score.max() == -np.inf:
                continue
            p = np.exp(score - score.max())
            out[t, h] = (p / p.sum()) @ values[chosen, kv_head].astype(np.float64)
    return out
