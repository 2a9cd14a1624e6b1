"""`reasongym runs`: training runs on a page, as files or served while they go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reasongym.errors import DataError, message

if TYPE_CHECKING:
    from reasongym.tracking.overview.library import Library

__all__ = ["command"]

DEFAULT = Path("runs")
FOLDERS = click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER...]")
TITLE = click.option("--title", default="Training runs", show_default=True, help="What the pages are headed.")


class _FoldersOrServe(click.Group):
    """`reasongym runs serve ...`, and `reasongym runs FOLDER...` for the group's own work."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["write", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands["write"].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["serve"]


@click.group(cls=_FoldersOrServe, subcommand_metavar="[FOLDER...] [OPTIONS] | serve [FOLDER...] [OPTIONS]")
def command() -> None:
    """Training runs side by side: a table, curves over one another, and a page a run with its answers.

    FOLDER is a run, or a folder of runs; `runs` where none is named.

    \b
    reasongym runs --output build/runs
    reasongym runs runs/sums-grpo runs/sums-dapo --output build/two
    reasongym runs serve
    """


@command.command("write", hidden=True)
@FOLDERS
@click.option("--output", type=click.Path(path_type=Path), default=Path("build/runs"), show_default=True,
              help="Folder to write to, made anew.")
@click.option("--steps", type=click.IntRange(0), default=50, show_default=True,
              help="Of each run at most as many steps have their answers written.")
@TITLE
def write(folders: tuple[Path, ...], output: Path, steps: int, title: str) -> None:
    """Write the pages of FOLDER... as files that open from disk, and print where the first of them lies."""
    from reasongym.tracking.overview.site import write_runs

    library = _library(folders)
    if not library.lines():
        raise _no_runs(folders)
    click.echo(write_runs(library, output, title=title, steps=steps))


@command.command("serve")
@FOLDERS
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others than this machine's "
                                                                    "own can then read every answer.")
@click.option("--port", type=click.IntRange(0, 65535), default=8322, show_default=True, help="0 takes a free one.")
@TITLE
def serve(folders: tuple[Path, ...], host: str, port: int, title: str) -> None:
    """Show the pages of FOLDER... as they are now, renewed while runs go on, until interrupted."""
    from reasongym.pages.serving import Server
    from reasongym.tracking.overview.live import LivePages
    from reasongym.tracking.overview.site import ASSETS

    pages = LivePages(_library(folders), title=title)
    with Server(pages.routes, assets=ASSETS, host=host, port=port) as server:
        click.echo(f"serving {', '.join(map(str, folders or (DEFAULT,)))} at {server.address} (stop with Ctrl-C)")
        server.run()


def _library(folders: tuple[Path, ...]) -> Library:
    from reasongym.tracking.overview.library import Library

    for folder in folders:
        if not folder.is_dir():
            raise DataError(message(f"{folder} is no folder", got="a file" if folder.exists() else "nothing there",
                                    expected="a run, or a folder of runs", remedy="name what `reasongym train` wrote"))
    return Library(folders or (DEFAULT,))


def _no_runs(folders: tuple[Path, ...]) -> DataError:
    named = ", ".join(map(str, folders or (DEFAULT,)))
    return DataError(message(f"no runs in {named}", got="no folder with a metrics.jsonl or config.yaml",
                             expected="a run, or a folder of runs",
                             remedy="name a folder that `reasongym train` wrote, or train one first"))
