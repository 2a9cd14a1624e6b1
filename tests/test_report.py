"""The report of a run: a page that is safe to open and says what the run's files say."""

from __future__ import annotations

import fcntl
import math
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from sample_runs import HOSTILE, sample_run

from reasongym.cli.report import command
from reasongym.errors import DataError, UnknownNameError
from reasongym.tracking import MetricsLog, RunFolder, write_curve_svg, write_report
from reasongym.tracking.ending import write_ending
from reasongym.tracking.numbers import number, percent
from reasongym.tracking.overview.run import Run
from reasongym.tracking.report.axis import Axis, step_ticks
from reasongym.tracking.report.curves import MAX_POINTS
from reasongym.tracking.report.samples import chosen
from reasongym.tracking.report.svg import Series, chart

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Counts elements, collects attributes and text, and fails on a tag that closes none."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return sample_run(tmp_path_factory.mktemp("runs") / "sums-grpo", substitute="openai/gsm8k")


@pytest.fixture(scope="module")
def html(run: RunFolder) -> str:
    return write_report(run.path).read_text()


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_hostile_text_stays_text(html: str, page: Page) -> None:
    assert page.count["script"] == page.count["b"] == 0
    assert '<script>alert("x")</script>\\x1b[31m\\u202e</pre><b>' in page.text  # HOSTILE, shown as what it is
    assert HOSTILE not in html
    assert re.findall(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", html) == []


def test_the_page_loads_and_runs_nothing(html: str, page: Page) -> None:
    assert [name for name, _ in page.attributes if name.startswith("on") or name == "src"] == []
    assert all(str(value).startswith("#") for name, value in page.attributes if name == "href")
    assert page.count["link"] == page.count["iframe"] == page.count["img"] == 0
    assert "default-src 'none'" in html
    assert "@import" not in html
    assert "url(" not in html


def test_every_link_has_its_target(page: Page) -> None:
    targets = {value for name, value in page.attributes if name == "id"}
    assert {str(value)[1:] for name, value in page.attributes if name == "href"} <= targets


def test_the_headline_is_the_held_out_gain(page: Page) -> None:
    # level 40 / (40 + 12) = 0.769, held-out 0.95 of it
    assert "0.000 → 0.731" in page.text
    assert "+0.731, steps 0 to 40" in page.text
    assert "Steps40 of 40" in page.text


def test_charts_have_names_for_those_who_cannot_see_them(html: str) -> None:
    pictures = [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]
    assert len(pictures) == 2 + 20  # the first of 21 figures is there for a wide screen and for a narrow one
    assert all("at step 40" in picture.attrib["aria-label"] for picture in pictures)


def test_a_substitute_data_set_is_never_passed_over(page: Page, tmp_path: Path) -> None:
    assert "This run did not train on openai/gsm8k." in page.text
    honest = Page(write_report(sample_run(tmp_path / "honest").path).read_text())
    assert "did not train on" not in honest.text


def test_a_run_that_has_just_begun_has_a_report(tmp_path: Path) -> None:
    text = Page(write_report(RunFolder(tmp_path / "new").path).read_text()).text
    assert "No numbers are recorded yet." in text
    assert "This run has kept no answers." in text


def test_a_run_of_one_step_has_curves(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "one")
    MetricsLog(folder, tensorboard=False).write(1, {"reward/mean": 0.0, "train/loss": float("nan")})
    assert Page(write_report(folder.path).read_text()).count["svg"] == 2


def test_a_damaged_rollout_file_costs_only_its_own_section(tmp_path: Path) -> None:
    folder = sample_run(tmp_path / "run")
    (folder.rollouts / "step-000001.parquet").write_bytes(b"PAR1")
    text = Page(write_report(folder.path).read_text()).text
    assert "step-000001.parquet cannot be read" in text
    assert "Step 40" in text


def test_a_damaged_record_costs_a_run_no_report(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.environment.write_text("{")
    folder.metrics.write_text('{"step": 1, "reward/mean": 0.5}\n{\n{"step": 2, "reward/mean": 0.75}\n')
    text = Page(write_report(folder.path).read_text()).text
    assert "not readable: environment.json" in text
    assert "not readable: 1 lines of metrics.jsonl" in text
    assert "0.500 → 0.750" in text


def test_a_run_that_writes_its_own_report_has_ended(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run").path
    with (folder / ".lock").open("w") as lock:  # as a run holds it until its process ends
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert '"tag running"' in write_report(folder).read_text()
        write_ending(folder, "finished")
        assert '"tag finished"' in write_report(folder).read_text()


def test_a_report_does_not_make_a_killed_run_a_stopped_one(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    MetricsLog(folder, tensorboard=False).write(1, {"reward/mean": 0.0})
    write_report(folder.path)
    assert "it was killed" in Page(write_report(folder.path).read_text()).text


def test_rows_of_one_step_are_one_step_and_the_later_counts(tmp_path: Path) -> None:
    log = MetricsLog(folder := RunFolder(tmp_path / "run"), tensorboard=False)
    for step, values in ((2, {"a": 1.0}), (1, {"a": 5.0}), (2, {"b": 2.0}), (2, {"a": 3.0})):
        log.write(step, values)
    run = Run(folder.path)
    assert (list(run.curve("a").steps), list(run.curve("a").values)) == ([1, 2], [5.0, 3.0])
    assert (list(run.curve("b").steps), list(run.curve("b").values)) == ([2], [2.0])


def test_intervals_are_over_prompts_and_never_empty(tmp_path: Path) -> None:
    log = MetricsLog(folder := RunFolder(tmp_path / "run"), tensorboard=False)
    log.write(1, {"eval/reward/mean": 0.5, "eval/reward/answer": 0.5, "eval/prompts": 100})
    log.write(2, {"eval/reward/mean": 0.0, "eval/reward/answer": 0.0, "eval/prompts": 10})
    log.write(3, {"eval/reward/mean": 0.0, "eval/reward/answer": 0.0})
    first, second = Run(folder.path).intervals("eval/reward/answer").values()
    # z = 1.96, n = 100, p = 0.5: centre 0.5, half-width z / (1 + z^2/n) * sqrt(0.25/n + z^2 / 4n^2)
    #   = 1.96 / 1.038415 * sqrt(0.0025 + 0.000096) = 1.88749 * 0.0509515 = 0.09617
    assert first == (pytest.approx(0.40383, abs=1e-4), pytest.approx(0.59617, abs=1e-4))
    # p = 0: from 0 to z^2 / (n + z^2) = 3.8415 / 13.8415 = 0.27753, where p +- z s / sqrt(n) has no width
    assert second == (0.0, pytest.approx(0.27753, abs=1e-4))


def test_no_answer_is_shown_twice_and_the_best_are_of_different_prompts() -> None:
    rows = [{"row": g, "score": r, "tokens": n} for g, r, n in
            ((0, 1.0, 5), (0, 1.0, 9), (1, 0.5, 7), (2, 0.0, 3), (2, None, 4))]
    picks = [(kind, rows.index(row)) for kind, row in chosen(rows)]
    assert picks == [("best", 0), ("best", 2), ("worst", 3), ("longest", 1)]
    assert chosen([]) == []


def test_a_long_run_is_thinned_to_what_a_chart_can_show(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.metrics.write_text("".join(f'{{"step": {i}, "train/loss": {i}}}\n' for i in range(1000)))
    picture = ElementTree.fromstring(re.findall(r"<svg.*?</svg>", write_report(folder.path).read_text(), re.DOTALL)[0])
    hovers = [e for e in picture.iter() if e.get("class") == "hover"]
    # chunks of ceil(1000 / 120) = 9 steps, of which there are ceil(1000 / 9)
    assert len(hovers) == 112 <= MAX_POINTS
    assert "step 8\nloss: 4 (0 to 8 over 9 steps)" in "".join(hovers[0].itertext())  # 0..8 at the last of them


def test_many_curves_do_not_run_out_of_the_picture() -> None:
    series = [Series(label="unparsable", x=[1, 2], y=[0.5, 0.25], colour=i) for i in range(6)]
    picture = ElementTree.fromstring(chart("t", series, width=440))
    texts = [e for e in picture.iter() if (e.text or "").startswith("unparsable ")]
    # a label of 10 + 4 characters and its dot takes 25 + 6.9 * 15 = 128 of the 440 - 52: three a row
    assert sorted(Counter(e.attrib["y"] for e in texts).values()) == [3, 3]


def test_a_flat_curve_and_a_single_point_have_an_axis() -> None:
    for values in ([0.0, 0.0], [3e-5, 3e-5], [-2.0], [5.0]):
        axis = Axis(values, 100.0, 0.0)
        assert axis.low < axis.high
        assert all(-1e-9 <= axis.at(value) <= 100.0 + 1e-9 for value in values)


@pytest.mark.parametrize("values", [[1e308, -1e308], [0.0, 5e-324], [1e-310], [1.0, 1.0 + 2.3e-16], [1e308]])
def test_a_run_that_diverges_has_an_axis(values: list[float]) -> None:
    for from_zero in (True, False):
        axis = Axis(values, 100.0, 0.0, from_zero=from_zero)
        assert axis.low < axis.high
        assert len(axis.ticks) < 10
        assert all(map(math.isfinite, map(axis.at, values)))


def test_ticks_are_round_numbers_around_the_data() -> None:
    # span 0.83 / 4 = 0.2075, the next round step is 0.25
    assert Axis([0.1, 0.83], 0.0, 1.0).ticks == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert step_ticks(0, 60) == [0, 10, 20, 30, 40, 50, 60]
    assert step_ticks(5, 5) == [5]
    assert step_ticks(1, 2) == [1, 2]


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (0.04123, "0.0412"), (12.34, "12.3"), (4250.0, "4,250"), (1.2e6, "1.2M"), (3e-6, "3e-6"),
    (-0.5, "-0.5")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_a_small_share_is_not_rounded_to_nothing() -> None:
    assert (percent(0.004), percent(0.416), percent(1.0)) == ("0.4%", "42%", "100%")


def test_the_curve_is_one_self_contained_picture(run: RunFolder, tmp_path: Path) -> None:
    path = write_curve_svg(run.path, tmp_path / "new" / "x.svg", "Sums <GRPO> & more")
    picture = ElementTree.parse(path).getroot()
    assert "Sums <GRPO> & more" in "".join(picture.itertext())
    assert "prefers-color-scheme" in path.read_text()
    assert math.isclose(float(picture.attrib["viewBox"].split()[2]), 760)


def test_a_run_without_rewards_has_no_curve(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no reward to draw"):
        write_curve_svg(RunFolder(tmp_path / "new").path, tmp_path / "x.svg", "t")


def test_the_command_prints_where_the_report_lies(run: RunFolder, tmp_path: Path) -> None:
    curve = tmp_path / "x.svg"
    done = CliRunner().invoke(command, ["sums-grpo", "--runs", str(run.path.parent), "--curve", str(curve)])
    assert done.exit_code == 0
    assert done.output.splitlines() == [str(run.report), str(curve)]
    assert "arithmetic, smollm2-135m, grpo" in curve.read_text()


@pytest.mark.parametrize("named", ["sums_grpo", "{runs}/sums_grpo"])
def test_an_unknown_run_names_the_nearest(run: RunFolder, named: str) -> None:
    runs = str(run.path.parent)
    with pytest.raises(UnknownNameError, match=r"Did you mean '.*sums-grpo'\?"):
        CliRunner().invoke(command, [named.format(runs=runs), "--runs", runs], catch_exceptions=False)
