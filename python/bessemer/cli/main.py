"""Entry point and what all commands share: errors in one line, quiet pipes, clean interrupts."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from bessemer._core import __version__
from bessemer.errors import Error

_COMMANDS = {
    "generate": ("bessemer.cli.generate", "Continue a prompt."),
    "chat": ("bessemer.cli.chat", "Talk with a model in the terminal."),
    "bench": ("bessemer.cli.bench", "Measure prefill and decode speed."),
    "inspect": ("bessemer.cli.inspect", "Show graph, fusion, schedule and memory plan."),
    "doctor": ("bessemer.cli.doctor", "Check every kernel family on this machine."),
    "plan": ("bessemer.cli.plan", "Solve a static memory allocation problem."),
}


class _Commands(click.Group):
    """Imports a command's module only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        import importlib

        command: click.Command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bessemer")
def cli() -> None:
    """An ML graph compiler and runtime for Apple GPUs, complete on Linux CPUs."""


def main(args: list[str] | None = None) -> Any:
    """Runs the command line and exits: 0 done, 1 failed, 2 bad input, 130 interrupted."""
    try:
        code = cli.main(args=args, prog_name="bessemer", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except BrokenPipeError:
        # Whoever read our output has gone; say nothing, and keep the interpreter's exit quiet too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except Error as error:
        click.echo(f"bessemer: {error.kind}: {error}", err=True)
        code = 2 if isinstance(error, ValueError) else 1
    sys.exit(code if isinstance(code, int) else 0)
