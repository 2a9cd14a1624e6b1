"""`reasongym report RUN`: a run as one HTML page, and its reward curve as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from reasongym.errors import UnknownNameError, message, nearest

__all__ = ["command"]


@click.command()
@click.argument("run")
@click.option("--curve", type=click.Path(path_type=Path, dir_okay=False),
              help="Also draw training and held-out reward into this SVG file.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="Folder that RUN is looked up in when it is a name.")
def command(run: str, curve: Path | None, runs: Path) -> None:
    """Write report.html into the folder of RUN (a folder, or a name under `runs`) and print its path."""
    from reasongym.tracking.report import write_curve_svg, write_report

    folder = _find(run, runs)
    click.echo(write_report(folder))
    if curve is not None:
        click.echo(write_curve_svg(folder, curve, _title(folder)))


def _find(run: str, runs: Path) -> Path:
    for folder in (Path(run).expanduser(), runs / run):
        if _is_run(folder):
            return folder
    beside = Path(run).expanduser().parent if "/" in run else runs
    known = sorted(str(folder) if "/" in run else folder.name for folder in beside.glob("*") if _is_run(folder))
    expected = f"one of {', '.join(known)}" if known else f"a run's folder; {beside} holds none"
    raise UnknownNameError(message(f"no run {run!r}.{nearest(run, known)}", got=run, expected=expected,
                                   remedy="name a folder that `reasongym train` wrote"))


def _is_run(folder: Path) -> bool:
    return (folder / "metrics.jsonl").is_file() or (folder / "config.yaml").is_file()


def _title(folder: Path) -> str:
    """What was trained on what: `gsm8k, smollm2-135m, grpo`; the folder's name where the run recorded none of it."""
    from reasongym.tracking.report.run_data import load_run

    run = load_run(folder)
    facts = [run.setting("task", "name"), Path(run.setting("model", "path")).name, run.setting("algorithm", "name")]
    return ", ".join(fact for fact in facts if fact) or folder.resolve().name
