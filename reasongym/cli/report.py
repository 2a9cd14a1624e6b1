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
    from reasongym.tracking.overview.run import Run
    from reasongym.tracking.report import write_curve_svg, write_report

    folder = _find(run, runs)
    click.echo(write_report(folder))
    if curve is not None:
        click.echo(write_curve_svg(folder, curve, ", ".join(Run(folder).facts) or folder.resolve().name))


def _find(run: str, runs: Path) -> Path:
    from reasongym.tracking.overview.run import is_run

    for folder in (Path(run).expanduser(), runs / run):
        if is_run(folder):
            return folder
    beside = Path(run).expanduser().parent if "/" in run else runs
    known = sorted(str(folder) if "/" in run else folder.name for folder in beside.glob("*") if is_run(folder))
    expected = f"one of {', '.join(known)}" if known else f"a run's folder; {beside} holds none"
    raise UnknownNameError(message(f"no run {run!r}.{nearest(run, known)}", got=run, expected=expected,
                                   remedy="name a folder that `reasongym train` wrote"))
