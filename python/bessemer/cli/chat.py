"""``bessemer chat``."""

from __future__ import annotations

import sys

import click

from bessemer.cli.options import model_options, sampling_options


@click.command("chat")
@click.argument("model")
@sampling_options
@model_options
@click.option("--system", default=None, help="A system message.")
def command(
    model: str,
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
    system: str | None,
) -> None:
    """Talk with MODEL. Each line is a message; an empty line or Ctrl-D ends.

    Ctrl-C stops an answer, and ends the chat when there is none.
    """
    from bessemer import models

    lm = models.load(model, device=device, precision=precision, threads=threads, context=context)
    messages = [] if system is None else [{"role": "system", "content": system}]
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt)
        except EOFError:
            return
        if not line.strip():
            return
        messages.append({"role": "user", "content": line})
        answer = lm.generate(messages, max_tokens, temperature, top_k, top_p, min_p, seed)
        try:
            for piece in answer:
                click.echo(piece, nl=False)
        except KeyboardInterrupt:
            answer.close()
        click.echo()
        messages.append({"role": "assistant", "content": answer.text})
