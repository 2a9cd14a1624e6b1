"""`reasongym rescore`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reasongym.evaluation.record import Result
    from reasongym.evaluation.rescoring import Change

__all__ = ["command"]


@click.command("rescore")
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--verifier", "verifiers", multiple=True, metavar="NAME",
              help="Verifiers in place of the result's, the main one first; may be repeated.")
@click.option("--output", type=click.Path(path_type=Path), help="New folder.  [default: RESULT-rescored beside it]")
@click.option("--show", type=click.IntRange(min=0), default=5, show_default=True, help="Changed answers to print.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that verify.  [default: as scoring.workers]")
def command(result: Path, verifiers: tuple[str, ...], output: Path | None, show: int, workers: int | None) -> None:
    """Verify the answers of a result again, with today's verifier, and write a new result beside it.

    \b
    reasongym rescore evals/gsm8k-20260101-120000
    reasongym rescore evals/gsm8k-20260101-120000 --verifier gsm8k_flexible_extract --verifier gsm8k_strict_match
    """
    from reasongym.evaluation.folder import claim_numbered
    from reasongym.evaluation.progress import Progress
    from reasongym.evaluation.record import read_result, read_result_samples, write_result
    from reasongym.evaluation.rescoring import changes, rescore, rescored_parts, scoring_limits
    from reasongym.files import refuse_used

    folder, target = result.expanduser(), output.expanduser() if output else None
    before, samples = read_result(folder), read_result_samples(folder)
    if target is not None:
        refuse_used(target)
    parts = rescored_parts(before, verifiers)
    with Progress(parts[0].name) as progress:
        after = rescore(before, samples, parts=parts, limits=scoring_limits(before, workers), folder=folder.name,
                        watch=progress.show)
    if target is None:
        target = claim_numbered(folder.resolve().with_name(f"{folder.resolve().name}-rescored"))
    write_result(target, after.result, after.samples)
    _show(before, after.result, changes(samples, after.samples), show)
    click.echo(f"\nwritten: {target}/results.json, rollouts.parquet")


def _show(before: Result, after: Result, found: Sequence[Change], show: int) -> None:
    from reasongym.evaluation.rescoring import transitions
    from reasongym.printable import printable, shorten

    names = list(dict.fromkeys([*before.metrics, *after.metrics]))
    width = max(map(len, names))
    click.echo(f"{'':<{width}}   before   after")
    for name in names:
        values = [one.metrics.get(name) for one in (before, after)]
        click.echo(f"{name:<{width}}   " + "   ".join("-     " if v is None else f"{v.mean:.4f}" for v in values))
    judged = {part.fingerprint for part in before.task.parts} == {part.fingerprint for part in after.task.parts}
    click.echo(f"\nverifier: {'the same source as then' if judged else 'another source than then'}")
    click.echo(f"{len(found)} of {after.counts['answered']} answers have another verdict")
    for (old, new), count in transitions(found).most_common():
        click.echo(f"  {count:>6}  {old} -> {new}")
    for change in found[:show]:
        sample, verdict = change.sample, change.after
        click.echo(f"\nrow {sample.prompt.example.index}, sample {sample.sample}: {change.before.status} -> "
                   f"{verdict.status}; extracted {printable(repr(change.before.extracted))} -> "
                   f"{printable(repr(verdict.extracted))}; {printable(verdict.reason)}")
        click.echo(printable(shorten(sample.answer.text, 400)))
