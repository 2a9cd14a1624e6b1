"""`reasongym compare` and `reasongym rescore`: what differs, how sure that is, and what a verifier changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from evaluation_results import result_of, sample

from reasongym.cli import compare as compare_command
from reasongym.cli import rescore as rescore_command
from reasongym.errors import ConfigError, DataError
from reasongym.evaluation.comparing import compare
from reasongym.evaluation.record import Result as Record
from reasongym.evaluation.record import read_result, read_result_samples, write_result
from reasongym.evaluation.samples import Sample
from reasongym.verifiers import Status, Verdict

RIGHT, WRONG = Verdict.correct("7"), Verdict.wrong("8", "8 is not 7")


def answers(scores: str, *, first_row: int = 0, reference: object = "7") -> list[Sample]:
    """A row a character: 1 right, 0 wrong, - without an answer."""
    verdicts = {"1": RIGHT, "0": WRONG, "-": None}
    return [sample(row, verdicts[score], error="late" if score == "-" else "", reference=reference)
            for row, score in enumerate(scores, start=first_row)]


def write(folder: Path, samples: Sequence[Sample], record: Record | None = None) -> Path:
    return write_result(folder, record or result_of(samples), samples)


def run(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)  # type: ignore[arg-type]


# --- compare ---


def test_the_test_is_mcnemar_s_over_the_rows_that_both_answered(tmp_path: Path) -> None:
    # 9 rows for the first alone, 1 for the second alone: 2 (C(10,0) + C(10,1))/2^10 = 22/1024; the last has one answer
    first = write(tmp_path / "a", answers("111111111" "0" "11111" "-"))
    second = write(tmp_path / "b", answers("000000000" "1" "11111" "1"))
    shown = json.loads(run(compare_command.command, first, second, "--json").output)
    assert (shown["p_value"], shown["exact"], shown["test"]) == (22 / 1024, True, "McNemar")
    assert (shown["rows"], shown["left_out"], shown["better"]) == (15, 1, {"first": 9, "second": 1, "equal": 5})
    assert shown["differing_settings"] == {"partial": [True, False]}


def test_the_rows_that_differ_are_shown_and_written_and_terminal_codes_are_not_obeyed(tmp_path: Path) -> None:
    first = write(tmp_path / "a", answers("110"))
    second = write(tmp_path / "b", [sample(0, RIGHT), sample(1, WRONG, text="\x1b[31m <b>8</b>"), sample(2, WRONG)])
    shown = run(compare_command.command, first, second, "--output", tmp_path / "rows.jsonl").output
    assert "row 1, reference '7'" in shown
    assert "\\x1b[31m <b>8</b>" in shown
    assert "cannot be told apart" in shown
    (line,) = (tmp_path / "rows.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["index"], record["difference"], record["second"][0]["text"]) == (1, 1.0, "\x1b[31m <b>8</b>")


def test_several_answers_a_row_are_compared_by_their_means() -> None:
    first = [sample(row, RIGHT if row or number else WRONG, number=number) for row in range(3) for number in range(2)]
    second = [sample(row, WRONG, number=number) for row in range(3) for number in range(2)]
    found = compare(result_of(first), first, result_of(second), second)
    assert (found.test, found.paired.difference) == ("sign-flip", pytest.approx(5 / 6))
    # differences 1/2, 1, 1 of one sign: 2 of 8 sign patterns reach their sum
    assert found.paired.p_value == 2 / 8


def renumbered(samples: Sequence[Sample], rows: Sequence[int]) -> list[Sample]:
    """The same answers where another file holds the rows in other places."""
    return [replace(one, group=row, prompt=replace(one.prompt, example=replace(one.prompt.example, index=row)))
            for one, row in zip(samples, rows, strict=True)]


def test_rows_are_the_same_whichever_files_of_a_data_set_were_read() -> None:
    """test.jsonl alone has another fingerprint than both files of GSM8K, and a part of it other numbers."""
    ours = answers("110")
    theirs = renumbered(answers("0110", first_row=-1), [3, 0, 2, 1])
    found = compare(result_of(ours, fingerprint="both files"), ours, result_of(theirs, fingerprint="one"), theirs)
    assert [(row.number, row.difference) for row in found.rows] == [(0, 0.0), (1, 0.0), (2, 0.0)]
    assert found.left_out == 1


def test_a_question_that_is_there_twice_counts_twice() -> None:
    ours, theirs = [[replace(one, prompt=replace(one.prompt, example=replace(
        one.prompt.example, messages=({"role": "user", "content": "Same?"},)))) for one in answers(scores)]
        for scores in ("10", "00")]
    found = compare(result_of(ours), ours, result_of(theirs, fingerprint="other"), theirs)
    assert [row.difference for row in found.rows] == [1.0, 0.0]


def test_a_generator_s_rows_of_another_seed_are_not_paired_by_their_number() -> None:
    """`6 + 1` and `5 + 2` have one number and one reference, and are two problems."""
    ours, theirs = answers("110"), renumbered(answers("101", first_row=7), [0, 1, 2])
    other_seed = result_of(theirs)
    other_seed = other_seed.model_copy(update={"decoding": other_seed.decoding.model_copy(update={"seed": 1})})
    with pytest.raises(DataError, match="share no row"):
        compare(result_of(ours), ours, other_seed, theirs)


@pytest.mark.parametrize(("other", "told"), [
    ({"fingerprint": "another", "reference": "9"}, "different data, and share no row"),
    ({"split": "train"}, "different splits"),
    ({"reference": "9"}, "another problem"),
    ({"first_row": 3}, "share no row"),
])
def test_results_of_other_rows_are_refused(other: dict[str, object], told: str) -> None:
    ours = answers("110")
    theirs = answers("101", **{k: v for k, v in other.items() if k in ("reference", "first_row")})  # type: ignore[arg-type]
    if "first_row" in other:
        theirs = [sample(one.prompt.example.index, one.main) for one in theirs]
    second = result_of(theirs, fingerprint=str(other.get("fingerprint", "data")))
    if "split" in other:
        second = second.model_copy(update={"task": second.task.model_copy(update={"split": "train"})})
    with pytest.raises(DataError, match=told):
        compare(result_of(ours), ours, second, theirs)


def test_what_a_record_says_does_not_act_on_a_terminal(tmp_path: Path) -> None:
    samples = answers("110")
    hostile = result_of(samples, model="\x1b]0;owned\x07m")
    asked = hostile.prompting.model_copy(update={"system": "\x1b[31m" + "long " * 1000})
    first = write(tmp_path / "a", samples, hostile.model_copy(update={"prompting": asked}))
    shown = run(compare_command.command, first, write(tmp_path / "b", samples), "--show", 0).output
    assert "\x1b" not in shown
    assert "\\x1b]0;owned" in shown
    assert max(map(len, shown.splitlines())) < 500


# --- rescore ---


def stored(folder: Path) -> Path:
    """Four answers whose stored verdicts are partly of another verifier; one did not come."""
    samples = [sample(0, RIGHT, text="#### 7"), sample(1, WRONG, text="#### 7"), sample(2, RIGHT, text="#### 8"),
               sample(3, None, error="status 500: boom")]
    return write(folder / "r", samples)


def test_rescoring_shows_what_changed_and_writes_beside_without_touching_the_first(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    shown = run(rescore_command.command, folder, "--workers", 1).output
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert "2 of 3 answers have another verdict" in shown
    assert "1  wrong -> correct" in shown
    assert "1  correct -> wrong" in shown
    record, samples = read_result(tmp_path / "r-rescored"), read_result_samples(tmp_path / "r-rescored")
    assert [one.status for one in samples] == [Status.CORRECT, Status.CORRECT, Status.WRONG, None]
    assert samples[3].answer.error == "status 500: boom"
    assert (record.partial, record.metrics["accuracy"].mean) == (True, pytest.approx(2 / 3))
    assert record.rescored_from == {"folder": "r", "created": "2026-01-01T00:00:00+00:00",
                                    "verifiers": {"correct": "old"}}
    assert record.task.parts[0].fingerprint != "old"
    run(rescore_command.command, folder, "--workers", 1)
    assert (tmp_path / "r-rescored-2").is_dir()


def test_other_verifiers_may_judge_and_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    run(rescore_command.command, folder, "--workers", 1, "--verifier", "gsm8k_strict_match", "--verifier", "exact",
        "--output", tmp_path / "new")
    record = read_result(tmp_path / "new")
    assert [part.name for part in record.task.parts] == ["gsm8k_strict_match", "exact"]
    assert (record.metrics["accuracy"].mean, record.metrics["part/exact"].mean) == (pytest.approx(2 / 3), 0.0)
    with pytest.raises(ConfigError, match="in use"):
        run(rescore_command.command, folder, "--output", folder)


def test_a_verifier_in_a_file_that_a_result_names_is_not_run_unless_it_is_named_again(tmp_path: Path) -> None:
    """The result may be somebody else's."""
    rules = tmp_path / "theirs.py"
    rules.write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
                     "def fine(response, reference, *, example):\n    return True\n")
    folder = stored(tmp_path)
    record = json.loads((folder / "results.json").read_text())
    record["task"]["parts"][0]["verifier"] = f"{rules}:fine"
    (folder / "results.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match="which would be run"):
        run(rescore_command.command, folder, "--workers", 1)
    assert not (tmp_path / "ran").exists()
    run(rescore_command.command, folder, "--workers", 1, "--verifier", f"{rules}:fine")
    assert (tmp_path / "ran").exists()
