"""Boards: what is ranked, tied, marked and averaged, and how it is told as text."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from leaderboard_samples import PUBLISHED_GSM8K, made_up, write_folder

from reasongym.cli.leaderboard import command
from reasongym.errors import DataError, ReasongymError, UnknownNameError
from reasongym.evaluation import compare_paired
from reasongym.leaderboard import Boards, Metric, Store, Submission, read_boards
from reasongym.leaderboard.board import KNOWN_DATA
from reasongym.leaderboard.exchange import export_results, import_results
from reasongym.leaderboard.formats import FORMATS
from reasongym.leaderboard.store import RowMeans
from reasongym.leaderboard.ties import ALPHA, EXACT, holm, p_value
from reasongym.registry import task
from reasongym.tasks import TaskOptions


def boards_with(folder: Path, *made: Submission) -> Boards:
    """The boards of a store of these."""
    with Store(str(folder / "s.db"), create=True) as store:
        for one in made:
            store.add(one)
        return read_boards(store)


def places(boards: Boards, number: int = 0) -> dict[str, str]:
    """Model -> `1`, `2=`, `-`."""
    return {line.result.entry.model: "-" if line.rank is None else f"{line.rank.place}{'=' * line.rank.tied}"
            for line in boards.boards[number].lines}


def flipped(right: Sequence[bool], rows: range) -> list[bool]:
    return [not value if row in rows else value for row, value in enumerate(right)]


def test_models_apart_by_chance_share_a_place_and_others_do_not(tmp_path: Path) -> None:
    best = [row < 160 for row in range(200)]
    # two rows lost: McNemar gives p = 0.5; 60 lost and none won: p = 2^-59
    made = made_up("best", right=best), made_up("near", right=flipped(best, range(2))), \
        made_up("far", right=flipped(best, range(60)))
    assert places(boards_with(tmp_path, *made)) == {"best": "1=", "near": "1=", "far": "3"}


def test_pairing_tells_apart_what_intervals_cannot(tmp_path: Path) -> None:
    """Ten rows of 100 lost and none won: p = 2^-9, though 60 [50, 69] and 50 [40, 60] overlap."""
    better = [row < 60 for row in range(100)]
    worse = flipped(better, range(10))
    assert places(boards_with(tmp_path, made_up("a", right=better), made_up("b", right=worse))) == {"a": "1", "b": "2"}


def test_without_samples_the_intervals_decide(tmp_path: Path) -> None:
    better = [row < 60 for row in range(100)]
    made = made_up("a", right=better, samples=False), made_up("b", right=flipped(better, range(10)), samples=False)
    boards = boards_with(tmp_path, *made)
    assert places(boards) == {"a": "1=", "b": "1="}
    assert boards.boards[0].lines[0].marks == ("no samples",)


def test_many_comparisons_are_corrected_for() -> None:
    # Holm: 0.01 <= 0.05/4, 0.02 > 0.05/3 stops all that follow, 0.03 <= 0.05/2 or not
    assert holm([0.03, 0.01, 0.02, 0.9], ALPHA) == [False, True, False, False]
    assert holm([0.01, 0.0125, 0.025, 0.05], ALPHA) == [True] * 4
    assert holm([], ALPHA) == []


@pytest.mark.parametrize("gap", [0.01, 0.03, 0.05, 0.3])
def test_the_fast_test_agrees_with_the_slow_one(gap: float) -> None:
    rng = random.Random(1)
    first = [float(rng.random() < 0.5) for _ in range(900)]
    second = [float(rng.random() < 0.5 - gap) for _ in range(900)]
    assert sum(a != b for a, b in zip(first, second, strict=True)) > EXACT
    rows = [str(row) for row in range(900)]
    fast = p_value(metric(first), metric(second), RowMeans("d", rows, first), RowMeans("d", rows, second))
    slow = compare_paired([[a] for a in first], [[b] for b in second], resamples=1)
    assert slow.exact
    assert fast == pytest.approx(slow.p_value, rel=0.05, abs=1e-6)


def test_only_rows_that_both_have_are_paired() -> None:
    first, second = [1.0] * 30 + [0.0] * 30, [0.0] * 30
    many, few = [f"{row:02}" for row in range(60)], [f"{row:02}" for row in range(30)]
    # on the 30 shared rows all is lost: p = 2^-29; over all rows the means 0.5 and 0 say less
    paired = p_value(metric(first), metric(second), RowMeans("a", many, first), RowMeans("b", few, second))
    assert paired == pytest.approx(2 ** -29)
    strangers = RowMeans("c", [f"x{row}" for row in few], second)
    unpaired = p_value(metric(first), metric(second), RowMeans("a", many, first), strangers)
    assert unpaired != pytest.approx(paired)


def metric(scores: Sequence[float]) -> Metric:
    mean = sum(scores) / len(scores)
    return Metric("accuracy", mean, mean - 0.1, mean + 0.1, "wilson", len(scores), len(scores))


@pytest.mark.parametrize(("about", "mark"), [
    ({"fingerprint": "mine"}, "other data"), ({"verifier": "v2"}, "other verifier"),
    ({"settings": {"levels": 3}}, "other settings of the task"),
    ({"partial": True}, "partial: 0 of 40 answers are missing")])
def test_what_is_not_comparable_is_shown_and_not_ranked(tmp_path: Path, about: dict[str, object], mark: str) -> None:
    made = made_up("other", share=1.0, **about), made_up("a"), made_up("b", seed=1)
    boards = boards_with(tmp_path, *made)
    assert places(boards)["other"] == "-"
    (marks,) = [line.marks for line in boards.boards[0].lines if line.result.entry.model == "other"]
    assert mark in marks
    assert "other" not in {one.model for one in boards.overall}


def test_easy_rows_cannot_take_over_a_name_that_everybody_knows(tmp_path: Path) -> None:
    made = [made_up(f"easy {number}", fingerprint="easy", share=1.0) for number in range(3)]
    assert set(places(boards_with(tmp_path / "a", *made)).values()) == {"1="}
    boards = boards_with(tmp_path / "b", *made, made_up("real"))
    assert places(boards) == {"real": "1", **{f"easy {number}": "-" for number in range(3)}}
    assert "not known to be the published gsm8k" in boards.boards[0].lines[1].marks


def test_the_published_rows_are_known_by_their_fingerprint(shared_data: Path) -> None:
    found = task("gsm8k", TaskOptions(data=str(shared_data / "gsm8k"))).provenance()["fingerprint"]
    assert found == PUBLISHED_GSM8K
    assert found in KNOWN_DATA["gsm8k", "test"]


def test_shots_are_no_other_task(tmp_path: Path) -> None:
    boards = boards_with(tmp_path, made_up("a", settings={"shots": 4}), made_up("b"))
    assert "-" not in places(boards).values()
    assert {one.label for one in boards.overall} == {"greedy, 4-shot, 256 tokens", "greedy, 256 tokens"}


def test_the_macro_mean_needs_every_task(tmp_path: Path) -> None:
    half, all_right = [True, False] * 20, [True] * 40
    boards = boards_with(tmp_path, made_up("both", right=half), made_up("one", right=all_right),
                         made_up("both", right=all_right, task="svamp", fingerprint="s"))
    macros = {one.model: one.macro for one in boards.overall}
    assert macros["one"] is None
    assert macros["both"] is not None
    assert macros["both"].mean == pytest.approx(0.75)
    mains = [line.result.main for board in boards.boards for line in board.lines if line.result.entry.model == "both"]
    half_width = sum(((main.high - main.low) / 2) ** 2 for main in mains) ** 0.5 / 2  # sqrt(h1^2 + h2^2) / 2
    assert (macros["both"].high - macros["both"].low) / 2 == pytest.approx(half_width)


HOSTILE = "=a|<img src=x>`[l](u)\x1b[31m\u202e\n*b*"


def test_a_hostile_name_stays_a_name_in_every_format(tmp_path: Path) -> None:
    boards = boards_with(tmp_path, made_up(HOSTILE), made_up("other", task="svamp"))
    told = {name: form(boards) for name, form in FORMATS.items()}
    assert not any(sign in text for text in told.values() for sign in ("\x1b", "\u202e"))
    (line,) = [row for row in told["markdown"].splitlines() if "img" in row and row.startswith("| 1")]
    assert r"=a\|\<img src=x\>\`\[l\](u)" in line
    rows = list(csv.DictReader(io.StringIO(told["csv"])))
    assert rows[0]["model"].startswith("'=a|<img")
    assert json.loads(told["json"])["boards"][0]["results"][0]["model"] == HOSTILE


def test_every_format_tells_the_same_numbers(tmp_path: Path) -> None:
    boards = boards_with(tmp_path, made_up("m", right=[True] * 30 + [False] * 10))
    # 30 of 40: Wilson's interval is (0.5981, 0.8581)
    assert "75.0 [59.8, 85.8]" in FORMATS["table"](boards)
    assert "75.0 [59.8, 85.8]" in FORMATS["markdown"](boards)
    assert json.loads(FORMATS["json"](boards))["boards"][0]["results"][0]["mean"] == 0.75
    assert next(csv.DictReader(io.StringIO(FORMATS["csv"](boards))))["mean"] == "0.75"


def test_an_export_brings_everything_to_another_store_once(tmp_path: Path) -> None:
    made = [made_up("a", texts=("\x00 \ud800 <b>",)), made_up("b", samples=False), made_up("c", task="svamp")]
    with Store(str(tmp_path / "a.db"), create=True) as first, Store(str(tmp_path / "b.db"), create=True) as second:
        digests = [first.add(one).digest for one in made]
        assert export_results(first, tmp_path / "out") == 3
        assert [added.new for added in import_results(second, tmp_path / "out")] == [True] * 3
        assert [added.new for added in import_results(second, tmp_path / "out")] == [False] * 3
        assert [result.digest for result in second.results()] == digests
        assert [second.samples(result.id) for result in second.results()] == \
            [first.samples(result.id) for result in first.results()]
        assert export_results(first, tmp_path / "svamp", task="svamp") == 1
        with pytest.raises(DataError, match="in use"):
            export_results(first, tmp_path / "out")


def test_an_export_that_was_changed_is_refused(tmp_path: Path) -> None:
    with Store(str(tmp_path / "a.db"), create=True) as store, Store(str(tmp_path / "b.db"), create=True) as other:
        store.add(made_up("honest"))
        export_results(store, tmp_path / "out")
        path = tmp_path / "out" / "results.json"
        good = path.read_text()
        for bad in (good.replace("honest", "better"), good.replace('"mean": 0.', '"mean": 0.9'), "{}", good[:50]):
            path.write_text(bad)
            with pytest.raises(DataError):
                import_results(other, tmp_path / "out")
        path.write_text(good)
        (tmp_path / "out" / "samples.parquet").write_bytes(b"PAR1 no")
        with pytest.raises(DataError, match="cannot read"):
            import_results(other, tmp_path / "out")
        assert other.count() == 0


def run(store: Path, *arguments: str) -> str:
    """The command's output; its errors are raised."""
    done = CliRunner().invoke(command, ["--store", str(store), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_commands_go_from_folders_to_tables(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "evals" / "a", "org/model", right=[True] * 5 + [False] * 5)
    store = tmp_path / "evals" / "board.db"
    assert "added: org/model on gsm8k/test, accuracy 0.5000" in run(store, "add", str(folder))
    assert "already there" in run(store, "add", str(folder), str(store))  # as evals/* gives it: files are passed over
    assert "org/model" in run(store)
    assert json.loads(run(store, "--task", "gsm8k", "--format", "json"))["boards"][0]["results"][0]["prompts"] == 10
    assert "1 results written" in run(store, "export", "--output", str(tmp_path / "out"))
    assert "1 added, 0 already there" in run(tmp_path / "other.db", "import", str(tmp_path / "out"))


def test_a_folder_without_a_result_keeps_no_other_out(tmp_path: Path) -> None:
    good = write_folder(tmp_path / "good", right=[True, False])
    (tmp_path / "empty").mkdir()
    store = tmp_path / "s.db"
    with pytest.raises(DataError, match="empty"):
        run(store, "add", str(tmp_path / "empty"), str(good))
    assert "model" in run(store)


@pytest.mark.parametrize(("arguments", "error"), [
    (["--task", "gsm8"], UnknownNameError), (["export", "--task", "gsm8", "--output", "x"], UnknownNameError)])
def test_an_unknown_task_names_the_nearest(tmp_path: Path, arguments: list[str], error: type[ReasongymError]) -> None:
    with Store(str(tmp_path / "s.db"), create=True) as store:
        store.add(made_up())
    with pytest.raises(error, match="Did you mean 'gsm8k'"):
        run(tmp_path / "s.db", *arguments)
