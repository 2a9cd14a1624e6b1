"""Verifiers of batches: what comes together, whose verdict is whose, and that a batch that fails fails for each."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from scoring_pools import RULES, PoolOf, as_one_batch, check, own_pools, patient, row, steady_pools, wait_until

from reasongym import registry
from reasongym.verifiers import REGISTERED, Status, verifier
from reasongym.verifiers.registration import BatchVerifier

pool_of = pytest.fixture(own_pools)
steady = pytest.fixture(scope="module")(steady_pools)


@pytest.mark.parametrize("name", ["batched", "batched_async"])
def test_what_waits_comes_together_up_to_the_size_and_each_gets_its_own_verdict(pool_of: PoolOf, tmp_path: Path,
                                                                                name: str) -> None:
    verdicts = as_one_batch(pool_of(name, batch_size=3), tmp_path / "gate", list("abcde"))
    # five wait while the first is checked: three of them, then the two that are left
    assert [verdict[name].extracted for verdict in verdicts] == ["a of 3", "b of 3", "c of 3", "d of 2", "e of 2"]
    assert all(verdict[name].seconds > 0 for verdict in verdicts)


def test_a_lone_answer_does_not_wait_for_a_batch_to_fill(steady: PoolOf) -> None:
    assert check(steady("batched"), "lone").extracted == "lone of 1"


@pytest.mark.parametrize(("bad", "told"), [("raise", "ValueError: no such thing (misbehaving_verifiers.py:"),
                                           ("short", "got 1 for 2"), ("generate", "returns a list, got generator")])
def test_a_batch_that_fails_is_an_error_for_each_of_its_answers(steady: PoolOf, tmp_path: Path, bad: str,
                                                                told: str) -> None:
    pool = steady("batched")
    verdicts = [verdict["batched"] for verdict in as_one_batch(pool, tmp_path / "gate", [f"beside {bad}", bad])]
    assert [verdict.status for verdict in verdicts] == [Status.ERROR] * 2
    assert all(told in verdict.reason for verdict in verdicts)
    assert check(pool, f"beside {bad}").status is Status.CORRECT, "remembered, or not checked without the bad one"


def test_one_answer_without_a_verdict_is_an_error_alone(steady: PoolOf, tmp_path: Path) -> None:
    verdicts = as_one_batch(steady("batched"), tmp_path / "gate", ["one", "none", "two"])
    assert [verdict["batched"].status for verdict in verdicts] == [Status.CORRECT, Status.ERROR, Status.CORRECT]


@pytest.mark.parametrize(("bad", "status", "told"), [("hang", Status.TIMEOUT, "within 3 s for 2 answers"),
                                                     ("die", Status.ERROR, "exited with status 3")])
def test_a_batch_that_is_killed_or_dies_says_so_for_each_answer(pool_of: PoolOf, tmp_path: Path, bad: str,
                                                                status: Status, told: str) -> None:
    pool = pool_of("batched", timeout_s=3.0)
    verdicts = [verdict["batched"] for verdict in as_one_batch(pool, tmp_path / "gate", [bad, "good"])]
    assert [verdict.status for verdict in verdicts] == [status] * 2
    assert all(told in verdict.reason and verdict.score == 0.0 for verdict in verdicts)
    assert check(patient(pool), "next").status is Status.CORRECT


def test_a_part_of_single_answers_stops_its_own_answer_alone(pool_of: PoolOf, tmp_path: Path) -> None:
    """The killed answer leaves the batch; the others go on with a new worker. `hang` stands behind, and runs first."""
    pool = pool_of("batched", "hang", timeout_s=3.0)
    one, hung, two = as_one_batch(pool, tmp_path / "gate", ["one", "hang", "two"])
    assert list(one) == ["batched", "hang"]
    assert [one["batched"].extracted, two["batched"].extracted] == ["one of 2", "two of 2"]
    assert [one["hang"].status, two["hang"].status] == [Status.CORRECT] * 2
    assert [verdict.status for verdict in hung.values()] == [Status.TIMEOUT] * 2
    assert "not run after part 'hang'" in hung["batched"].reason
    wait_until(lambda: pool.num_replaced == 1)


def test_single_parts_keep_their_verdicts_when_the_batch_dies(pool_of: PoolOf, tmp_path: Path) -> None:
    verdicts = as_one_batch(pool_of("batched", "same"), tmp_path / "gate", ["die", "good"])
    assert [verdict["same"].status for verdict in verdicts] == [Status.WRONG] * 2
    assert [verdict["batched"].status for verdict in verdicts] == [Status.ERROR] * 2


def test_a_verifier_of_batches_can_be_called_with_one_answer() -> None:
    for name in ("batched", "batched_async"):
        value = registry.verifier(f"{RULES}:{name}")("a", None, example={})
        verdict = asyncio.run(value) if asyncio.iscoroutine(value) else value
        assert verdict.extracted == "a of 1"
    with pytest.raises(ValueError, match="got 0 for 1"):
        registry.verifier(f"{RULES}:batched")("short", None, example={})


def test_a_verifier_of_batches_is_registered_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reasongym.verifiers.registration.REGISTERED", {})

    def many(responses: object, references: object, *, examples: object) -> list[bool]:
        """Says no."""
        return [False]

    made = verifier("many", batch=True)(many)
    assert isinstance(made, BatchVerifier)
    assert (made.__name__, made.__doc__, made.__module__) == ("many", "Says no.", __name__)
    verifier("many", batch=True)(many)  # the same again, as a file imported twice does
    with pytest.raises(ValueError, match="two verifiers"):
        verifier("many")(lambda response, reference, *, example: True)
    assert "many" not in REGISTERED


def test_coroutines_are_checked_side_by_side_and_each_bears_its_own_failure(pool_of: PoolOf, tmp_path: Path) -> None:
    """One after another, `first` would wait for ever."""
    answers = ["first", "raise", "late", "second"]
    pool = pool_of("meets", timeout_s=4.0)
    verdicts = [verdict["meets"] for verdict in as_one_batch(pool, tmp_path / "gate", answers)]
    assert [verdict.status for verdict in verdicts] == [Status.CORRECT, Status.ERROR, Status.TIMEOUT, Status.CORRECT]
    assert "no such thing (misbehaving_verifiers.py:" in verdicts[1].reason
    assert "within 3.6 s; it was cancelled" in verdicts[2].reason
    assert pool.num_replaced == 0


@pytest.mark.parametrize(("bad", "status"), [("block", Status.TIMEOUT), ("die", Status.ERROR)])
def test_a_coroutine_that_blocks_or_dies_takes_no_other_answer_with_it(pool_of: PoolOf, tmp_path: Path, bad: str,
                                                                       status: Status) -> None:
    pool = pool_of("same", "meets", timeout_s=3.0)
    verdicts = as_one_batch(pool, tmp_path / "gate", ["good", bad, "fine"])
    assert [verdict["meets"].status for verdict in verdicts] == [Status.CORRECT, status, Status.CORRECT]
    assert [verdict["same"].status for verdict in verdicts] == [Status.WRONG] * 3


def test_answers_with_two_rows_to_one_text_stay_apart(pool_of: PoolOf) -> None:
    pool = pool_of("batched")
    futures = [pool.submit("a", row(reference)) for reference in range(20)]
    assert all(future.result(60)["batched"].status is Status.CORRECT for future in futures)
    assert pool.num_cached == 0
