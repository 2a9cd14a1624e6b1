"""The pages in a real browser: Chromium through Playwright, where both are installed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from leaderboard_samples import made_up

from reasongym.leaderboard import Store
from reasongym.leaderboard.pages import CHUNK, answers_file, answers_index
from reasongym.leaderboard.site import write_site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
MANY = 100_000
NEEDLE = "unlike all the others"
HOSTILE = "<script>window.hacked = 1</script><b>bold</b> \x00 \ud800 \u202e end"
WAIT_S = 30.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("no browser can run here: it takes playwright, and chromium on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program,
                                            args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of three results; the best has MANY answers, made here: a store would take a minute to hold them."""
    folder = tmp_path_factory.mktemp("site")
    with Store(str(folder / "s.db"), create=True) as store:
        store.add(made_up("best <b>", right=[True] * 39 + [False], texts=(HOSTILE,)))
        store.add(made_up("middle", right=[row % 2 == 0 for row in range(40)]))
        store.add(made_up("other data", fingerprint="x"))
        write_site(store, folder / "site", title="Board")
        best = store.find(store.results()[0].digest)
        samples = store.samples(best.id, 0, 1)
    many = folder / "site" / "results" / best.name
    statuses = ["wrong" if number % 1000 == 999 else "correct" for number in range(MANY)]
    (many / "index.js").write_text(answers_index(statuses))
    for number in range(MANY // CHUNK):
        rows = range(number * CHUNK, (number + 1) * CHUNK)
        (many / f"{number}.js").write_text(answers_file(number, [samples[0]._replace(
            row=str(row), status=statuses[row], reason=NEEDLE if row == MANY - 1 else "",
            reasoning="first thought" if row == 0 else "") for row in rows]))
    return folder / "site"


@pytest.fixture
def page(browser: Any, site: Path) -> Iterator[Any]:
    """The first page; what the console says fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda said: complaints.append(said.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto((site / "index.html").as_uri())
    yield opened
    context.close()
    assert complaints == []


def until(seen: Callable[[], object], expected: object) -> None:
    """Asks until the answer is as expected. The pages' policy forbids Playwright's own way, which evaluates strings."""
    deadline = time.monotonic() + WAIT_S
    while (found := seen()) != expected:
        assert time.monotonic() < deadline, f"{found!r} and not {expected!r}"
        time.sleep(0.02)


def models(page: Any) -> list[str]:
    return [cell.split("\n")[0] for cell in page.locator("tbody tr:not([hidden]) td.model").all_inner_texts()]


def open_best(page: Any) -> None:
    page.get_by_role("link", name="best <b>").click()
    until(lambda: page.locator("#answers li").count(), 25)


def test_boards_sort_and_filter(page: Any) -> None:
    assert models(page) == ["best <b>", "middle", "other data"]
    page.get_by_role("button", name="model").click()
    page.get_by_role("button", name="model").click()
    assert models(page) == ["other data", "middle", "best <b>"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="place").click()
    assert models(page) == ["best <b>", "middle", "other data"]  # without a place: last
    page.keyboard.press("/")
    page.keyboard.type("MID")
    assert models(page) == ["middle"]
    page.fill("#filter", "")
    page.check("#ranked")
    assert models(page) == ["best <b>", "middle"]


def test_a_hundred_thousand_answers_stay_fluid(page: Any) -> None:
    open_best(page)
    told = page.locator("#told")
    until(told.inner_text, "1 to 25 of 100,000")
    began = time.monotonic()
    page.get_by_role("button", name="wrong 100").click()
    until(told.inner_text, "1 to 25 of 100")
    assert set(page.locator("#answers .tag").all_inner_texts()) == {"wrong"}
    page.keyboard.press("n")
    until(told.inner_text, "26 to 50 of 100")
    page.keyboard.press("p")
    until(told.inner_text, "1 to 25 of 100")
    assert time.monotonic() - began < 10  # 0.5 s on a machine that is at rest
    assert page.locator("#answers li").count() == 25


def test_words_are_found_in_the_last_answer_of_all(page: Any) -> None:
    open_best(page)
    page.fill("#search", NEEDLE.upper())
    until(page.locator("#told").inner_text, "1 to 1 of 1")
    assert page.locator("#answers li").all_inner_texts()[0].startswith("row 99999")


def test_a_completion_is_shown_and_not_run(page: Any) -> None:
    open_best(page)
    page.locator("#answers button").first.click()
    until(page.locator("#answer").is_visible, True)
    shown = page.locator("#answer").inner_text()
    assert r"<script>window.hacked = 1</script><b>bold</b> \x00 \ud800 \u202e end" in shown
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("#answer b, #answer script").count() == 0
    assert page.locator("#answer details").inner_text().startswith("Reasoning")


def test_answers_are_walked_and_closed_by_keys(page: Any) -> None:
    open_best(page)
    page.locator("#answers button").nth(3).focus()
    page.keyboard.press("Enter")
    head = page.locator("#answer h3").first
    until(lambda: head.inner_text() if head.count() else "", "Row 3, answer 1")
    page.keyboard.press("j")
    until(head.inner_text, "Row 4, answer 1")
    assert page.url.endswith("#4")
    page.reload()
    until(lambda: head.inner_text() if head.count() else "", "Row 4, answer 1")  # an address that can be passed on
    page.keyboard.press("Escape")
    assert page.locator("#answer").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_sideways_scrolling(browser: Any, site: Path, scheme: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.evaluate("() => document.documentElement.scrollWidth") == 360
    assert page.get_by_text("not known to be the published gsm8k").is_visible()
    open_best(page)
    page.locator("#answers button").first.click()
    until(page.locator("#answer").is_visible, True)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 360
    ink, paper = (channels(page, name) for name in ("color", "backgroundColor"))
    assert (sum(ink) > sum(paper)) == (scheme == "dark")
    context.close()


def channels(page: Any, name: str) -> list[int]:
    colour = page.evaluate(f"() => getComputedStyle(document.body).{name}")
    return list(json.loads(colour.replace("rgb(", "[").replace(")", "]")))
