"""A record against its own answers: each figure that a page shows is what these give, or the result is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from evaluation_results import result_of, sample
from leaderboard_samples import made_up, write_folder

from reasongym.errors import DataError
from reasongym.evaluation.prompting import prompts_digest
from reasongym.evaluation.record import PartRecord, Prompting, Result, write_result
from reasongym.evaluation.samples import Sample
from reasongym.leaderboard import Store, Submission
from reasongym.leaderboard.exchange import export_results, import_results
from reasongym.leaderboard.reading import read_folder, submission
from reasongym.verifiers import Verdict

PARTS = (PartRecord(name="correct", verifier="gsm8k", weight=1.0, fingerprint="v1"),
         PartRecord(name="format", verifier="gsm8k_format", weight=0.1, fingerprint="v1"))


def several(folder: Path, *, rows: int = 12, each: int = 4, parts: bool = False) -> Path:
    """A result of `each` answers a row, whose intervals are bootstraps: row r has r % (each + 1) right ones."""
    answers = [_answer(row, number, right=number < row % (each + 1), parts=parts)
               for row in range(rows) for number in range(each)]
    return _written(folder, answers, each=each, parts=parts)


def _answer(row: int, number: int, *, right: bool, parts: bool) -> Sample:
    given = sample(row, Verdict.correct("7") if right else Verdict.wrong(str(row)), number=number)
    if not parts:
        return given
    verdicts = {**given.verdicts, "format": Verdict.correct() if number % 2 else Verdict.unparsable("no line")}
    reward = float(right) + 0.1 * (number % 2)
    return Sample(group=row, sample=number, prompt=given.prompt, answer=given.answer, verdicts=verdicts, reward=reward)


def _written(folder: Path, answers: list[Sample], *, each: int, parts: bool) -> Path:
    made = result_of(answers)
    prompts = {one.group: one.prompt for one in answers}
    changed: dict[str, Any] = {
        "decoding": made.decoding.model_copy(update={"samples": each, "temperature": 1.0}),
        "prompting": Prompting(prompts_digest=prompts_digest(list(prompts.values()))),
        "task": made.task.model_copy(update={"parts": PARTS if parts else made.task.parts,
                                             "provenance": {**made.task.provenance, "rows": f"test {len(prompts)}"}})}
    return write_result(folder, made.model_copy(update=changed), answers)


def edited(folder: Path, *path: str, value: object) -> None:
    file = folder / "results.json"
    whole = json.loads(file.read_text())
    place = whole
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    file.write_text(json.dumps(whole))


def test_an_honest_bootstrap_enters_and_travels(tmp_path: Path) -> None:
    with Store(str(tmp_path / "a.db"), create=True) as store, Store(str(tmp_path / "b.db"), create=True) as other:
        for name, parts in (("one", False), ("two", True)):
            made = read_folder(several(tmp_path / name, parts=parts))
            assert made.main.method == "bootstrap"
            store.add(made)
        export_results(store, tmp_path / "out")
        assert [added.new for added in import_results(other, tmp_path / "out")] == [True, True]


@pytest.mark.parametrize(("path", "value"), [
    (("metrics", "accuracy", "low"), 0.45), (("metrics", "accuracy", "high"), 0.51),
    (("metrics", "pass@4", "mean"), 0.99), (("metrics", "avg@4", "high"), 0.9), (("metrics", "maj@4", "prompts"), 13),
    (("metrics", "accuracy", "method"), "wilson"), (("counts", "truncated"), 1), (("counts", "timeout"), 1),
    (("tokens", "completion"), 12), (("shares", "unparsable"), 0.5)])
def test_an_edited_figure_of_a_bootstrap_is_refused(tmp_path: Path, path: tuple[str, ...], value: object) -> None:
    folder = several(tmp_path / "r")
    edited(folder, *path, value=value)
    with pytest.raises(DataError, match=path[1]):
        read_folder(folder)


def test_a_wilson_interval_that_is_called_a_bootstrap_is_no_way_around(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "r", right=[True] * 30 + [False] * 10)
    edited(folder, "metrics", "accuracy", "method", value="bootstrap")
    edited(folder, "metrics", "accuracy", "low", value=0.74)
    with pytest.raises(DataError, match="interval of accuracy"):
        read_folder(folder)


@pytest.mark.parametrize("name", ["reward", "part/format"])
def test_parts_of_a_reward_are_made_anew_of_the_verdicts(tmp_path: Path, name: str) -> None:
    folder = several(tmp_path / "r", parts=True)
    edited(folder, "metrics", name, "mean", value=0.95)
    with pytest.raises(DataError, match=f"interval of {name}"):
        read_folder(folder)


def test_a_metric_that_no_answer_gives_is_refused(tmp_path: Path) -> None:
    folder = several(tmp_path / "r")
    found = json.loads((folder / "results.json").read_text())["metrics"]["accuracy"]
    edited(folder, "metrics", "pass@1024", value=found)
    with pytest.raises(DataError, match="pass@1024"):
        read_folder(folder)


def test_verdicts_of_parts_that_are_not_there_are_refused(tmp_path: Path) -> None:
    made = read_folder(several(tmp_path / "r", parts=True))
    result = Result.parse(json.loads((tmp_path / "r/results.json").read_text()), "r")
    for parts in ("", "no JSON", "[]", '{"correct": {}}', '{"correct": {"score": NaN}}', "[" * 100_000):
        torn = (made.samples[0]._replace(parts=parts), *made.samples[1:])
        with pytest.raises(DataError, match="verdicts of row 0"):
            submission(result, torn)


def test_a_field_of_a_later_release_travels_and_keeps_the_digest(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "r", right=[True] * 5 + [False] * 5)
    edited(folder, "task", "of_the_future", value={"nested": [1, 2.5, None, "\ud800"]})
    with Store(str(tmp_path / "a.db"), create=True) as store, Store(str(tmp_path / "b.db"), create=True) as other:
        digest = store.add(read_folder(folder)).digest
        export_results(store, tmp_path / "out")
        (added,) = import_results(other, tmp_path / "out")
        assert (added.digest, added.new) == (digest, True)
        assert json.loads(other.record(other.results()[0].id))["task"]["of_the_future"]["nested"][1] == 2.5
        listed = json.loads((tmp_path / "out/results.json").read_text())
        listed["results"][0]["record"]["task"]["of_the_future"] = {}
        (tmp_path / "out/results.json").write_text(json.dumps(listed))
        with pytest.raises(DataError, match="changed after its export"):
            import_results(other, tmp_path / "out")


def test_a_column_of_a_later_release_is_named(tmp_path: Path) -> None:
    with Store(str(tmp_path / "a.db"), create=True) as store:
        store.add(made_up())
        export_results(store, tmp_path / "out")
        file = tmp_path / "out/samples.parquet"
        table = pq.ParquetFile(file).read()
        pq.write_table(table.append_column("mood", table.column("status")), file)
        with pytest.raises(DataError, match=r"column 'mood' of a later release: update reasongym"):
            import_results(store, tmp_path / "out")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999"])
def test_a_number_that_json_does_not_know_is_refused(tmp_path: Path, text: str) -> None:
    """In a field that nothing reads: an export with it could not be read by others."""
    folder = write_folder(tmp_path / "r", right=[True, False])
    file = folder / "results.json"
    file.write_text(file.read_text().replace('"settings": {}', f'"settings": {{"levels": {text}}}', 1))
    with pytest.raises(DataError, match="no JSON"):
        read_folder(folder)


@pytest.mark.parametrize("change", [{"seconds": float("nan")}, {"seconds": float("inf")}, {"tokens": -1},
                                    {"number": 2**31}, {"tokens": 2**63}])
def test_an_answer_that_no_column_holds_is_refused(change: dict[str, Any]) -> None:
    """SQLite would keep NaN as nothing, and an export of it would be called edited."""
    made = made_up()
    torn = (made.samples[0]._replace(**change), *made.samples[1:])
    with pytest.raises(DataError, match="counts what cannot be"):
        Submission.checked(made.entry, made.metrics, torn)


@pytest.mark.parametrize(("path", "value", "told"), [
    (("task", "parts"), [], "judged by nothing"), (("created",), "0001-01-01T00:00:00+23:59", "when it was made")])
def test_a_record_that_says_nothing_is_an_error_of_ours(tmp_path: Path, path: tuple[str, ...], value: object,
                                                        told: str) -> None:
    folder = write_folder(tmp_path / "r", right=[True, False])
    edited(folder, *path, value=value)
    with pytest.raises(DataError, match=told):
        read_folder(folder)


def test_a_record_without_an_end_is_an_error_of_ours(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "r", right=[True, False])
    (folder / "results.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match="no result can be read"):
        read_folder(folder)
