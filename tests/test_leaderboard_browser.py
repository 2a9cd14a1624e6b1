"""The pages in a real browser: Chromium through Playwright, where both are installed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import browser_for_tests, faults, quiet_page, until, width
from leaderboard_samples import made_up

from reasongym.leaderboard import Store
from reasongym.leaderboard.pages import CHUNK, answers_index
from reasongym.leaderboard.site import write_site
from reasongym.pages.answers import answers_file

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
MANY = 100_000
NEEDLE = "unlike all the others"
HOSTILE = "<script>window.hacked = 1</script><b>bold</b> \x00 \ud800 \u202e end"
FORMULAS = (r"Half: $\frac{1}{2}$, so \[x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}\] and it costs $5 and $10, "
            r"\nosuch{x}. \boxed{7}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    with browser_for_tests() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of three results; the best has MANY answers, made here: a store would take a minute to hold them."""
    folder = tmp_path_factory.mktemp("site")
    with Store(str(folder / "s.db"), create=True) as store:
        store.add(made_up("best <b>", right=[True] * 39 + [False], texts=(HOSTILE, FORMULAS)))
        store.add(made_up("middle", right=[row % 2 == 0 for row in range(40)]))
        store.add(made_up("other data", fingerprint="x"))
        write_site(store, folder / "site", title="Board")
        best = store.find(store.results()[0].digest)
        samples = store.samples(best.id, 0, 2)
    many = folder / "site" / "results" / best.name
    statuses = ["wrong" if number % 1000 == 999 else "correct" for number in range(MANY)]
    (many / "index.js").write_text(answers_index(statuses))
    for number in range(MANY // CHUNK):
        rows = range(number * CHUNK, (number + 1) * CHUNK)
        (many / f"{number}.js").write_text(answers_file(number, [samples[row == 1]._replace(
            row=str(row), status=statuses[row], reason=NEEDLE if row == MANY - 1 else "",
            reasoning="first thought" if row == 0 else "") for row in rows]))
    return folder / "site"


@pytest.fixture
def page(browser: Any, site: Path) -> Iterator[Any]:
    """The first page."""
    with quiet_page(browser, (site / "index.html").as_uri()) as opened:
        yield opened


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
    with quiet_page(browser, (site / "index.html").as_uri(), viewport={"width": 360, "height": 740},
                    color_scheme=scheme) as page:
        assert width(page) == 360
        assert page.get_by_text("not known to be the published gsm8k").is_visible()
        open_best(page)
        page.locator("#answers button").first.click()
        until(page.locator("#answer").is_visible, True)
        assert width(page) == 360
        ink, paper = (channels(page, name) for name in ("color", "backgroundColor"))
        assert (sum(ink) > sum(paper)) == (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out(browser: Any, site: Path, scheme: str) -> None:
    with quiet_page(browser, (site / "index.html").as_uri(), color_scheme=scheme, bypass_csp=True) as page:
        assert faults(page) == []
        open_best(page)
        page.locator("#answers button").first.click()
        until(page.locator("#answer").is_visible, True)
        assert faults(page) == []


def test_formulas_are_set_and_shown_as_written_when_asked(page: Any) -> None:
    open_best(page)
    page.locator("#answers button").nth(1).click()
    until(page.locator("#answer math").count, 3)
    shown = page.locator("#answer pre").last
    assert shown.locator("mfrac").count() == 2
    assert "it costs $5 and $10, \\nosuch{x}" in shown.inner_text()  # no formulas
    page.keyboard.press("f")
    until(page.locator("#answer math").count, 0)
    assert shown.inner_text() == FORMULAS
    page.get_by_role("button", name="Formulas typeset").click()
    until(page.locator("#answer math").count, 3)


@pytest.mark.parametrize(("tex", "text"), [
    (r"$\frac{1}{2}$", "12"), (r"\(x^{2}_i\)", "xi2"), (r"$$\sum_{i=1}^n i$$", "∑i=1ni"),
    (r"\boxed{\sqrt[3]{8}}", "83"),
    (r"\[\begin{pmatrix}1&2\\3&4\end{pmatrix}\]", "(1234)"), (r"$\text{if } x \le \pi$", "if\u00a0x≤π"),
    (r"$\text{<b>}<script>$", "<b><script>"), (r"$\mathbb{R}^+$", "\u211d+"), (r"$\left(\dfrac12\right)$", "(12)")])
def test_what_a_formula_becomes(page: Any, tex: str, text: str) -> None:
    open_best(page)
    made = page.evaluate("(tex) => window.typeset(tex).filter((node) => node.localName === 'math')"
                         ".map((node) => [node.textContent, node.querySelectorAll('script, b').length])", tex)
    assert made == [[text, 0]]


@pytest.mark.parametrize("tex", [
    "costs $5 and $10", r"$\nosuch{x}$", r"$\frac{1}$", r"$x^$", r"$\constructor$", r"$\left( x$", r"\(x", r"$ x $",
    r"$\href{javascript:alert(1)}{x}$", r"$\begin{tabular}x\end{tabular}$", "$" + "{" * 500 + "}" * 500 + "$",
    r"$a^b^c$", r"$x}$", "$$$$", r"$\text{$"])
def test_what_is_no_formula_stays_as_written(page: Any, tex: str) -> None:
    open_best(page)
    nodes = page.evaluate("(tex) => window.typeset(tex).map((node) => [node.nodeName, node.textContent])", tex)
    assert {name for name, _ in nodes} == {"#text"}
    assert "".join(text for _, text in nodes) == tex


@pytest.mark.parametrize("piece", [r"\[", r"\(", "$", "$$", r"\boxed{", r"$\frac{", "$x$", "{", r"\begin{cases}"])
def test_no_text_keeps_the_page_busy(page: Any, piece: str) -> None:
    open_best(page)
    took = page.evaluate("(text) => { const began = performance.now(); window.typeset(text); "
                         "return performance.now() - began; }", piece * 40_000)
    assert took < 3000  # 0.2 s on a machine that is at rest


def channels(page: Any, name: str) -> list[int]:
    colour = page.evaluate(f"() => getComputedStyle(document.body).{name}")
    return list(json.loads(colour.replace("rgb(", "[").replace(")", "]")))
