"""All pages as files: for any web server, and for opening from disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reasongym.errors import ConfigError, message
from reasongym.leaderboard.board import Board, Line, read_boards
from reasongym.leaderboard.formats import as_json
from reasongym.leaderboard.pages import CHUNK, answers_index, board_page, result_page
from reasongym.leaderboard.store import Store
from reasongym.pages.answers import answers_file
from reasongym.pages.folder import write_pages
from reasongym.pages.markup import asset

__all__ = ["ASSETS", "write_site"]

ASSETS = ("board.js", "math.js", "page.js", "samples.js", "style.css")
MARK = "assets/leaderboard"  # a folder with it is a site of ours, and may be replaced
MARKED = "Written by `reasongym leaderboard site`, which replaces the whole folder when it writes there again.\n"
OF_RUNS = "assets/runs.js"


def write_site(store: Store, folder: Path, *, title: str) -> Path:
    """The first page of a site that is there whole or, where something goes wrong, as it was before.

    Raises ConfigError where `folder` holds something else, ResourceError where it cannot be written.
    """
    if (folder.expanduser() / OF_RUNS).is_file():
        raise ConfigError(message(f"{folder} holds the pages of training runs", got="what `reasongym runs` wrote",
                                  expected="a new folder, or a leaderboard's pages",
                                  remedy="choose another --output; the two do not share a folder"))
    return write_pages(folder, _files(store, title), mark=MARK)


def _files(store: Store, title: str) -> Iterator[tuple[str, str]]:
    boards = read_boards(store)
    yield "index.html", board_page(boards, title=title)
    yield "boards.json", as_json(boards)
    yield MARK, MARKED
    for name in ASSETS:
        yield f"assets/{name}", asset(name)
    for line in _lines(boards.boards):
        yield from _result_files(store, line, title)


def _lines(boards: tuple[Board, ...]) -> Iterator[Line]:
    return (line for board in boards for line in board.lines)


def _result_files(store: Store, line: Line, title: str) -> Iterator[tuple[str, str]]:
    result = line.result
    folder = f"results/{result.name}"
    yield f"{folder}/index.html", result_page(line, store.record(result.id), title=title)
    if result.num_samples:
        yield f"{folder}/index.js", answers_index(store.statuses(result.id))
    for number, start in enumerate(range(0, result.num_samples, CHUNK)):
        yield f"{folder}/{number}.js", answers_file(number, store.samples(result.id, start, CHUNK))
