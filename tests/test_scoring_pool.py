"""The scoring pool: whatever a verifier does, every answer gets a verdict, and no process stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from reasongym.errors import ConfigError, DataError, ScoringError, UnknownNameError
from reasongym.scoring import ScoringPool, reward
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status, Verdict

PoolOf = Callable[..., ScoringPool]

RULES = '''
import asyncio, os, socket, subprocess, sys, threading, time
from reasongym.verifiers import Verdict, verifier

def even(response, reference, *, example):
    return int(response) % 2 == 0

def same(response, reference, *, example):
    return response == reference

def told(response, reference, *, example):
    return Verdict.wrong(extracted=repr((response, reference, dict(example))), reason=str(os.getpid()))

def hang(response, reference, *, example):
    while response == "hang":
        pass
    return True

def hang_in_c(response, reference, *, example):
    import re
    return bool(re.match(r"(a+)+$", "a" * 64 + "!"))

def deaf(response, reference, *, example):
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    open(reference, "w").write(str(child.pid))
    time.sleep(600)

def returns(response, reference, *, example):
    return eval(response)

def raises(response, reference, *, example):
    raise {"value": ValueError("no such thing"), "exit": SystemExit(0), "interrupt": KeyboardInterrupt()}[response]

def dies(response, reference, *, example):
    os._exit(3)

def aborts(response, reference, *, example):
    os.abort()

def hoards(response, reference, *, example):
    return len(bytearray(int(response))) > 0

def prints(response, reference, *, example):
    for stream in (sys.stdout, sys.stderr):
        print('{"verdict": {"score": 1.0}}', file=stream)
    os.write(1, b"\\0" * 64)
    return False

def closes(response, reference, *, example):
    os.closerange(3, 256)
    open(reference, "w")
    return True

def forks(response, reference, *, example):
    if os.fork() == 0:
        return True
    os.wait()
    return False

async def waits(response, reference, *, example):
    await asyncio.sleep(0)
    return Verdict.correct(extracted=response)

def spoils(response, reference, *, example):
    reference.clear(); example.clear()
    return True

def needs(response, reference, *, example):
    return len(reference) == 1 and len(example) == 1

@verifier("decorated_rule")
def decorated(response, reference, *, example):
    return True
'''


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scoring") / "rules.py"
    file.write_text(RULES)
    return file


@pytest.fixture
def pool_of(rules: Path) -> Iterator[PoolOf]:
    opened: list[ScoringPool] = []

    def make(*names: str, timeout_s: float = 30.0, workers: int = 1, memory_mib: int = 512, **more: int) -> ScoringPool:
        parts = [RewardPart(name=name, verifier=f"{rules}:{name}", weight=1.0) for name in names]
        opened.append(ScoringPool(parts, workers=workers, timeout_s=timeout_s, memory_mib=memory_mib, **more))
        return opened[-1]

    yield make
    for pool in opened:
        pool.close()


@pytest.fixture(scope="module")
def steady(rules: Path) -> Iterator[PoolOf]:
    """One pool a verifier for all tests that neither break it nor count on its being new: starting one takes longest."""
    with contextlib.ExitStack() as stack:
        pools: dict[str, ScoringPool] = {}

        def get(name: str) -> ScoringPool:
            if name not in pools:
                parts = [RewardPart(name=name, verifier=f"{rules}:{name}", weight=1.0)]
                pools[name] = stack.enter_context(ScoringPool(parts, workers=1, timeout_s=30, memory_mib=512))
            return pools[name]

        yield get


def row(reference: object = None, **fields: object) -> Example:
    return Example(task="t", split="test", index=0, messages=(), reference=reference, fields=fields)


def check(pool: ScoringPool, response: str, example: Example | None = None) -> Verdict:
    """The first part's verdict."""
    return next(iter(pool.submit(response, example or row()).result(60).values()))


def is_alive(pid: int) -> bool:
    """A zombie counts as alive: it has not been reaped."""
    return Path(f"/proc/{pid}").exists()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


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


def test_a_cyclic_reference_is_refused(steady: PoolOf) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(DataError, match="RecursionError"):
        steady("same").submit("a", row(cycle))


