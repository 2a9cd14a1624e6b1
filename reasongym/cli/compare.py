"""`reasongym compare`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from reasongym.evaluation.comparing import Comparison, Row
    from reasongym.evaluation.samples import Sample

__all__ = ["command"]


@click.command("compare")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option("--show", type=click.IntRange(min=0), default=3, show_default=True, help="Differing rows to print.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="All differing rows, as JSONL.")
@click.option("--json", "as_json", is_flag=True, help="The figures as one JSON object, and nothing else.")
def command(first: Path, second: Path, show: int, output: Path | None, as_json: bool) -> None:
    """Compare two results on the rows that both have: a paired test, and the rows on which they differ.

    With one answer a row the test is McNemar's, exactly; with several, a sign-flip test of the rows' means. Of
    data that were read from other files, rows are the same that ask the same; results that share none are refused.

    \b
    reasongym compare evals/base evals/trained
    """
    from reasongym.evaluation.comparing import compare, differing_settings
    from reasongym.evaluation.record import read_result, read_result_samples
    from reasongym.files import write_atomic

    ours, theirs = read_result(first), read_result(second)
    found = compare(ours, read_result_samples(first), theirs, read_result_samples(second))
    differing = differing_settings(ours, theirs)
    if output is not None:
        write_atomic(output.expanduser(), "".join(json.dumps(record) + "\n" for record in _records(found)))
    if as_json:
        click.echo(json.dumps(_figures(found, {name: list(pair) for name, pair in differing.items()})))
        return
    for label, result, mean in (("first", ours, found.first), ("second", theirs, found.second)):
        click.echo(f"{label:<7} {mean:.4f}  {_shown(result.model.path)}")
    _show_test(found)
    for name, (one, other) in differing.items():
        click.echo(f"note: {name} differs: {_shown(one)} | {_shown(other)}")
    for row in found.differing[:show]:
        _show_row(row)
    if output is not None:
        click.echo(f"\nwritten: {output}")


def _shown(value: object) -> str:
    """On one line: a record may be somebody else's, and hold a text of any length."""
    from reasongym.printable import printable, shorten

    return " ".join(printable(shorten(str(value), 200)).split())


def _show_test(found: Comparison) -> None:
    paired = found.paired
    counts = _sides(found)
    click.echo(f"\ndifference {paired.difference:+.4f}  [{paired.interval.low:+.4f}, {paired.interval.high:+.4f}]  "
               f"95 %, bootstrap by row, {len(found.rows)} rows")
    click.echo(f"p = {paired.p_value:.4g}  {found.test}, {'exact' if paired.exact else 'sampled'}")
    click.echo(f"{counts['first']} rows for the first, {counts['second']} for the second, {counts['equal']} alike")
    if found.left_out:
        click.echo(f"{found.left_out} rows that only one has are left out")
    if paired.p_value >= 0.05:
        click.echo("the two cannot be told apart at the 5 % level")


def _sides(found: Comparison) -> dict[str, int]:
    better = [row.difference for row in found.rows]
    return {"first": sum(d > 0 for d in better), "second": sum(d < 0 for d in better),
            "equal": sum(d == 0 for d in better)}


def _figures(found: Comparison, differing: dict[str, list[Any]]) -> dict[str, Any]:
    paired = found.paired
    return {"first": found.first, "second": found.second, "difference": paired.difference,
            "low": paired.interval.low, "high": paired.interval.high, "p_value": paired.p_value,
            "exact": paired.exact, "test": found.test, "rows": len(found.rows), "left_out": found.left_out,
            "better": _sides(found), "differing_settings": differing}


def _show_row(row: Row) -> None:
    from reasongym.printable import printable, shorten

    example = row.first[0].prompt.example
    click.echo(f"\n--- row {row.number}, reference {printable(repr(example.reference))[:80]}")
    click.echo(printable(shorten(str(example.messages[-1]["content"]), 300)))
    for label, samples in (("first", row.first), ("second", row.second)):
        sample = samples[0]
        click.echo(f"--- {label}: {_verdict(sample)}")
        click.echo(printable(shorten(sample.answer.text, 400)))


def _verdict(sample: Sample) -> str:
    from reasongym.printable import printable

    main = sample.main
    return "" if main is None else printable(f"{main.status}, extracted {main.extracted!r} {main.reason}".strip())


def _records(found: Comparison) -> Iterator[dict[str, Any]]:
    for row in found.differing:
        example = row.first[0].prompt.example
        yield {"index": row.number, "difference": row.difference, "reference": example.reference,
               "question": str(example.messages[-1]["content"]),
               **{name: [{"text": s.answer.text, "verdict": _verdict(s)} for s in samples]
                  for name, samples in (("first", row.first), ("second", row.second))}}
