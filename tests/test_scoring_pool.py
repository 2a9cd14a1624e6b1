"""The scoring pool's contract: what goes in, what comes out, what is remembered, and what is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from scoring_pools import PoolOf, check, own_pools, row, steady_pools, wait_until

from reasongym.errors import ConfigError, DataError, ScoringError
from reasongym.scoring import reward
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status, Verdict

pool_of = pytest.fixture(own_pools)
steady = pytest.fixture(scope="module")(steady_pools)


def test_every_part_answers_in_order_and_by_name(pool_of: PoolOf) -> None:
    pool = pool_of("same", "even")
    verdicts = pool.submit("4", row("4")).result(60)
    assert list(verdicts) == ["same", "even"]
    assert [verdict.score for verdict in verdicts.values()] == [1.0, 1.0]
    assert all(verdict.seconds > 0 for verdict in verdicts.values())
    assert [verdict.score for verdict in pool.submit("3", row("3")).result(60).values()] == [1.0, 0.0]


def test_what_a_verifier_sees_is_exactly_what_was_given(pool_of: PoolOf) -> None:
    reference = {"tests": [{"args": [1, 1.0, True, None, 0.1 + 0.2, -0.0, 2**80], "text": "\ud800\u2028é\0"}]}
    verdict = check(pool_of("told"), "a\r\n\ud83d", row(reference, level=3, nested=MappingProxyType({"k": (1, 2)})))
    assert verdict.extracted == repr(("a\r\n\ud83d", reference, {"level": 3, "nested": {"k": [1, 2]}}))


@pytest.mark.parametrize("value", [{1: "a"}, {"a": {2}}, float("nan"), b"72", [object()], [10**5000]])
def test_a_reference_that_json_would_change_is_refused(steady: PoolOf, value: object) -> None:
    with pytest.raises(DataError, match="remedy"):
        steady("same").submit("a", row(value))
    with pytest.raises(DataError, match="remedy"):
        steady("same").submit("a", row(None, field=value))


def test_a_refused_value_is_named_by_its_place(steady: PoolOf) -> None:
    with pytest.raises(DataError, match=r"reference\[1\]\.tests"):
        steady("same").submit("a", row([0, {"tests": float("nan")}]))


def test_an_answer_larger_than_a_frame_is_refused(steady: PoolOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker would take it for a damaged stream, and every such answer would cost a worker."""
    monkeypatch.setattr("reasongym.scoring.protocol.MAX_ANSWER_BYTES", 1000)
    with pytest.raises(DataError, match="too large"):
        steady("same").submit("a" * 1000, row("r"))
    assert check(steady("same"), "a" * 900, row("a" * 20)).status is Status.WRONG


def test_a_cyclic_reference_is_refused(steady: PoolOf) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(DataError, match="RecursionError"):
        steady("same").submit("a", row(cycle))


@pytest.mark.parametrize("value", ["None", "float('nan')", "1.5", "-0.1", "'1'", "float('inf')", "Verdict",
                                   "Verdict.correct(extracted=72)", "Verdict(score=1.0, status='good')"])
def test_what_is_no_verdict_is_an_error(steady: PoolOf, value: str) -> None:
    assert check(steady("returns"), value).status is Status.ERROR


@pytest.mark.parametrize(("value", "score", "status"), [("True", 1.0, Status.CORRECT), ("0", 0.0, Status.WRONG),
                                                        ("0.1 + 0.2", 0.1 + 0.2, Status.PARTIAL)])
def test_bools_and_numbers_become_verdicts_unrounded(steady: PoolOf, value: str, score: float,
                                                     status: Status) -> None:
    verdict = check(steady("returns"), value)
    assert (verdict.score, verdict.status) == (score, status)


def test_a_verdict_with_a_number_for_text_says_so(steady: PoolOf) -> None:
    assert "extracted is text, got int" in check(steady("returns"), "Verdict.correct(extracted=7)").reason


def test_an_endless_reason_does_not_fill_the_pool(steady: PoolOf) -> None:
    assert len(check(steady("returns"), "Verdict.wrong(reason='x' * 10**7)").reason) <= 65_536


