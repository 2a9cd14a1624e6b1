"""What is written of a result is what is read; what would mislead is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from evaluation_results import result_of, sample

from reasongym.errors import DataError
from reasongym.evaluation.fingerprints import verifier_fingerprint
from reasongym.evaluation.record import RESULTS, read_result, read_result_samples, write_result
from reasongym.evaluation.samples import SAMPLES, Answer, Sample
from reasongym.tracking import read_rollouts
from reasongym.verifiers import Verdict


def odd_samples() -> Sequence[Sample]:
    """Text that no markup, no UTF-8 file and no terminal likes; an answer that did not come; unknown tokens."""
    return [sample(0, Verdict.correct("7\x00"), text="<script>\x00\x1b[31m \U0001d518 </think>"),
            sample(1, Verdict.unparsable("nothing"), text="", num_tokens=None),
            sample(2, None, error="status 500: boom"),
            sample(3, Verdict.wrong("8"), fields={"tests": [{"args": [1.5]}], "none": None}, token_ids=(1, 2),
                   logprobs=(-0.5, 0.0))]


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    samples = odd_samples()
    result = result_of(samples)
    write_result(tmp_path / "r", result, samples)
    assert read_result(tmp_path / "r") == result
    assert read_result_samples(tmp_path / "r") == tuple(samples)


@pytest.mark.stack
def test_the_answers_file_holds_what_mining_pairs_needs_of_it(tmp_path: Path) -> None:
    from reasongym.training.examples import mining

    write_result(tmp_path, result_of(odd_samples()), odd_samples())
    rows = read_rollouts(tmp_path / SAMPLES)
    assert set(mining.NEEDED) <= rows[0].keys()
    assert [row["mask"] for row in rows] == [[], [], [], [True, True]]


def test_lone_surrogates_are_kept_readable(tmp_path: Path) -> None:
    samples = [sample(0, Verdict.wrong("\ud800"), text="a \ud800 b")]
    write_result(tmp_path, result_of(samples), samples)
    (read,) = read_result_samples(tmp_path)
    assert read.answer.text == "a \\ud800 b"


def test_a_record_of_another_form_is_refused_and_a_later_field_is_passed_over(tmp_path: Path) -> None:
    samples = odd_samples()
    write_result(tmp_path, result_of(samples), samples)
    record = json.loads((tmp_path / RESULTS).read_text())
    for version, remedy in ((1, "evaluate again"), (99, "update reasongym")):
        (tmp_path / RESULTS).write_text(json.dumps({**record, "schema_version": version}))
        with pytest.raises(DataError, match=remedy):
            read_result(tmp_path)
    (tmp_path / RESULTS).write_text(json.dumps({**record, "of_a_later_release": 1}))
    assert read_result(tmp_path) == result_of(samples)
    (tmp_path / RESULTS).write_text(json.dumps({**record, "metrics": {"accuracy": {"mean": "high"}}}))
    with pytest.raises(DataError, match=r"metrics\.accuracy"):
        read_result(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[1]", None])
def test_a_damaged_folder_is_one_message(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / RESULTS).write_text(content)
    with pytest.raises(DataError):
        read_result(tmp_path)
    (tmp_path / SAMPLES).write_bytes(b"PAR1")
    with pytest.raises(DataError):
        read_result_samples(tmp_path)


def test_an_answer_without_a_verdict_has_no_status() -> None:
    missing = sample(0, None, error="late")
    assert (missing.status, missing.main, Answer(finish_reason="length").truncated) == (None, None, True)


def test_a_fingerprint_follows_the_source_of_a_verifier_and_of_what_it_imports(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("gsm8k", "gsm8k_format", "math", "code", "exact")
    found = {name: verifier_fingerprint(name) for name in names}
    assert len(set(found.values())) == len(names)
    read = Path.read_bytes
    for changed, affected, others in (("final_number.py", {"gsm8k"}, {"exact", "code"}),
                                      ("caller.py", {"code"}, {"gsm8k", "math", "exact"})):
        monkeypatch.setattr(Path, "read_bytes", lambda self, name=changed: read(self) + b"#" * (self.name == name))
        differ = {name for name in names if verifier_fingerprint(name) != found[name]}
        assert affected <= differ
        assert not others & differ
    (tmp_path / "mine.py").write_text("def ok(response, reference, *, example): return True\n")
    assert verifier_fingerprint(f"{tmp_path}/mine.py:ok") not in found.values()
