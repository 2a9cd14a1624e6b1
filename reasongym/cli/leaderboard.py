"""`reasongym leaderboard`: results in a store, and boards of them as text, as a site, as a page server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from reasongym.leaderboard import Added, Store, Submission

__all__ = ["command"]

Command = TypeVar("Command", bound=Callable[..., object])

STORE_HELP = ("File, sqlite:///FILE or postgresql://USER@HOST/NAME.  [default: $REASONGYM_STORE, else "
              "evals/leaderboard.db]")


def _store_option(command: Command) -> Command:
    """`--store` after the subcommand, as before it."""
    return click.option("--store", metavar="URL", help=STORE_HELP, expose_value=False, callback=_choose)(command)


def _choose(context: click.Context, parameter: click.Parameter, store: str | None) -> None:
    if store is not None and context.obj not in (None, store):
        raise click.UsageError("--store is given twice, with different values")  # either may hold a password
    context.obj = store or context.obj


@click.group(invoke_without_command=True)
@click.option("--store", metavar="URL", help=STORE_HELP)
@click.option("--task", help="The boards of this task alone.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json", "csv"]), default="table",
              show_default=True)
@click.pass_context
def command(context: click.Context, store: str | None, task: str | None, form: str) -> None:
    """Rank results, with 95 % intervals and ties.

    \b
    reasongym leaderboard add evals/*
    reasongym leaderboard --task gsm8k
    reasongym leaderboard --format markdown
    reasongym leaderboard serve
    """
    context.obj = store
    if context.invoked_subcommand is not None:
        if task is not None:
            raise click.UsageError(f"--task stands after {context.invoked_subcommand}, where that takes it")
        return
    from reasongym.leaderboard.board import read_boards
    from reasongym.leaderboard.formats import FORMATS
    from reasongym.leaderboard.store import Store

    with Store(store) as opened:
        _check_task(opened, task)
        click.echo(FORMATS[form](read_boards(opened, task)), nl=False)


@command.command("add")
@_store_option
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER...")
@click.option("--verify", is_flag=True, help="Judge all answers anew first; refuse a result with other verdicts.")
@click.pass_obj
def add(store: str | None, folders: tuple[Path, ...], verify: bool) -> None:
    """Enter results of `reasongym eval`. One that is there already changes nothing; a store is made where none is.

    FOLDER holds a result, or several in folders below it: an evaluation on several tasks, evals, runs/NAME. Files among
    them are passed over, so that evals/* can be given. What cannot enter is named at the end, after all others have
    entered, and the exit status is 2.
    """
    from reasongym.errors import DataError
    from reasongym.leaderboard.reading import read_folder
    from reasongym.leaderboard.store import Store

    found, refused = _results_in(folders)
    with Store(store, create=True) as opened:
        for folder in found:
            try:
                made = read_folder(folder)
                if verify:
                    _verify(folder)
            except DataError as error:
                refused.append(f"{folder}: {error}")
                continue
            _tell(opened.add(made), made)
        click.echo(f"{opened.count()} results in {opened.address}")
    if refused:
        raise DataError("\n\n".join(refused))


@command.command("export")
@_store_option
@click.option("--output", type=click.Path(path_type=Path), required=True, help="New folder to write to.")
@click.option("--task", help="Results of this task alone.")
@click.pass_obj
def export(store: str | None, output: Path, task: str | None) -> None:
    """Write results for other groups: results.json, and all samples as samples.parquet."""
    from reasongym.leaderboard.exchange import export_results
    from reasongym.leaderboard.store import Store

    with Store(store) as opened:
        _check_task(opened, task)
        click.echo(f"{export_results(opened, output, task=task)} results written to {output}")


@command.command("import")
@_store_option
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER...")
@click.pass_obj
def import_(store: str | None, folders: tuple[Path, ...]) -> None:
    """Enter results that `leaderboard export` wrote, here or elsewhere; what was changed since is refused."""
    from reasongym.leaderboard.exchange import import_results
    from reasongym.leaderboard.store import Store

    with Store(store, create=True) as opened:
        for folder in folders:
            click.echo(f"{folder}: {_counted(import_results(opened, folder))}")
        click.echo(f"{opened.count()} results in {opened.address}")


@command.command("site")
@_store_option
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to write to, made anew.")
@click.option("--title", default="Leaderboard", show_default=True, help="What the pages are headed.")
@click.pass_obj
def site(store: str | None, output: Path, title: str) -> None:
    """Write all boards, results and samples as static pages, for any web server or for opening from disk."""
    from reasongym.leaderboard.site import write_site
    from reasongym.leaderboard.store import Store

    with Store(store) as opened:
        click.echo(write_site(opened, output, title=title))


@command.command("serve")
@_store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others than this machine's "
                                                                    "own can then read every sample.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0 takes a free one.")
@click.option("--title", default="Leaderboard", show_default=True, help="What the pages are headed.")
@click.pass_obj
def serve(store: str | None, host: str, port: int, title: str) -> None:
    """Show the same pages of the store as it is now, until interrupted."""
    from reasongym.leaderboard.server import PageServer
    from reasongym.leaderboard.store import Store

    with Store(store) as opened, PageServer(opened, host=host, port=port, title=title) as server:
        click.echo(f"serving {opened.address} at {server.address} (stop with Ctrl-C)")
        server.run()


def _results_in(folders: tuple[Path, ...]) -> tuple[list[Path], list[str]]:
    """Folders of results, each once, and what is to be said of the others."""
    from reasongym.errors import DataError, message
    from reasongym.evaluation.folder import REQUEST
    from reasongym.leaderboard.folders import result_folders

    found, refused = dict[Path, None](), []
    for folder in (path for path in folders if not path.is_file()):
        try:
            results = result_folders(folder)
        except DataError as error:
            refused.append(f"{folder}: {error}")
            continue
        found |= dict.fromkeys(results.whole)
        refused += [message(f"{path} is not finished", got="answers, and no result yet", expected="a whole evaluation",
                            remedy=f"reasongym eval --resume {path if (path / REQUEST).is_file() else path.parent}")
                    for path in results.unfinished]
    return list(found), refused


def _verify(folder: Path) -> None:
    """Raises DataError where today's verifiers, which must be those of the result, judge an answer otherwise."""
    from reasongym.errors import DataError, message
    from reasongym.evaluation.record import read_result, read_result_samples
    from reasongym.evaluation.rescoring import changes, rescore, rescored_parts, scoring_limits

    result, samples = read_result(folder), read_result_samples(folder)
    parts, limits = rescored_parts(result, ()), scoring_limits(result)
    again = rescore(result, samples, parts=parts, limits=limits, folder=folder.name)
    if [part.fingerprint for part in again.result.task.parts] != [part.fingerprint for part in result.task.parts]:
        raise DataError(message("the result was judged by another version of its verifiers", got="another fingerprint",
                                expected="today's", remedy=f"`reasongym rescore {folder}`, and add what that writes"))
    if found := changes(samples, again.samples):
        first = found[0]
        raise DataError(message(f"{len(found)} verdicts are not what the verifier says of these answers",
                                got=f"row {first.sample.prompt.example.index}: {first.before.status}",
                                expected=str(first.after.status), remedy="`reasongym rescore`, or leave it out"))


def _check_task(store: Store, task: str | None) -> None:
    from reasongym.errors import UnknownNameError, message, nearest

    tasks = {result.entry.task for result in store.results()} if task is not None else set()
    if task is not None and task not in tasks:
        raise UnknownNameError(message(f"no results of task {task!r}.{nearest(task, tasks)}", got=task,
                                       expected=f"one of {', '.join(sorted(tasks)) or 'none: the store is empty'}",
                                       remedy="name another --task, or add results of it"))


def _tell(added: Added, made: Submission) -> None:
    from reasongym.leaderboard.storable import one_line

    entry, main = made.entry, made.main
    if added.kept:
        what = f"left out, {added.kept[:12]} of the same step of its run was made later"
    elif added.replaced:
        what = f"added, in place of {added.replaced[:12]} of the same step of its run"
    else:
        what = "added" if added.new else "already there"
    asked = one_line(f"{entry.model} on {entry.task}/{entry.split}")
    click.echo(f"{added.digest[:12]}  {what}: {asked}, "
               f"{main.name} {main.mean:.4f} [{main.low:.4f}, {main.high:.4f}]")


def _counted(added: list[Added]) -> str:
    new, kept = sum(one.new for one in added), sum(bool(one.kept) for one in added)
    left_out = f", {kept} left out: of the same step of its run another result is there" if kept else ""
    return f"{new} added, {len(added) - new - kept} already there{left_out}"
