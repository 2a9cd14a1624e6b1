"""The pages of runs as text and as files: what a run's folder says, in bounded memory, and nothing of it is markup."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from page_servers import connected_to
from sample_runs import HOSTILE, sample_run

from reasongym.cli.runs import command
from reasongym.errors import ConfigError, DataError, TrainerError, UserError
from reasongym.pages.answers import FIELDS
from reasongym.pages.serving import Server
from reasongym.tracking import MetricsLog, RunFolder
from reasongym.tracking.ending import failure_recorded, state_of, write_ending
from reasongym.tracking.overview import samples
from reasongym.tracking.overview.columns import Columns, Curve
from reasongym.tracking.overview.findings import findings
from reasongym.tracking.overview.library import KEPT, Library
from reasongym.tracking.overview.live import LivePages
from reasongym.tracking.overview.run import Run
from reasongym.tracking.overview.site import ASSETS, evenly, write_runs
from reasongym.tracking.overview.thinning import MAX_POINTS, drawn

NAME = "sums <script>alert(1)</script>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one with a hostile name and hostile answers; and a folder that is none."""
    folder = tmp_path_factory.mktemp("home") / "runs"
    sample_run(folder / "sums-grpo")
    sample_run(folder / NAME.replace("/", "|"), steps=20)
    (folder / "notes").mkdir()
    return folder


@pytest.fixture(scope="module")
def site(runs: Path) -> Path:
    """The folder of their pages."""
    return write_runs(Library((runs,)), runs.parent / "site", title="<b>Runs</b>", steps=2).parent


def given(text: str, function: str = "given") -> list[Any]:
    """What a script hands to the one function it calls."""
    called = re.fullmatch(rf"{function}\((.*)\);\n", text)
    assert called is not None
    assert "<" not in text
    return list(json.loads(f"[{called[1]}]"))


def written(folder: RunFolder, *values: dict[str, float]) -> Run:
    log = MetricsLog(folder, tensorboard=False)
    for step, row in enumerate(values, start=1):
        log.write(step, row)
    return Run(folder.path, "run")


def test_no_text_of_a_run_is_markup(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) == 3
    for page in pages:
        text = page.read_text()
        assert "<script>alert" not in text
        assert "<b>" not in text
        assert not re.search(r"\son\w+=|style=|https?://", text)
        assert "default-src 'none'" in text
    for script in site.rglob("runs/*/*.js"):
        assert "<" not in script.read_text(encoding="ascii")


