"""The `reasongym` command: one file a command, loaded when it is called, so that `--help` needs no torch."""

from __future__ import annotations

import importlib
import sys

import click

from reasongym import __version__
from reasongym.errors import ReasongymError, nearest

__all__ = ["main"]

COMMANDS = {  # name -> one line, as `reasongym --help` shows it; each stands in cli/<name>.py as `command`
    "algorithms": "List the algorithms, and what tells them apart.",
    "check": "Check tasks and verifiers against wrong, deceiving and hostile answers.",
    "compare": "Compare two results: a paired test, and the rows on which they differ.",
    "contamination": "Look for evaluation rows in training data.",
    "doctor": "Say what runs on this machine and what is missing.",
    "engines": "Say which engines a run has that goes on; add some, or remove some.",
    "eval": "Evaluate a model on held-out rows of a task.",
    "leaderboard": "Rank results: tables, a site, a store that groups share.",
    "new": "Write a verifier or a task of your own from a template, with its test.",
    "pairs": "Make pairs, labels or solutions to learn from of a run's answers.",
    "plan": "Say what a run would need, and whether it fits, before anything starts.",
    "report": "Write a run's report: one HTML page, and its reward curve as a picture.",
    "rescore": "Verify the answers of a result again with today's verifier.",
    "runs": "Show training runs side by side: a table, curves, answers; as files or live.",
    "sandbox": "Run untrusted code behind walls, and say what those are on this machine.",
    "tasks": "List the tasks, or show samples of one.",
    "train": "Train a model on a task by reinforcement learning.",
    "verify": "Check answers in a JSONL file with a verifier.",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"reasongym.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}.{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in sorted(COMMANDS)])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reasongym")
def cli() -> None:
    """Train language models on rewards a program can check, and rank them by the same checks.

    \b
    reasongym train --task gsm8k
    reasongym verify --verifier gsm8k --input answers.jsonl
    reasongym tasks gsm8k
    """


def main() -> None:
    """Entry point. A ReasongymError becomes its message on standard error and its own exit status."""
    try:
        cli(prog_name="reasongym")
    except ReasongymError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_status)