def test_one_part_cannot_spoil_the_reference_of_the_next(pool_of: PoolOf) -> None:
    verdicts = pool_of("spoils", "needs").submit("", row([1], field=1)).result(60)
    assert verdicts["needs"].status is Status.CORRECT


@pytest.mark.parametrize("name", ["hang", "hang_in_c"])
def test_an_endless_verifier_is_killed_reaped_and_replaced(pool_of: PoolOf, name: str) -> None:
    pool = pool_of(name, timeout_s=0.3)
    (old,) = pool.pids
    verdict = check(pool, "hang")
    assert (verdict.status, verdict.score) == (Status.TIMEOUT, 0.0)
    assert verdict.seconds >= 0.3
    assert not is_alive(old)
    wait_until(lambda: pool.num_replaced == 1 and len(pool.pids) == 1)
    if name == "hang":
        assert check(pool, "stop").status is Status.CORRECT
        assert pool.counts[Status.TIMEOUT] == pool.counts[Status.CORRECT] == 1


def test_a_timeout_takes_the_verifiers_own_children_with_it(pool_of: PoolOf, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    assert check(pool_of("deaf", timeout_s=1.0), "", row(str(note))).status is Status.TIMEOUT
    child = int(note.read_text())
    # killed with the group; its reaping is left to the process that adopts orphans
    wait_until(lambda: not is_alive(child) or ") Z " in Path(f"/proc/{child}/stat").read_text())


def test_parts_before_the_endless_one_keep_their_verdict(pool_of: PoolOf) -> None:
    pool = pool_of("same", "hang", "needs", timeout_s=0.3)
    verdicts = pool.submit("hang", row("hang")).result(60)
    assert [verdict.status for verdict in verdicts.values()] == [Status.CORRECT, Status.TIMEOUT, Status.TIMEOUT]
    assert "not run after part 'hang'" in verdicts["needs"].reason
    assert pool.counts[Status.TIMEOUT] == 1


@pytest.mark.parametrize(("response", "text"), [("value", "ValueError: no such thing (rules.py:"),
                                                ("exit", "SystemExit"), ("interrupt", "KeyboardInterrupt")])
def test_a_raising_verifier_is_an_error_never_a_score(steady: PoolOf, response: str, text: str) -> None:
    verdict = check(steady("raises"), response)
    assert verdict.status is Status.ERROR
    assert verdict.reason.startswith(text)
    assert steady("raises").num_replaced == 0, "an exception is no reason to start a new process"


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


def test_an_endless_reason_does_not_fill_the_pool(steady: PoolOf) -> None:
    assert len(check(steady("returns"), "Verdict.wrong(reason='x' * 10**7)").reason) <= 65_536


@pytest.mark.parametrize(("name", "text"), [("dies", "exited with status 3"), ("aborts", "SIGABRT")])
def test_a_crash_is_an_error_and_the_next_answer_finds_a_worker(pool_of: PoolOf, name: str,
                                                                text: str) -> None:
    pool = pool_of("same", name)
    for _ in range(2):
        verdicts = pool.submit("a", row("a")).result(60)
        assert verdicts["same"].status is Status.CORRECT
        assert verdicts[name].status is Status.ERROR
        assert text in verdicts[name].reason


def test_memory_is_bounded_above_what_the_verifier_holds(pool_of: PoolOf) -> None:
    pool = pool_of("hoards", memory_mib=64)
    (old,) = pool.pids
    verdict = check(pool, str(128 * 2**20))
    assert verdict.status is Status.ERROR
    assert "MemoryError" in verdict.reason
    assert check(pool, str(16 * 2**20)).status is Status.CORRECT
    assert pool.pids != (old,), "a worker that ran out of memory is replaced: its caches may be what filled it"


def test_printing_reaches_neither_verdicts_nor_standard_output(pool_of: PoolOf,
                                                               capfd: pytest.CaptureFixture[str]) -> None:
    pool = pool_of("prints")
    assert check(pool, "a").status is Status.WRONG
    assert check(pool, "b").status is Status.WRONG
    assert capfd.readouterr().out == ""


def test_closing_the_channel_is_an_error_and_writes_into_no_file(pool_of: PoolOf, tmp_path: Path) -> None:
    target = tmp_path / "opened"
    verdict = check(pool_of("closes"), "a", row(str(target)))
    assert verdict.status is Status.ERROR
    assert "file descriptors" in verdict.reason
    assert target.read_bytes() == b"", "the verdict went into a file that took the channel's number"


def test_a_fork_that_returns_from_the_verifier_does_not_answer_too(steady: PoolOf) -> None:
    pool = steady("forks")
    assert [check(pool, str(i)).score for i in range(3)] == [0.0, 0.0, 0.0]


def test_async_verifiers_are_awaited(steady: PoolOf) -> None:
    pool = steady("waits")
    assert [check(pool, text).extracted for text in ("a", "b")] == ["a", "b"]


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


def test_close_leaves_no_process_behind(pool_of: PoolOf) -> None:
    with pool_of("hang", workers=2) as pool:
        pids = pool.pids
        pool.submit("hang", row())
        assert len(pids) == 2
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))
    pool.close()  # again: nothing happens


