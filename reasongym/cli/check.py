"""`reasongym check`: whether tasks and verifiers can be trusted with a reward."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reasongym.cli.task_settings import parse_settings
from reasongym.errors import UserError

if TYPE_CHECKING:
    from reasongym.checking import Fits, Plan, Report, Skipped
    from reasongym.tasks import Example

__all__ = ["command", "failed"]

CHARS_PER_TOKEN = 4
SHOWN_FAILURES = 3


@click.command()
@click.option("--task", "tasks", multiple=True, metavar="NAME", help="A task's name, or path/to/file.py:name; may be "
              "repeated.  [default: every task whose rows are on this machine]")
@click.option("--verifier", metavar="NAME", help="A verifier's name, or path/to/file.py:name, with --input.")
@click.option("--input", "source", type=click.Path(path_type=Path), metavar="FILE",
              help="Cases for --verifier: JSONL with `response`, `reference` and, where known, `expected`.")
@click.option("--rows", default=8, show_default=True, type=click.IntRange(min=1), metavar="N",
              help="Rows of each split, or references of the cases, that answers are tried on.")
@click.option("--seed", default=0, show_default=True, help="Seed of generators.")
@click.option("--data", help="File or folder of rows for the one --task.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="A setting of the one --task; VALUE is YAML.")
@click.option("--model", help="Count tokens with this model's tokenizer: a folder, hub id, or smollm2-135m.")
@click.option("--max-prompt-tokens", default=2048, show_default=True, type=click.IntRange(min=1), metavar="N",
              help="Longest prompt that fits; without --model a token is taken as 4 characters.")
@click.option("--floor", default=0.0, show_default=True, type=click.FloatRange(0, 1, max_open=True), metavar="S",
              help="The most that the first reward part may give a wrong answer.")
@click.option("--timeout", "timeout_s", default=10.0, show_default=True, metavar="S",
              help="Seconds one answer may take.")
@click.option("--memory-mb", "memory_mib", default=1024, type=click.IntRange(min=1), show_default=True, metavar="M",
              help="MiB a worker may take beyond what it holds when its verifiers are loaded.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a task or verifier instead of tables.")
def command(**options: Any) -> None:
    """Check tasks and verifiers against wrong, deceiving and hostile answers.

    A right answer must earn 1; empty, degenerate and deceiving ones the floor; hostile ones must get a verdict in
    time; every verdict must repeat in another process; rows must follow their address, and splits stay apart.
    Exit status: 0 if all holds, 1 on any failure, 2 if the request cannot be carried out.

    \b
    reasongym check
    reasongym check --task arithmetic --set levels=[1,5] --rows 20
    reasongym check --task gsm8k --data path/to/folder --model smollm2-135m
    reasongym check --task my_task.py:Backwards --json
    reasongym check --verifier my_rules.py:even_number --input cases.jsonl
    """
    _refuse_misuse(options)
    results: list[tuple[Report | Skipped, float]] = []
    started = time.monotonic()
    for result in _verifier(options) if options["verifier"] else _tasks(options):
        results.append((result, time.monotonic() - started))
        started = time.monotonic()
        if options["as_json"]:
            click.echo(json.dumps(_record(result)))
        else:
            _print_failures(result)
    if not options["as_json"]:
        _print_table(results)
    sys.exit(1 if any(failed(result) for result, _ in results) else 0)


def _refuse_misuse(options: dict[str, Any]) -> None:
    of_one_task = [name for name in ("data", "settings") if options[name]]
    if bool(options["verifier"]) != bool(options["source"]):
        raise click.UsageError("--verifier and --input belong together")
    if options["verifier"] and (options["tasks"] or of_one_task or options["model"]):
        raise click.UsageError("--verifier takes its rows from --input: leave out --task, --data, --set and --model")
    if of_one_task and len(options["tasks"]) != 1:
        raise click.UsageError("--data and --set are of one task: name it with --task")


def _verifier(options: dict[str, Any]) -> Iterator[Report]:
    from reasongym.checking import check_verifier, read_cases

    cases = read_cases(options["source"])
    yield check_verifier(options["verifier"], cases, _plan(options, options["verifier"]))


def _tasks(options: dict[str, Any]) -> Iterator[Report | Skipped]:
    """A task that was named must be there; of all tasks those are passed over whose rows are not."""
    from reasongym import registry
    from reasongym.checking import Skipped, check_task
    from reasongym.tasks import TaskOptions

    if not options["tasks"]:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    fits = _fits(options)
    of_task = TaskOptions(data=options["data"], settings=parse_settings(options["settings"]))
    for name in options["tasks"] or registry.task_names():
        if name.endswith(":<name>") and not options["tasks"]:
            yield Skipped(name, "a family of tasks: name those that you want with --task")
            continue
        click.echo(f"checking {name}", err=True)
        try:
            yield check_task(name, of_task, _plan(options, name), fits)
        except UserError as error:
            if options["tasks"]:
                raise
            lines = str(error).splitlines()
            yield Skipped(name, "; ".join(" ".join(line.split()) for line in dict.fromkeys((lines[0], lines[-1]))))


def _plan(options: dict[str, Any], subject: str) -> Plan:
    from reasongym.checking import Limits, Plan

    def watch(done: int, of: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{subject}: {done} of {of} answers{'' if done < of else chr(10)}", err=True, nl=False)
        elif done == of:
            click.echo(f"{subject}: {done} answers", err=True)

    return Plan(options["rows"], options["seed"], options["floor"],
                Limits(options["timeout_s"], options["memory_mib"]), watch)


def _fits(options: dict[str, Any]) -> Fits:
    from reasongym.checking import Length

    limit = options["max_prompt_tokens"]
    if options["model"] is None:
        return lambda row: Length(sum(len(turn["content"]) for turn in row.messages), CHARS_PER_TOKEN * limit,
                                  "characters")
    from reasongym.models import load_tokenizer, model_folder
    from reasongym.rollout.prompts import encode

    tokenizer = load_tokenizer(model_folder(options["model"]))

    def in_tokens(row: Example) -> Length:
        return Length(len(encode(row, tokenizer).token_ids), limit, "tokens")

    return in_tokens


def failed(result: Report | Skipped) -> bool:
    return bool(getattr(result, "failures", ()))


def _record(result: Report | Skipped) -> dict[str, object]:
    from reasongym.checking import Skipped

    if isinstance(result, Skipped):
        return {"subject": result.subject, "result": "skipped", "why": result.why}
    return {"subject": result.subject, "result": "failed" if result.failures else "passed", "floors": result.floors,
            "rows": result.num_rows, "answers": result.num_answers, "looked_at": dict(result.looked_at),
            "failures": [failure._asdict() for failure in result.failures], "notes": result.notes}


def _print_failures(result: Report | Skipped) -> None:
    """The first of each check; the rest is counted, for one mistake may fail on every row."""
    from reasongym.checking import CHECKS, Skipped

    if isinstance(result, Skipped):
        return
    for check, count in result.failed.items():
        click.echo(f"{result.subject}: {check} failed {count} of {result.looked_at[check]} times: not so that "
                   f"{CHECKS[check]}")
        for failure in [one for one in result.failures if one.check == check][:SHOWN_FAILURES]:
            told = {"row": failure.row, "answer": failure.answer, "got": failure.got, "expected": failure.expected}
            click.echo("\n".join(f"    {name + ':':<10}{text}" for name, text in told.items() if text) + "\n")
    for note in result.notes:
        click.echo(f"{result.subject}: note: {note}")


def _print_table(results: Sequence[tuple[Report | Skipped, float]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from reasongym.checking import Skipped

    table = Table("checked", "rows", "answers", "floor", "result", "seconds")
    for result, seconds in results:
        if isinstance(result, Skipped):
            continue
        failed = ", ".join(f"{check} ({count})" for check, count in result.failed.items())
        told = Text(f"failed: {failed}", "red") if failed else Text(f"{len(result.looked_at)} checks passed", "green")
        floors = "\n".join(f"{part}: {floor}" for part, floor in result.floors.items())
        table.add_row(result.subject, str(result.num_rows), str(result.num_answers), floors, told, f"{seconds:.1f}")
    Console().print(table)
    for result, _ in results:
        if isinstance(result, Skipped):
            click.echo(f"skipped {result.subject}: {result.why}")
