"""``bessemer generate``."""

from __future__ import annotations

import click

from bessemer.cli.options import model_options, peak_rss_bytes, print_json, sampling_options


@click.command("generate")
@click.argument("model")
@click.argument("prompt")
@sampling_options
@model_options
@click.option("--stop", multiple=True, help="Stop at this text; may be given several times.")
@click.option("--chat", "as_chat", is_flag=True, help="Take the prompt as a user's chat message.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document at the end.")
def command(
    model: str,
    prompt: str,
    max_tokens: int,
    temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
    seed: int | None,
    precision: str,
    threads: int | None,
    device: str,
    context: int | None,
    stop: tuple[str, ...],
    as_chat: bool,
    as_json: bool,
) -> None:
    """Continue PROMPT with MODEL: a .gguf file, or a model that an installed package carries."""
    from bessemer import models

    lm = models.load(model, device=device, precision=precision, threads=threads, context=context)
    generation = lm.generate(
        [{"role": "user", "content": prompt}] if as_chat else prompt,
        max_tokens,
        temperature,
        top_k,
        top_p,
        min_p,
        seed,
        stop,
    )
    for piece in generation:
        if not as_json:
            click.echo(piece, nl=False)
    if not as_json:
        click.echo()
        return
    memory = lm.memory
    print_json(
        {
            "prompt_ids": generation.prompt_ids,
            "ids": generation.ids,
            "text": generation.text,
            "finish_reason": generation.finish_reason,
            "timings": {
                "load_s": lm.load_seconds,
                "compile_s": lm.compile_seconds,
                "prefill_tok_s": generation.prefill_tokens_per_second,
                "decode_tok_s": generation.decode_tokens_per_second,
            },
            "memory": {
                "weights": memory["weights"],
                "states": memory["states"],
                "arena": memory["arena"],
                "arena_bound": memory["arena_bound"],
                "peak_rss": peak_rss_bytes(),
            },
        }
    )
