"""The pages of runs in a real browser: Chromium through Playwright, where both are installed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsers import browser_for_tests, faults, quiet_page, until, width
from sample_runs import group, rollout, sample_run

from reasongym.pages.serving import Server
from reasongym.tracking import MetricsLog, RunFolder, write_report, write_rollouts
from reasongym.tracking.ending import write_ending
from reasongym.tracking.overview.library import Library
from reasongym.tracking.overview.live import LivePages
from reasongym.tracking.overview.site import ASSETS, write_runs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LONG = 10_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    with browser_for_tests() as opened:
        yield opened


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, one of them long."""
    folder = tmp_path_factory.mktemp("home") / "runs"
    write_ending(sample_run(folder / "sums <b>grpo").path, "finished")
    write_ending(sample_run(folder / "sums-dapo", steps=20).path, "stopped")
    long = RunFolder(folder / "long")
    long.metrics.write_text("".join(
        f'{{"step": {step}, "time": {1.7e9 + step}, "reward/mean": {step / LONG}, "step/seconds": 1.0, '
        + ", ".join(f'"train/metric_{number}": {(step * number) % 7}' for number in range(40)) + "}\n"
        for step in range(1, LONG + 1)))
    for step in range(1, LONG + 1):
        (long.rollouts / f"step-{step:06d}.parquet").symlink_to(folder / "sums-dapo/rollouts/step-000020.parquet")
    return folder


@pytest.fixture(scope="module")
def site(runs: Path) -> str:
    """The address of their pages on disk."""
    return write_runs(Library((runs,)), runs.parent / "site", title="Runs", steps=20).as_uri()


@contextmanager
def served(runs: Path) -> Iterator[str]:
    """The address of a server of the runs."""
    pages = LivePages(Library((runs,)), title="Runs")
    with Server(pages.routes, assets=ASSETS, host="127.0.0.1", port=0) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server.address
        finally:
            server.stop()
            thread.join(10)


def names(page: Any) -> list[str]:
    return list(page.locator("#runs tbody tr:not([hidden]) td.model").all_inner_texts())


def test_runs_sort_filter_and_lie_over_one_another(browser: Any, site: str) -> None:
    with quiet_page(browser, site) as page:
        until(page.locator("#overlay .line").count, 2)  # the held-out score, which the long run has not
        page.get_by_role("button", name="steps").click()
        assert names(page) == ["long", "sums <b>grpo", "sums-dapo"]
        page.keyboard.press("/")
        page.keyboard.type("stopped")
        assert names(page) == ["sums-dapo"]
        page.fill("#filter", "")
        page.select_option("#metric", "reward/mean")
        until(page.locator("#overlay .line").count, 3)
        page.get_by_label("Draw long").uncheck()
        until(page.locator("#overlay .line").count, 2)
        page.select_option("#over", "hours")
        until(lambda: "hours" in page.locator("#overlay .plot").get_attribute("aria-label"), True)
        page.get_by_role("button", name="Draw none").click()
        until(page.locator("#overlay figure").count, 0)


def test_a_chart_is_read_with_the_keyboard(browser: Any, site: str) -> None:
    with quiet_page(browser, site) as page:
        page.get_by_role("link", name="sums <b>grpo").click()
        plot = page.locator(".plot").first
        until(plot.count, 1)
        plot.focus()
        page.keyboard.press("End")
        # level 40 / 52, answer 0.9 of it
        assert "step 40: held-out 0.692 (95 % " in page.locator(".told").first.inner_text()
        page.locator(".legend button").first.click()
        assert page.locator(".legend button").first.get_attribute("aria-pressed") == "false"
        assert page.locator("figure").first.locator(".line").count() == 1


def test_answers_of_a_run_are_walked_filtered_and_shown_as_text(browser: Any, site: str) -> None:
    with quiet_page(browser, site) as page:
        page.get_by_role("link", name="sums <b>grpo").click()
        until(page.locator("#answers li").count, 25)
        assert page.locator("#answers li").first.inner_text().startswith("step 40")
        page.get_by_role("button", name="unparsable", exact=True).last.click()
        until(page.locator("#told").inner_text, "1 to 3 of 3")  # one in each step that was kept
        page.locator("#answers button").first.click()
        until(page.locator("#answer").is_visible, True)
        assert '<script>alert("x")</script>' in page.locator("#answer").inner_text()
        assert page.locator("#answer script, #answer b").count() == 0
        assert page.url.endswith("#40-0.32")
        page.reload()
        until(page.locator("#answer").is_visible, True)
        page.keyboard.press("Escape")
        page.select_option("#order", "oldest")
        until(lambda: page.locator("#answers li").first.inner_text()[:6], "step 1")
        page.fill("#from", "20")
        page.keyboard.press("Enter")
        until(lambda: page.locator("#answers li").first.inner_text()[:7], "step 20")