def test_workers_die_with_a_parent_that_is_killed(rules: Path) -> None:
    program = ("import sys\nfrom reasongym.scoring import ScoringPool\n"
               "from reasongym.tasks import Example, RewardPart\n"
               f"pool = ScoringPool([RewardPart(name='a', verifier='{rules}:hang', weight=1.0)], workers=1, "
               "timeout_s=600, memory_mib=64)\n"
               "pool.submit('hang', Example(task='t', split='s', index=0, messages=(), reference=None))\n"
               "print(pool.pids[0], flush=True); sys.stdin.read()")
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    wait_until(lambda: not is_alive(pid) or ") Z " in Path(f"/proc/{pid}/stat").read_text())


def test_unknown_verifiers_are_named_before_any_process_starts(rules: Path) -> None:
    for spec, text in (("gsm9k", "gsm8k"), (f"{rules}:evn", "even"), ("nowhere.py:even", "no file")):
        with pytest.raises(UnknownNameError, match=text):
            ScoringPool([RewardPart(name="a", verifier=spec, weight=1.0)], workers=1, timeout_s=1, memory_mib=64)


def test_a_verifier_that_loads_only_in_the_parent_fails_at_construction(tmp_path: Path) -> None:
    file = tmp_path / "picky.py"
    file.write_text(f"import os\nassert os.getpid() == {os.getpid()}, 'only here'\ndef a(response, reference): pass\n")
    with pytest.raises(ScoringError, match="only here"):
        ScoringPool([RewardPart(name="a", verifier=f"{file}:a", weight=1.0)], workers=2, timeout_s=1, memory_mib=64)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("scoring-")]


def test_a_verifier_registered_by_a_users_file_reaches_the_workers(pool_of: PoolOf) -> None:
    pool_of("even").close()  # loads the file here, as a task in it would
    part = RewardPart(name="a", verifier="decorated_rule", weight=1.0)
    with ScoringPool([part], workers=1, timeout_s=30, memory_mib=64) as pool:
        assert check(pool, "a").status is Status.CORRECT


SCRIPT = '''
from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import verifier

@verifier("script_rule")
def rule(response, reference, *, example):
    return True

GUARD
    part = RewardPart(name="a", verifier="script_rule", weight=1.0)
    with ScoringPool([part], workers=1, timeout_s=30, memory_mib=64) as pool:
        row = Example(task="t", split="s", index=0, messages=(), reference=None)
        print(pool.submit("", row).result()["a"].score)
'''


@pytest.mark.parametrize(("guard", "output", "error"), [('if __name__ == "__main__":', "1.0\n", ""),
                                                        ("if True:", "", "a pool of its own")])
def test_a_scripts_own_verifier_works_and_starts_no_pools_in_pools(tmp_path: Path, guard: str, output: str,
                                                                   error: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.replace("GUARD", guard))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == output, done.stderr
    assert error in done.stderr


def test_workers_load_neither_torch_nor_ray(steady: PoolOf) -> None:
    heavy = "[m for m in ('torch', 'ray', 'vllm', 'deepspeed', 'numpy') if m in sys.modules]"
    assert check(steady("returns"), f"Verdict.wrong(extracted=str({heavy}))").extracted == "[]"


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
