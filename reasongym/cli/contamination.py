"""`reasongym contamination`: whether rows of an evaluation stand in training data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reasongym.evaluation.contamination.overlap import Compared

__all__ = ["command"]


@click.command("contamination")
@click.option("--train", "training", required=True, multiple=True, metavar="FILE|TASK[:SPLIT]",
              help="Training data: a .jsonl, .json, .parquet or .txt file, a folder of them, or a task (split train); "
                   "may be repeated.")
@click.option("--eval", "evaluation", required=True, metavar="TASK[:SPLIT]", help="Evaluation rows (split test).")
@click.option("--data", help="File or folder of the evaluation task's rows, instead of its default source.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the task; VALUE is YAML.")
@click.option("--limit", type=click.IntRange(min=1), help="Evaluation rows.  [default: all; 200 of a generator]")
@click.option("--rows", type=click.IntRange(min=1), default=10_000, show_default=True,
              help="Training rows of a generator.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of generators, and of --limit.")
@click.option("--ngram", type=click.IntRange(2, 50), default=13, show_default=True, metavar="WORDS",
              help="Length of an n-gram; 8 finds more, chance matches among them.")
@click.option("--pairs", type=click.IntRange(min=0), default=5, show_default=True, help="Worst pairs to print.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Figures and all pairs, as JSON.")
@click.option("--fail-above", type=click.FloatRange(0, 100), metavar="PERCENT",
              help="Exit with status 1 where more of the rows overlap.")
def command(**options: Any) -> None:
    """Look for evaluation rows in training data: shared n-grams, and texts that are the same.

    Every text of a training row is compared, whatever its field is called, with each row's prompt and with its worked
    solution or reference. Training data is streamed: millions of rows need no more memory than few.

    \b
    reasongym contamination --train my_data.jsonl --eval gsm8k
    reasongym contamination --train gsm8k --train corpus/ --eval math500:test --ngram 8
    reasongym contamination --train my_data.parquet --eval gsm8k --fail-above 1 --output overlap.json
    """
    from reasongym.evaluation.contamination.report import as_json, table
    from reasongym.files import make_folder, write_atomic

    compared, named = _compared(options)
    click.echo(table(compared, named, pairs=options["pairs"]))
    output = options["output"]
    if output is not None:
        make_folder(output.expanduser().parent)
        click.echo(f"\nwritten: {write_atomic(output.expanduser(), as_json(compared, named))}")
    limit = options["fail_above"]
    if limit is not None and 100 * compared.overlap.share > limit:
        click.echo(f"\n{100 * compared.overlap.share:.2f} % is more than --fail-above {limit:g}", err=True)
        raise click.exceptions.Exit(1)


def _compared(options: Mapping[str, Any]) -> tuple[Compared, str]:
    """And the evaluation's name. Raises DataError, UnknownNameError, ConfigError."""
    from reasongym.cli.task_settings import parse_settings
    from reasongym.evaluation.contamination.sources import compare_with, problems_of, split_spec
    from reasongym.evaluation.rows import choose_rows, refuse_substitute
    from reasongym.tasks import TaskOptions

    name, split = split_spec(options["evaluation"], "test")
    chosen = TaskOptions(data=options["data"], settings=parse_settings(options["settings"]))
    task = problems_of(name, chosen)
    refuse_substitute(task)
    rows = choose_rows(task, split, options["limit"], seed=options["seed"])
    compared = compare_with(rows, options["training"], size=options["ngram"], rows=options["rows"],
                            seed=options["seed"], options={name: chosen}, watch=_watch)
    return compared, f"{name}:{split}"


def _watch(done: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done:,} training rows compared", nl=False, err=True)
