"""`reasongym tasks`: what there is to train and evaluate on."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import click

from reasongym.cli.task_settings import parse_settings

if TYPE_CHECKING:
    from reasongym.tasks import Example, Task

__all__ = ["command"]


@click.command("tasks")
@click.argument("name", required=False)
@click.option("--samples", default=3, show_default=True, type=click.IntRange(min=1), help="How many rows to show.")
@click.option("--seed", default=0, show_default=True, help="Seed of a generator; a data set ignores it.")
@click.option("--split", default="train", show_default=True, help="Which split to show rows of.")
@click.option("--data", help="File or folder of rows, instead of the task's own source.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the task; VALUE is YAML.")
def command(name: str | None, samples: int, seed: int, split: str, data: str | None, settings: tuple[str, ...]) -> None:
    """List the tasks, or show samples of one. Listing fetches nothing.

    \b
    reasongym tasks
    reasongym tasks arithmetic --samples 5
    reasongym tasks word_problems --set levels=[4,6] --split test
    reasongym tasks gsm8k --data path/to/folder
    reasongym tasks my_task.py:make
    """
    if name is None and settings:
        raise click.UsageError("--set is of one task: name it, as in reasongym tasks arithmetic --set levels=3")
    if name is None:
        _print_table(data)
        return
    from reasongym import registry
    from reasongym.tasks import TaskOptions

    task = registry.task(name, TaskOptions(data=data, settings=parse_settings(settings)))
    size = task.size(split)
    rows = "endless" if size is None else f"{size} rows"
    click.echo(f"{task.name}: {task.description}\nsplit {split}: {rows}, from {task.provenance().get('source', '?')}")
    for index in range(samples if size is None else min(samples, size)):
        _print_sample(task.example(split, index, seed=seed))


def _print_sample(example: Example) -> None:
    click.echo(f"\n--- {example.id}")
    for turn in example.messages:
        click.echo(f"[{turn['role']}]\n{turn['content']}")
    click.echo(f"[reference] {example.reference}")
    if example.solution is not None:
        click.echo(f"[solution]\n{example.solution}")


def _print_table(data: str | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from reasongym.tasks import TaskOptions

    table = Table("task", "description", "splits", "rows from", "reward parts")
    for name, task in _listed():
        if task is None:
            table.add_row(name, "(made by a factory that does not say)", "", "", "")
            continue
        parts = "\n".join(f"{part.name} {part.weight:g} ({part.verifier})" for part in task.rewards)
        table.add_row(name, task.description, ", ".join(task.splits), task.rows_from(TaskOptions(data=data)), parts)
    Console().print(table)


def _listed() -> Iterator[tuple[str, type[Task] | None]]:
    """Each task's name and class, without making one: making one may read or download its rows."""
    from reasongym import registry
    from reasongym.tasks import Task

    entries = {entry.name: entry for entry in entry_points(group="reasongym.tasks")}
    for name in registry.task_names():
        if name in registry.BUILT_IN_TASKS:
            module, _, attribute = registry.BUILT_IN_TASKS[name].partition(":")
            maker = getattr(importlib.import_module(module), attribute)
        else:
            maker = entries[name].load()
        described = maker if isinstance(maker, type) else getattr(maker, "describes", None)
        yield name, described if isinstance(described, type) and issubclass(described, Task) else None