def test_no_answer_of_a_large_step_is_lost_when_the_order_changes(browser: Any, tmp_path: Path) -> None:
    """A step of 512 answers lies in three files, of which the first alone tells."""
    folder = sample_run(tmp_path / "runs" / "large", steps=2)
    answers = [rollout(index=row, text="the last one" if row == 511 else "It is 7.") for row in range(512)]
    write_rollouts(folder, 3, [group(*answers)])
    address = write_runs(Library((tmp_path / "runs",)), tmp_path / "site", title="Runs", steps=20).as_uri()
    with quiet_page(browser, address) as page:
        page.get_by_role("link", name="large").click()
        until(page.locator("#answers li").count, 25)
        page.fill("#search", "the last one")
        for order in ("newest", "oldest", "newest"):
            page.select_option("#order", order)
            until(page.locator("#told").inner_text, "1 to 1 of 1")
            until(page.locator("#answers li").count, 1)


def test_a_run_of_ten_thousand_steps_opens_fast(browser: Any, runs: Path) -> None:
    with served(runs) as address, quiet_page(browser, address) as page:
        page.get_by_role("link", name="long").click()
        began = time.monotonic()
        until(lambda: page.locator("figure").count() > 40, True)
        until(page.locator("#answers li").count, 25)
        assert time.monotonic() - began < 15  # 2 s on a machine that is at rest
        page.fill("#from", "5000")
        page.keyboard.press("Enter")
        until(lambda: page.locator("#answers li").first.inner_text()[:9], "step 5000")


def test_a_page_renews_itself_while_its_run_goes_on(browser: Any, tmp_path: Path) -> None:
    folder = sample_run(tmp_path / "going on", steps=5)
    with (served(tmp_path) as address, quiet_page(browser, address) as table,
          quiet_page(browser, f"{address}runs/going_on/") as page):
        until(page.locator("figure").count, 21)
        row = table.locator("tr[data-run=going_on]")
        assert "5 of 40" in row.inner_text()
        MetricsLog(folder, tensorboard=False).write(6, {"reward/mean": 0.125, "train/new": 1.0})
        write_ending(folder.path, "finished")
        until(lambda: "6 of 40" in row.inner_text() and "finished" in row.inner_text(), True)
        until(page.locator("figure").count, 22)
        assert "0.125" in page.locator("#health").inner_text()
        sample_run(tmp_path / "begun since", steps=1)
        until(table.locator("tr[data-run=begun_since]").count, 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_a_run_without_sideways_scrolling(browser: Any, site: str, scheme: str) -> None:
    with quiet_page(browser, site, viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
        until(page.locator("#overlay .line").count, 2)
        assert width(page) == 360
        page.get_by_role("link", name="sums <b>grpo").click()
        until(page.locator("#answers li").count, 25)
        page.locator("#answers button").first.click()
        until(page.locator("#answer").is_visible, True)
        assert width(page) == 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_of_the_runs(browser: Any, site: str, scheme: str) -> None:
    with quiet_page(browser, site, color_scheme=scheme, bypass_csp=True) as page:
        until(page.locator("#overlay .line").count, 2)
        assert faults(page) == []
        page.get_by_role("link", name="sums <b>grpo").click()
        until(page.locator("#answers li").count, 25)
        page.locator("#answers button").first.click()
        until(page.locator("#answer").is_visible, True)
        assert faults(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_for_a_phone_and_for_everybody(browser: Any, runs: Path, scheme: str) -> None:
    address = write_report(runs / "sums <b>grpo").as_uri()
    with quiet_page(browser, address, color_scheme=scheme, java_script_enabled=False) as page:
        assert page.locator("figure").count() == 21
        assert page.locator("svg:visible").count() == 21  # the first figure has one for a narrow screen too
    with quiet_page(browser, address, viewport={"width": 360, "height": 740}, color_scheme=scheme) as page:
        assert width(page) == 360
        assert page.locator("svg:visible").count() == 21
    with quiet_page(browser, address, color_scheme=scheme, bypass_csp=True) as page:
        assert faults(page) == []
