"""Boards: what is ranked, tied, marked and averaged, and how it is told as text."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from leaderboard_samples import PUBLISHED_GSM8K, made_up, record, write_folder

from reasongym.cli.leaderboard import command
from reasongym.errors import ConfigError, DataError, ReasongymError, UnknownNameError
from reasongym.evaluation import compare_paired, wilson_interval
from reasongym.evaluation.record import Result
from reasongym.leaderboard import Boards, Metric, Store, Submission, read_boards
from reasongym.leaderboard.exchange import export_results, import_results
from reasongym.leaderboard.formats import FORMATS
from reasongym.leaderboard.published import KNOWN_DATA, REFERENCES, check_published
from reasongym.leaderboard.reading import entry_of, read_folder, submission
from reasongym.leaderboard.store import RowMeans
from reasongym.leaderboard.ties import ALPHA, EXACT, holm, mcnemar, p_value, rank
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


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 0), (5, 1), (60, 41), (130, 100), (40, 0)])
def test_counting_bits_is_the_same_test(tmp_path: Path, won: int, lost: int) -> None:
    first, second = [1.0] * won + [0.0] * lost + [1.0] * 30, [0.0] * won + [1.0] * lost + [1.0] * 30
    rows = [str(row) for row in range(len(first))]
    slow = p_value(metric(first), metric(second), RowMeans("d", rows, first), RowMeans("d", rows, second))
    assert mcnemar(won, lost) == pytest.approx(slow, abs=1e-12)


def test_answers_right_in_part_are_not_counted_as_bits(tmp_path: Path) -> None:
    """0.75 and 0.25 of three answers to each of 40 rows: as bits, both would be 0 and tied."""
    made = [made_up(name, prompts=40) for name in ("a", "b")]
    with Store(str(tmp_path / "s.db"), create=True) as store:
        for one in made:
            store.add(one)
        stored = store.results()
    rows = [str(row) for row in range(40)]
    means = {one.id: RowMeans("d", rows, [share] * 40) for one, share in zip(stored, (0.75, 0.25), strict=True)}
    assert {one.place for one in rank(stored, means).values()} == {1, 2}


def test_only_rows_that_both_have_are_paired() -> None:
    first, second = [1.0] * 30 + [0.0] * 30, [0.0] * 30
    many, few = [f"{row:02}" for row in range(60)], [f"{row:02}" for row in range(30)]
    # on the 30 shared rows all is lost: p = 2^-29; over all rows the means 0.5 and 0 say less
    paired = p_value(metric(first), metric(second), RowMeans("a", many, first), RowMeans("b", few, second))
    assert paired == pytest.approx(2 ** -29)
    strangers = RowMeans("c", [f"x{row}" for row in few], second)
    unpaired = p_value(metric(first), metric(second), RowMeans("a", many, first), strangers)
    assert unpaired != pytest.approx(paired)


def test_a_few_shared_rows_of_many_are_not_what_two_results_are_compared_by() -> None:
    """Of 400 rows each they share 30, which both got right: paired they were tied, at 90 and 10 %."""
    first, second = [1.0] * 360 + [0.0] * 40, [1.0] * 30 + [0.0] * 360 + [1.0] * 10
    rows = [f"{row:03}" for row in range(400)]
    few, half = ([*rows[:shared], *(f"x{row}" for row in rows[shared:])] for shared in (30, 200))
    assert p_value(exact(first), exact(second), RowMeans("a", rows, first), RowMeans("b", few, second)) < 1e-9
    # half is enough: 170 of the 200 shared rows are lost and none is won
    paired = p_value(exact(first), exact(second), RowMeans("a", rows, first), RowMeans("c", half, second))
    assert paired == pytest.approx(2 ** -169, rel=1e-9)


def test_a_handful_of_rows_tells_nothing_apart() -> None:
    """5 of 5 against 0 of 5: Wilson's intervals lie far apart, and the exact test of the pairs gives p = 1/16."""
    first, second, rows = [1.0] * 5, [0.0] * 5, [str(row) for row in range(5)]
    paired = p_value(exact(first), exact(second), RowMeans("a", rows, first), RowMeans("a", rows, second))
    assert paired == 2 / 2 ** 5
    strangers = RowMeans("b", [f"x{row}" for row in rows], second)
    assert p_value(exact(first), exact(second), RowMeans("a", rows, first), strangers) == 1.0
    assert p_value(exact(first), exact(second), None, None) == 1.0


