"""`reasongym rescore`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reasongym.errors import ConfigError, message

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
@click.option("--workers", type=click.IntRange(min=1), help="Processes that verify.  [default: the result's]")
def command(result: Path, verifiers: tuple[str, ...], output: Path | None, show: int, workers: int | None) -> None:
    """Verify the answers of a result again, with today's verifier, and write a new result beside it.

    \b
    reasongym rescore evals/gsm8k-20260101-120000
    reasongym rescore evals/gsm8k-20260101-120000 --verifier gsm8k_flexible_extract --verifier gsm8k_strict_match
    """
    from reasongym.evaluation.progress import Progress
    from reasongym.evaluation.record import read_result, read_result_samples, write_result
    from reasongym.evaluation.rescoring import changes, rescore, rescored_parts, scoring_limits
    from reasongym.evaluation.run import Limits
    from reasongym.scoring import ScoringPool

    folder = result.expanduser()
    before, samples = read_result(folder), read_result_samples(folder)
    target = _target(folder, output)
    parts = rescored_parts(before, verifiers)
    limits = scoring_limits(before, workers)
    with ScoringPool.configured(parts, limits) as scoring, Progress(parts[0].name) as progress:
        after = rescore(before, samples, parts=parts, scoring=scoring, folder=folder.name, watch=progress.show,
                        limits=Limits(limits.max_error_share, limits.timeout_s))
    write_result(target, after.result, after.samples)
    _show(before, after.result, changes(samples, after.samples), show)
    click.echo(f"\nwritten: {target}/results.json, rollouts.parquet")


def _target(folder: Path, output: Path | None) -> Path:
    """Raises ConfigError where it is in use."""
    beside = folder.resolve()
    chosen = output.expanduser() if output else next(
        path for number in range(1, 10_000)
        if not (path := beside.with_name(f"{beside.name}-rescored{f'-{number}' if number > 1 else ''}")).exists())
    if chosen.exists() and not (chosen.is_dir() and not any(chosen.iterdir())):
        raise ConfigError(message(f"{chosen} is in use", got="a file, or a folder that is not empty",
                                  expected="a new folder, so that no result is written over",
                                  remedy="choose another --output"))
    return chosen


def _show(before: Result, after: Result, found: Sequence[Change], show: int) -> None:
    from reasongym.evaluation.rescoring import transitions
    from reasongym.tracking.printable import printable, shorten

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