def test_no_script_makes_markup_of_text(site: Path) -> None:
    scripts = "".join(file.read_text() for file in (site / "assets").glob("*.js"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", scripts)
    assert sum(file.stat().st_size for file in (site / "assets").iterdir()) < 100_000


def test_an_answer_has_what_the_browser_of_answers_shows(site: Path) -> None:
    (folder,) = site.glob("runs/sums-grpo")
    assert given((folder / "index.js").read_text(), "answersIndex") == [{"files": ["1-0", "40-0"], "over": "step"}]
    name, rows = given((folder / "40-0.js").read_text(), "answersFile")
    assert (name, len(rows)) == ("40-0", 33)
    first = dict(zip(FIELDS, rows[0], strict=True))
    assert (first["row"], first["extracted"], first["reason"]) == ("arithmetic/train/0", "7", "as numbers")
    assert first["reference"] == '{"value": 7}'
    assert [row[1] for row in rows[:9]] == [*range(8), 0]  # the number of an answer among those to its prompt
    assert rows[-1][4] == HOSTILE
    assert json.loads(str(first["parts"])).keys() == {"answer", "format"}


def test_a_step_of_many_answers_is_given_in_parts(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "CHUNK", 10)
    path = runs / "sums-grpo/rollouts/step-000040.parquet"
    files = [given(text, "answersFile") for _, text in samples.files_of_step(path, 40, 99)]
    assert [len(rows) for _, rows, *_ in files] == [10, 10, 10, 3]
    assert [more for *_, more in files[:1]] == [3]
    assert samples.file_of_step(path, 40, 4) == ""


def test_a_damaged_file_of_answers_is_named_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "step-000001.parquet"
    path.write_bytes(b"PAR1")
    _, ((*_, ), ) = given(samples.file_of_step(path, 1, 0), "answersFile")
    assert "step-000001.parquet cannot be read" in samples.file_of_step(path, 1, 0)


def test_the_best_score_is_the_main_parts_with_its_interval(runs: Path) -> None:
    best = Run(runs / "sums-grpo", "x").best
    assert best is not None
    # level 40 / 52, answer 0.9 of it: 0.6923; Wilson's interval over 200 prompts is about +- 0.064 around it
    assert (best.name, best.step) == ("eval/reward/answer", 40)
    assert best.value == pytest.approx(0.6923, abs=1e-4)
    assert best.interval == (pytest.approx(0.6233, abs=2e-3), pytest.approx(0.7511, abs=2e-3))


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "a": 1.0}\n{"step": 2, "a": 2.0}\n{"step": 3, "a"')
    columns = Columns(path)
    columns.refresh()
    assert list(columns.curves["a"].steps) == [1, 2]  # the last line has no end yet
    with path.open("a") as file:
        file.write(': 3.0}\nnot a row\n{"step": 2, "a": 5.0, "b": true, "c": null, "d": 1e999}\n')
    columns.refresh()
    assert dict(zip(columns.curves["a"].steps, columns.curves["a"].values, strict=True)) == {1: 1.0, 2: 5.0, 3: 3.0}
    assert (columns.damaged, columns.curves.keys()) == (1, {"a"})
    replacement = tmp_path / "new"
    replacement.write_text('{"step": 1, "a": 7.0}\n' + " " * 1000)  # no shorter than the one before
    os.replace(replacement, path)  # as a resumed run does
    columns.refresh()
    assert list(columns.curves["a"].values) == [7.0]


def test_a_spike_of_one_step_is_still_seen_in_a_long_run() -> None:
    curve = Curve()
    for step in range(10_000):
        curve.add(step, 100.0 if step == 5_000 else 1.0)
    thin = drawn(curve)
    assert len(thin["x"]) <= MAX_POINTS
    assert max(thin["high"]) == 100.0
    assert thin["x"][-1] == 9_999
    short = Curve()
    short.add(1, 0.5)
    assert drawn(short) == {"x": [1], "y": [0.5]}


def test_a_library_keeps_a_bounded_number_of_runs(tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        written(RunFolder(tmp_path / f"run {number}"), {"reward/mean": 0.5})
    library = Library((tmp_path,))
    lines = library.lines()
    assert len({line.slug for line in lines}) == KEPT + 5
    assert len(library._runs) == KEPT
    assert library.version(library.lines()) == library.version(lines)
    MetricsLog(RunFolder(tmp_path / "run 0", resume=True), tensorboard=False).write(2, {"reward/mean": 0.7})
    assert library.version(library.lines()) != library.version(lines)


def test_two_runs_of_one_name_have_two_pages(tmp_path: Path) -> None:
    for above in ("a", "b"):
        written(RunFolder(tmp_path / above / "same"), {"reward/mean": 0.5})
    assert sorted(line.slug for line in Library((tmp_path / "a", tmp_path / "b")).lines()) == ["same", "same-2"]


def test_how_a_run_ended_is_told_apart(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run").path
    (folder / "metrics.jsonl").write_text('{"step": 1}\n')
    assert state_of(folder).state == "failed"  # killed: it says nothing
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert state_of(folder).state == "running"
    with pytest.raises(TrainerError), failure_recorded(folder):
        raise TrainerError("rank 1 is gone")
    assert state_of(folder) == ("failed", "TrainerError: rank 1 is gone")
    with failure_recorded(folder):
        write_ending(folder, "finished")
    with pytest.raises(UserError), failure_recorded(folder):
        raise UserError("nothing to resume")
    assert state_of(folder) == ("finished", "")
    with pytest.raises(KeyboardInterrupt), failure_recorded(folder):
        raise KeyboardInterrupt
    assert state_of(folder).state == "stopped"


def test_a_run_from_before_ends_were_recorded_has_finished(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.final.mkdir()
    assert state_of(folder.path).state == "finished"
    folder.path.joinpath("ended.json").write_text('{"state": "<b>"}')
    assert state_of(folder.path).state == "finished"


def test_trouble_is_found_only_where_it_lasts(tmp_path: Path) -> None:
    bad, good = {"rollout/flat_group_share": 1.0}, {"rollout/flat_group_share": 0.2}
    assert findings(written(RunFolder(tmp_path / "a"), good, bad, bad)) == []
    (found,) = findings(written(RunFolder(tmp_path / "b"), good, bad, bad, bad))
    assert (found.since, "equal rewards" in found.what) == (2, True)
    assert findings(written(RunFolder(tmp_path / "c"), bad, bad, bad, good)) == []


def test_a_damaged_record_costs_only_itself(runs: Path, tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", steps=3)
    run.config.write_text("{a: [")
    run.environment.write_text("[" * 100_000)
    assert Run(run.path, "run").damage == ("config.yaml", "environment.json")
    text = write_runs(Library((tmp_path,)), tmp_path / "out", title="t", steps=1).parent.joinpath(
        "runs/run/index.html").read_text()
    assert "not readable: config.yaml" in text


def test_steps_are_chosen_evenly() -> None:
    assert evenly(range(1, 102), 3) == [1, 51, 101]
    assert evenly([4, 5], 3) == [4, 5]
    assert evenly([4, 5], 1) == [4]
    assert evenly([4, 5], 0) == []


def test_pages_of_runs_replace_no_other_folder(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="in use"):
        write_runs(Library((runs,)), tmp_path, title="t", steps=1)


@pytest.fixture
def server(runs: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to a server of the runs."""
    pages = LivePages(Library((runs,)), title="t")
    with Server(pages.routes, assets=ASSETS, host="127.0.0.1", port=0) as listening, \
            connected_to(listening) as connection:
        yield connection


def get(server: http.client.HTTPConnection, path: str) -> tuple[int, str]:
    server.request("GET", path)
    answer = server.getresponse()
    return answer.status, answer.read().decode()


def test_the_server_has_the_files_of_the_folder(server: http.client.HTTPConnection, site: Path) -> None:
    for file in site.rglob("*.*"):
        status, text = get(server, f"/{file.relative_to(site).as_posix()}")
        assert status == 200, file
        if re.search(r"assets/|\d-0\.js", str(file)):
            assert text == file.read_text()
    for path in ("/pulse.js", "/table.js", "/runs/sums-grpo/pulse.js"):
        assert get(server, path)[0] == 200


@pytest.mark.parametrize("path", ["/runs/", "/runs/nothing/", "/runs/../runs/sums-grpo/", "/runs/sums-grpo/config.yaml",
                                  "/runs/sums-grpo/2-0.js", "/runs/sums-grpo/40-9.js", "/assets/page.html", "/runs/./"])
def test_the_server_of_runs_has_no_other_page(server: http.client.HTTPConnection, path: str) -> None:
    assert get(server, path)[0] == 404


def test_the_command_writes_pages_and_names_what_is_missing(runs: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(runs), "--output", str(tmp_path / "out")])
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'out/index.html'}\n")
    for asked, said in ((tmp_path / "none", "is no folder"), (runs / "notes", "no runs in")):
        with pytest.raises(DataError, match=said):
            CliRunner().invoke(command, [str(asked)], catch_exceptions=False)