def exact(scores: Sequence[float]) -> Metric:
    low, high = wilson_interval(round(sum(scores)), len(scores))
    return Metric("accuracy", sum(scores) / len(scores), low, high, "wilson", len(scores), len(scores))


def metric(scores: Sequence[float]) -> Metric:
    mean = sum(scores) / len(scores)
    return Metric("accuracy", mean, mean - 0.1, mean + 0.1, "wilson", len(scores), len(scores))


@pytest.mark.parametrize(("about", "mark"), [
    ({"fingerprint": "mine"}, "other data"), ({"verifier": "v2"}, "other verifier"),
    ({"settings": {"levels": 3}}, "other settings of the task"),
    ({"prompts": 39}, "39 of 40 rows"), ({"prompts": 2}, "2 of 40 rows")])
def test_what_is_not_comparable_is_shown_and_not_ranked(tmp_path: Path, about: dict[str, object], mark: str) -> None:
    made = made_up("other", **{"share": 1.0} | about), made_up("a"), made_up("b", seed=1)  # type: ignore[arg-type]
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
        with pytest.raises(ConfigError, match="in use"):
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


def marks(boards: Boards) -> dict[str, tuple[str, ...]]:
    return {line.result.entry.model: line.marks for board in boards.boards for line in board.lines}


def test_five_right_answers_do_not_lead_a_board(tmp_path: Path) -> None:
    boards = boards_with(tmp_path, made_up("five", right=[True] * 5), made_up("whole", prompts=400))
    assert places(boards) == {"whole": "1", "five": "-"}
    # a prompt too long for a tokenizer is no reason: 397 of 400 is 0.9925
    assert places(boards_with(tmp_path / "b", made_up("a", prompts=400), made_up("b", prompts=397)))["b"] != "-"


def test_one_long_result_on_a_generator_does_not_displace_the_others(tmp_path: Path) -> None:
    endless = {"task": "arithmetic", "provenance": {"rows": ""}}
    made = made_up("a", **endless), made_up("b", **endless), made_up("long", prompts=400, **endless)
    boards = boards_with(tmp_path, *made)
    assert "-" not in places(boards).values()
    few = made_up("few", right=[True] * 5, **endless)
    assert places(boards_with(tmp_path / "b", *made, few))["few"] == "-"


def test_a_partial_result_is_not_ranked_however_good(tmp_path: Path) -> None:
    rows = [True] * 40
    given = made_up("partial", right=rows)
    missing = given.samples[0]._replace(status="missing", score=None)
    # 39 of 39: Wilson's lower bound is 39 / (39 + 1.96^2)
    low, high = wilson_interval(39, 39)
    main = given.main._replace(low=low, high=high, prompts=39, answers=39)
    torn = Submission.checked(replace(given.entry, partial=True, missing=1), [main], (missing, *given.samples[1:]))
    boards = boards_with(tmp_path, torn, made_up("whole"))
    assert places(boards) == {"whole": "1", "partial": "-"}
    assert "partial: 1 of 40 answers are missing" in marks(boards)["partial"]


def test_overlap_with_training_data_is_marked(tmp_path: Path) -> None:
    made = made_up("dirty"), made_up("clean"), made_up("silent")
    shares = (0.0314, 0.0, None)
    boards = boards_with(tmp_path, *(replace(one, entry=replace(one.entry, overlap=share))
                                     for one, share in zip(made, shares, strict=True)))
    assert marks(boards) == {"dirty": ("overlap 3.1 %",), "clean": (), "silent": ()}
    assert json.loads(FORMATS["json"](boards))["boards"][0]["results"][0]["overlap"] in shares


def test_the_record_of_a_training_run_gives_its_evaluations_their_overlap() -> None:
    own = record("m", [True])
    within = own.model_copy(update={"environment": {"overlap": {"share": 0.25}}})
    edited = own.model_copy(update={"environment": {"overlap": {"share": "all"}}})
    assert [entry_of(one).overlap for one in (own, within, edited)] == [None, 0.25, None]


def test_the_same_answers_under_another_name_are_marked(tmp_path: Path) -> None:
    rows = [True, False] * 20
    boards = boards_with(tmp_path, made_up("original", right=rows), made_up("copy", right=rows),
                         made_up("other", right=rows[::-1]))
    assert marks(boards) == {"original": (), "copy": ("the same answers as original",), "other": ()}


def test_the_best_of_several_tries_is_marked(tmp_path: Path) -> None:
    boards = boards_with(tmp_path, made_up("m"), made_up("m", seed=1), made_up("m", seed=2, max_new_tokens=9))
    told = [line.marks for line in boards.boards[0].lines]
    assert sorted(told) == [(), *[("one of 2 results of this model and these settings",)] * 2]


