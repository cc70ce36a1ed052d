"""Compares the cost model with published decode rates: a 7B Llama in Q4_0, by llama.cpp and chip.

The graph is ours, with the sizes of Llama 2 7B; no weights are needed. The published rates are
llama.cpp's (its discussion 4167 and later reports): tokens/s of text generation, one sequence at
an empty context. What a runtime does beside streaming weights differs, so the error tells how far
the constants of the model carry, not whose kernels are better.

    python tests/bench/bench_cost_model.py [--json]
"""

from __future__ import annotations

import argparse
import json

import bessemer as bs
from bessemer.models.decoder import DecoderConfig, DecoderLimits, TensorInfo, build_decoder

# chip: tokens/s
PUBLISHED = {
    "m1-pro": 35.5,
    "m1-max": 61.2,
    "m1-ultra": 83.7,
    "m2-ultra": 94.3,
    "m3-pro": 30.7,
    "m3-ultra": 92.1,
    "m4-pro": 50.7,
    "m4-max": 83.1,
    "m5-max": 119.0,
}
# chip: share of the memory's bandwidth that MLX's decode of a 9B model in 4 bits reaches.
PUBLISHED_SHARE = {"m4-pro": 0.82, "m3-ultra": 0.63}
LAYERS, EMBEDDING, FEED_FORWARD, HEADS, VOCABULARY = 32, 4096, 11008, 32, 32000


def llama_7b() -> bs.Graph:
    """Llama 2 7B as a graph, weights in Q4_0 and the head in Q6_K."""
    tensors = {
        "token_embd.weight": TensorInfo("q4_0", (VOCABULARY, EMBEDDING)),
        "output_norm.weight": TensorInfo("f32", (EMBEDDING,)),
        "output.weight": TensorInfo("q6_k", (VOCABULARY, EMBEDDING)),
    }
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"{at}{name}.weight"] = TensorInfo("f32", (EMBEDDING,))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors[f"{at}{name}.weight"] = TensorInfo("q4_0", (EMBEDDING, EMBEDDING))
        for name in ("ffn_gate", "ffn_up"):
            tensors[f"{at}{name}.weight"] = TensorInfo("q4_0", (FEED_FORWARD, EMBEDDING))
        tensors[f"{at}ffn_down.weight"] = TensorInfo("q4_0", (EMBEDDING, FEED_FORWARD))
    config = DecoderConfig(
        architecture="llama",
        layers=LAYERS,
        embedding=EMBEDDING,
        feed_forward=FEED_FORWARD,
        heads=HEADS,
        kv_heads=HEADS,
        head_dim=EMBEDDING // HEADS,
        value_dim=EMBEDDING // HEADS,
        vocabulary=VOCABULARY,
        context=4096,
        norm_epsilon=1e-5,
        n_rot=EMBEDDING // HEADS,
        rope_base=10000.0,
        rope_scale=1.0,
        rope_interleaved=True,
        local_rope_base=10000.0,
        window=0,
        attention_scale=(EMBEDDING // HEADS) ** -0.5,
        embedding_scale=1.0,
        activation="silu",
        logit_softcap=0.0,
    )
    return build_decoder(config, DecoderLimits(1, 1, 1, 4096), tensors, "f16")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    graph = llama_7b()
    rows = []
    for chip, published in PUBLISHED.items():
        exe = bs.compile(graph, f"modelled:{chip}")
        # Text generation is measured over the first 128 tokens.
        times = exe.plan.modelled(chip, context=64)
        rate = 1 / times["seconds"]
        share = times["bytes"] / times["bandwidth_bytes_s"] * rate
        rows.append(
            {
                "chip": chip,
                "published_tok_s": published,
                "modelled_tok_s": round(rate, 1),
                "error": round(rate / published - 1, 3),
                "modelled_share": round(share, 3),
                "mlx_share": PUBLISHED_SHARE.get(chip),
                "dispatches": times["dispatches"],
                "barriers": times["barriers"],
            }
        )
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'chip':10} {'published':>10} {'modelled':>10} {'error':>8}   (tokens/s)")
    for row in rows:
        print(
            f"{row['chip']:10} {row['published_tok_s']:>10.1f} {row['modelled_tok_s']:>10.1f} "
            f"{row['error']:>+8.0%}"
        )
    for row in rows:
        if row["mlx_share"] is not None:
            print(
                f"{row['chip']}: {row['modelled_share']:.0%} of the memory limit modelled; "
                f"MLX's published decode reaches {row['mlx_share']:.0%}"
            )


if __name__ == "__main__":
    main()
