"""docs/pictures/ made anew: the pages of a made-up store and made-up runs, in Chromium. `make screenshots`."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from demonstration import demonstration_runs, demonstration_store

from reasongym.leaderboard import Store
from reasongym.leaderboard.site import write_site
from reasongym.tracking.overview.library import Library
from reasongym.tracking.overview.site import write_runs

PICTURES = Path(__file__).resolve().parent.parent / "docs/pictures"
MAX_BYTES = 200_000
WAIT_S = 30.0


class Shot(NamedTuple):
    """width, height: of the window, in CSS pixels. act: brings the page where it is to be seen."""

    name: str
    site: str
    width: int
    height: int
    scheme: str
    act: Callable[[Any], None]


def main() -> None:
    """Write every picture. Exits with 1 where no browser is installed or a picture is too large."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("error: no Chromium on PATH\n  remedy:   scripts/browser.sh install")
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        sites = _sites(Path(folder))
        browser = playwright.chromium.launch(executable_path=program,
                                             args=["--no-sandbox"] if os.geteuid() == 0 else [])
        for shot in SHOTS:
            _take(browser, shot, sites[shot.site])
        browser.close()


def _sites(folder: Path) -> dict[str, str]:
    """Name -> address of its first page."""
    with Store(str(demonstration_store(folder))) as store:
        board = write_site(store, folder / "board", title="Leaderboard")
    runs = demonstration_runs(folder)
    with (runs / "dapo, learning rate 1e-5/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # it goes on
        return {"board": board.as_uri(),
                "runs": write_runs(Library((runs,)), folder / "pages", title="Training runs", steps=20).as_uri()}


def _take(browser: Any, shot: Shot, address: str) -> None:
    context = browser.new_context(viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme)
    page = context.new_page()
    page.goto(address)
    shot.act(page)
    path = PICTURES / f"{shot.name}.png"
    page.screenshot(path=str(path), animations="disabled", caret="hide")
    context.close()
    size = path.stat().st_size
    print(f"{path.relative_to(PICTURES.parent.parent)}: {shot.width} x {shot.height}, {size:,} bytes")
    if size > MAX_BYTES:
        sys.exit(f"error: {path} has {size:,} bytes\n  expected: at most {MAX_BYTES:,}")


def _nothing(page: Any) -> None:
    """The first page as it opens."""


def _open_answer(page: Any) -> None:
    page.locator("td.model a").first.click()
    page.locator("#answers button").first.click()
    _until(lambda: page.locator("#answer math").count() > 0)
    page.locator("#samples").evaluate("(node) => node.scrollIntoView()")


def _runs(page: Any) -> None:
    _until(lambda: page.locator("#overlay .line").count() == 4)
    page.locator("#overlay .plot").press("End")


def _one_run(page: Any) -> None:
    page.locator("td.model a").first.click()
    _until(lambda: page.locator("figure").count() > 10)


def _until(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not seen():
        if time.monotonic() > deadline:
            sys.exit(f"error: the page does not show what is waited for after {WAIT_S:.0f} s")
        time.sleep(0.05)


SHOTS = (
    Shot("board-light", "board", 1200, 820, "light", _nothing),
    Shot("board-dark", "board", 1200, 820, "dark", _nothing),
    Shot("answer", "board", 1200, 900, "light", _open_answer),
    Shot("answer-phone", "board", 360, 740, "dark", _open_answer),
    Shot("runs", "runs", 1200, 900, "light", _runs),
    Shot("run", "runs", 1200, 900, "dark", _one_run))

if __name__ == "__main__":
    main()