@pytest.mark.parametrize(("edit", "complaint"), [
    ({"partial": True}, "partial: True"), ({"counts": {"prompts": 39}}, "prompts: 39"),
    ({"counts": {"missing": 3}}, "counts.missing: 3"), ({"counts": {"status_unparsable": 1}}, "unparsable"),
    ({"task": {"rows": list(range(41))}}, "rows: 41"), ({"task": {"rows": list(range(1, 41))}}, "rows: 40"),
    ({"decoding": {"samples": 2}}, "answers to a row: 2"),
    ({"metrics": {"accuracy": {"low": 0.7}}}, "interval of accuracy")])
def test_an_edited_record_is_refused(edit: dict[str, Any], complaint: str) -> None:
    rows = [True] * 30 + [False] * 10
    honest = record("m", rows).model_dump(mode="json")
    for name, change in edit.items():
        honest[name] = {**honest[name], **change} if isinstance(change, dict) else change
    if "metrics" in edit:
        whole = record("m", rows).metrics["accuracy"].model_dump()
        honest["metrics"] = {"accuracy": whole | edit["metrics"]["accuracy"]}
    with pytest.raises(DataError, match=complaint):
        submission(Result.parse(honest, "edited"), made_up("m", right=rows).samples)


def test_the_answers_of_another_result_are_refused(tmp_path: Path) -> None:
    rows = [True] * 5 + [False] * 5
    ours, theirs = (write_folder(tmp_path / name, name, right=rows, text=name) for name in ("ours", "theirs"))
    other = write_folder(tmp_path / "shown", right=rows, question="Shown first. ")
    assert read_folder(ours).entry.model == "ours"
    shutil.copy(other / "rollouts.parquet", theirs / "rollouts.parquet")
    with pytest.raises(DataError, match="to other prompts"):
        read_folder(theirs)


def test_easy_rows_do_not_enter_under_the_fingerprint_of_the_published_ones() -> None:
    rows, _ = REFERENCES["gsm8k", "test"]
    with pytest.raises(DataError, match="not on the published gsm8k"):
        made_up(right=[True] * rows)
    with pytest.raises(DataError, match="a row 1319"):
        made_up(right=[True] * (rows + 1))


def test_the_references_of_the_published_rows_are_known(shared_data: Path) -> None:
    data = task("gsm8k", TaskOptions(data=str(shared_data / "gsm8k")))
    made = made_up(right=[True] * 1300, fingerprint="other")
    samples = [made.samples[0]._replace(row=str(row), reference=str(data.example("test", row).reference))
               for row in range(data.size("test") or 0)]
    check_published(replace(made, entry=replace(made.entry, data_fingerprint=PUBLISHED_GSM8K), samples=tuple(samples)))


def test_a_store_is_named_before_or_after_the_subcommand(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a", "org/model", right=[True] * 5 + [False] * 5)
    store = str(tmp_path / "s.db")
    runner = CliRunner()
    for arguments in (["add", str(folder), "--store", store], ["export", "--store", store, "--output",
                      str(tmp_path / "out")], ["import", "--store", store, str(tmp_path / "out")],
                      ["site", "--store", store, "--output", str(tmp_path / "site")], ["--store", store]):
        assert runner.invoke(command, arguments, catch_exceptions=False).exit_code == 0, arguments
    twice = runner.invoke(command, ["--store", "a.db", "add", str(folder), "--store", "b.db"])
    assert (twice.exit_code, "given twice" in twice.output) == (2, True)
    assert all("--store" in runner.invoke(command, [name, "--help"]).output for name in command.commands)


def test_verdicts_that_the_verifier_does_not_give_are_refused_on_request(tmp_path: Path) -> None:
    """An answer "I guess" that both files call correct agrees with itself, and not with the verifier."""
    from reasongym.evaluation.fingerprints import verifier_fingerprint

    version = verifier_fingerprint("gsm8k")
    honest = write_folder(tmp_path / "honest", right=[True] * 3, text="#### 7", verifier=version)
    forged = write_folder(tmp_path / "forged", right=[True] * 3, text="I guess", verifier=version)
    store = tmp_path / "s.db"
    assert "added" in run(store, "add", "--verify", str(honest))
    with pytest.raises(DataError, match="3 verdicts are not what the verifier says"):
        run(store, "add", "--verify", str(forged))
    with pytest.raises(DataError, match="another version"):
        run(store, "add", "--verify", str(write_folder(tmp_path / "old", right=[True], text="#### 7")))
