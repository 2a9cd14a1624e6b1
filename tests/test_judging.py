"""Which verifier judged: what the workers loaded, whatever becomes of the file before and after."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eval_command_line import Engines, Run, run_in, write_rows

from reasongym.config.sections import ScoringConfig
from reasongym.errors import DataError, ScoringError, UnknownNameError
from reasongym.evaluation import judging
from reasongym.evaluation.fingerprints import verifier_fingerprint
from reasongym.evaluation.judging import Judges, open_judges
from reasongym.tasks import RewardPart

YES = "def rule(response, reference, *, example):\n    return True\n"
NO = YES.replace("True", "False")


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    file = tmp_path / "rule.py"
    file.write_text(YES)
    return file


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return run_in(tmp_path, write_rows(tmp_path / "rows"), monkeypatch)


def parts(rule: Path) -> tuple[RewardPart, ...]:
    return (RewardPart(name="rule", verifier=f"{rule}:rule", weight=1.0),)


def test_a_verifier_that_is_edited_while_engines_start_is_recorded_as_it_judged(
        run: Run, rule: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def minutes_later(*_: Any) -> Iterator[Engines]:
        rule.write_text(NO)
        yield Engines()

    monkeypatch.setattr("reasongym.cli.eval_sources.open_engines", minutes_later)
    assert run("--verifier", f"{rule}:rule", "--output", "out") == 0
    record = json.loads(Path("out/results.json").read_text())
    assert record["metrics"]["accuracy"]["mean"] == 0  # the edited one judged
    assert record["task"]["parts"][0]["fingerprint"] == verifier_fingerprint(f"{rule}:rule")


def test_a_verifier_that_is_edited_after_its_workers_started_is_recorded_as_it_was(rule: Path) -> None:
    before = verifier_fingerprint(f"{rule}:rule")
    with open_judges(parts(rule), ScoringConfig(workers=1)) as judges:
        rule.write_text(NO)
        assert [record.fingerprint for record in judges.records] == [before]
        judges.check_unchanged()  # no worker was replaced: one source judged all


def test_a_verifier_that_is_edited_while_its_workers_start_is_refused(rule: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def slowly(*_: object) -> Iterator[None]:
        rule.write_text(NO)
        yield

    monkeypatch.setattr(judging, "ScoringPool", SimpleNamespace(configured=slowly))
    with pytest.raises(DataError, match="changed while its workers started"), \
            open_judges(parts(rule), ScoringConfig(workers=1)):
        pytest.fail("nobody knows which was loaded")


@pytest.mark.parametrize("change", [lambda rule: rule.write_text(NO), lambda rule: rule.unlink()])
def test_a_worker_that_was_replaced_after_an_edit_makes_no_result(rule: Path, change: Callable[[Path], object]) -> None:
    records = judging._records(parts(rule))
    judges = Judges(SimpleNamespace(num_replaced=1), records)  # type: ignore[arg-type]
    judges.check_unchanged()
    change(rule)
    with pytest.raises((ScoringError, UnknownNameError), match=r"rule\.py"):
        judges.check_unchanged()