def test_a_known_answer_is_not_checked_again(pool_of: PoolOf) -> None:
    pool = pool_of("told", "same")
    first = pool.submit("a", row("r", f=1)).result(60)
    assert pool.submit("a", row("r", f=1)).result(60) == first
    assert pool.num_cached == 1
    for response, example in (("b", row("r", f=1)), ("a", row("s", f=1)), ("a", row("r", f=2)), ("a", row("r", g=1))):
        pool.submit(response, example).result(60)
    assert pool.num_cached == 1
    assert sum(pool.counts.values()) == 6


def test_failures_are_not_remembered(pool_of: PoolOf) -> None:
    pool = pool_of("raises")
    assert [check(pool, "value").status for _ in range(2)] == [Status.ERROR, Status.ERROR]
    assert pool.counts[Status.ERROR] == 2
    assert pool.num_cached == 0


def test_the_cache_is_bounded(pool_of: PoolOf) -> None:
    pool = pool_of("even", cache_size=2)
    for response in ("1", "2", "1", "3", "1", "2"):  # 3 pushes out 2, not 1, which was asked for since
        check(pool, response)
    assert pool.num_cached == 2
    none = pool_of("even", cache_size=0)
    assert [check(none, "1").score for _ in range(2)] == [0.0, 0.0]
    assert none.num_cached == 0


def test_submit_blocks_while_the_queue_is_full_and_wakes_on_close(pool_of: PoolOf) -> None:
    pool = pool_of("hang", queue_size=1)
    running = pool.submit("hang", row(1))
    wait_until(running.running)
    waiting = pool.submit("hang", row(2))
    raised: list[BaseException] = []

    def third() -> None:
        try:
            pool.submit("hang", row(3))
        except ScoringError as error:
            raised.append(error)

    thread = threading.Thread(target=third)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive(), "the third answer entered a queue of one"
    pool.close()
    thread.join(30)
    assert raised
    assert waiting.cancelled()
    with pytest.raises(ScoringError, match="closed"):
        running.result(0)
    with pytest.raises(ScoringError, match="closed"):
        pool.submit("stop", row())


def test_many_threads_share_a_pool(pool_of: PoolOf) -> None:
    pool = pool_of("same", workers=2, queue_size=4)
    right: list[bool] = []

    def ask(thread: int) -> None:
        futures = [(i, pool.submit(f"{i}", row(f"{i if i % 2 else -1}", thread=thread))) for i in range(50)]
        right.extend(future.result(60)["same"].score == i % 2 for i, future in futures)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 200
    assert pool.counts[Status.CORRECT] == pool.counts[Status.WRONG] == 100


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"timeout_s": 0.0}, {"timeout_s": float("nan")}, {"memory_mib": 0},
                                   {"queue_size": 0}, {"cache_size": -1}])
def test_impossible_numbers_are_named(pool_of: PoolOf, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        pool_of("even", **wrong)


def test_parts_need_names_of_their_own(pool_of: PoolOf) -> None:
    for names in ((), ("even", "even")):
        with pytest.raises(ConfigError, match="names"):
            pool_of(*names)


def test_reward_weighs_the_parts_and_none_means_do_not_use() -> None:
    parts = [RewardPart(name="answer", verifier="v", weight=1.0), RewardPart(name="format", verifier="w", weight=0.25)]
    right, wrong, failed = Verdict.correct(), Verdict.wrong(), Verdict.error("broken")

    def of(answer: Verdict, form: Verdict) -> float | None:
        verdicts: Mapping[str, Verdict] = {"answer": answer, "format": form}
        return reward(verdicts, parts)

    assert of(right, right) == 1.25
    assert of(wrong, Verdict(score=0.5, status=Status.PARTIAL)) == 0.125
    assert of(Verdict.timeout("killed"), right) == 0.25
    assert of(right, failed) is None
    assert of(failed, right) is None
    with pytest.raises(KeyError):
        reward({"answer": right}, parts)


def test_the_verdicts_are_plain_json_for_the_run_folder(steady: PoolOf) -> None:
    verdict = check(steady("told"), "a", row("r"))
    assert json.loads(json.dumps(verdict.extracted)) == verdict.extracted
    assert type(verdict.score) is float
    assert type(verdict.status) is Status
