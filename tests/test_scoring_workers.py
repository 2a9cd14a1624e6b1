"""The scoring pool's workers: whatever a verifier does, its answer gets a verdict and no process stays behind."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import has_ended, held
from scoring_pools import RULES, PoolOf, check, is_alive, own_pools, patient, row, steady_pools, wait_until

from reasongym import registry
from reasongym.errors import ScoringError, UnknownNameError
from reasongym.scoring import ScoringPool
from reasongym.scoring.process import make_setup
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status

pool_of = pytest.fixture(own_pools)
steady = pytest.fixture(scope="module")(steady_pools)


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
        assert check(patient(pool), "stop").status is Status.CORRECT
        assert pool.counts[Status.TIMEOUT] == pool.counts[Status.CORRECT] == 1


def test_a_timeout_takes_the_verifiers_own_children_with_it(pool_of: PoolOf, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    assert check(pool_of("deaf", timeout_s=3.0), "", row(str(note))).status is Status.TIMEOUT
    child = int(note.read_text())
    # killed with the group; its reaping is left to the process that adopts orphans
    wait_until(lambda: has_ended(child))


def test_parts_before_the_endless_one_keep_their_verdict(pool_of: PoolOf) -> None:
    pool = pool_of("same", "hang", "needs", timeout_s=2.0)
    verdicts = pool.submit("hang", row("hang")).result(60)
    assert [verdict.status for verdict in verdicts.values()] == [Status.CORRECT, Status.TIMEOUT, Status.TIMEOUT]
    assert "not run after part 'hang'" in verdicts["needs"].reason
    assert pool.counts[Status.TIMEOUT] == 1


@pytest.mark.parametrize(("response", "text"), [("value", "ValueError: no such thing (misbehaving_verifiers.py:"),
                                                ("exit", "SystemExit"), ("interrupt", "KeyboardInterrupt")])
def test_a_raising_verifier_is_an_error_never_a_score(steady: PoolOf, response: str, text: str) -> None:
    verdict = check(steady("raises"), response)
    assert verdict.status is Status.ERROR
    assert verdict.reason.startswith(text)
    assert steady("raises").num_replaced == 0, "an exception is no reason to start a new process"


@pytest.mark.parametrize(("name", "text"), [("dies", "exited with status 3"), ("aborts", "SIGABRT"),
                                            # a child of the verifier still holds the channel open
                                            ("dies_with_an_heir", "exited with status 3")])
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


def test_close_leaves_no_process_behind(pool_of: PoolOf) -> None:
    with pool_of("hang", workers=2) as pool:
        pids = pool.pids
        pool.submit("hang", row())
        assert len(pids) == 2
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))
    pool.close()  # again: nothing happens


def test_workers_die_with_a_parent_that_is_killed() -> None:
    program = ("import sys\nfrom reasongym.scoring import ScoringPool\n"
               "from reasongym.tasks import Example, RewardPart\n"
               f"pool = ScoringPool([RewardPart(name='a', verifier='{RULES}:hang', weight=1.0)], workers=1, "
               "timeout_s=600, memory_mib=64)\n"
               "pool.submit('hang', Example(task='t', split='s', index=0, messages=(), reference=None))\n"
               "print(pool.pids[0], flush=True); sys.stdin.read()")
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    wait_until(lambda: has_ended(pid))


def test_unknown_verifiers_are_named() -> None:
    for spec, text in (("gsm9k", "gsm8k"), (f"{RULES}:evn", "even"), ("nowhere.py:even", "no file")):
        with pytest.raises(UnknownNameError, match=text):
            ScoringPool([RewardPart(name="a", verifier=spec, weight=1.0)], workers=1, timeout_s=1, memory_mib=64)


@pytest.mark.parametrize(("text", "kind", "told"), [
    ("raise OSError('at import')", UnknownNameError, "at import"),
    ("raise SystemExit(0)", UnknownNameError, "SystemExit"),
    ("while True: pass", ScoringError, "while it is imported"),
    ("import os; os._exit(0)", ScoringError, "exited with status 0"),
])
def test_a_file_that_does_not_import_is_an_error_and_leaves_nothing(tmp_path: Path, text: str, kind: type[Exception],
                                                                    told: str) -> None:
    threads, descriptors = set(threading.enumerate()), held()
    file = tmp_path / "rules.py"
    file.write_text(f"{text}\ndef a(response, reference, *, example): return True\n")
    with pytest.raises(kind, match=told):
        ScoringPool([RewardPart(name="a", verifier=f"{file}:a", weight=1.0)], workers=2, timeout_s=1, memory_mib=64,
                    start_timeout_s=0.5 if "while" in text else 30.0)
    assert not set(threading.enumerate()) - threads
    assert not held() - descriptors


def test_built_in_verifiers_load_without_a_search_of_all_installed_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a worker longer than all else together."""
    monkeypatch.setattr(registry, "entry_points", lambda **_: pytest.fail("looked through the installed packages"))
    setup = make_setup(["gsm8k", "exact"], memory_mib=64, timeout_s=1.0)
    for module in setup.modules:
        importlib.import_module(module)
    assert [registry.verifier(name)("1", "2", example={}).score for name in setup.verifiers] == [0.0, 0.0]


PREPARES = """
from reasongym.verifiers import verifier

opened = []

def open_it():
    opened.append(1)
    {then}

@verifier("prepared", prepare=open_it)
def prepared(response, reference, *, example):
    return len(opened) == 1
"""


@pytest.mark.parametrize("then", ["", "raise OSError('not today')"])
def test_what_a_verifier_opens_is_open_before_the_first_answer(tmp_path: Path, then: str) -> None:
    (tmp_path / "rules.py").write_text(PREPARES.format(then=then))
    part = RewardPart(name="prepared", verifier=f"{tmp_path / 'rules.py'}:prepared", weight=1.0)
    with ScoringPool([part], workers=1, timeout_s=30, memory_mib=64) as pool:
        assert [check(pool, answer).score for answer in ("a", "b")] == [1.0, 1.0]


FAILS_TO_RESTART = """
import os, sys
from pathlib import Path

if Path({marker!r}).exists():
    os.write(int(sys.argv[-2]), bytes(7) + b"\\1x")  # a frame of one byte, which is no record

def a(response, reference, *, example):
    if response == "die":
        Path({marker!r}).touch()
        os._exit(3)
    return True
"""


def test_a_worker_that_cannot_be_replaced_is_tried_again_with_the_next_answer(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    (tmp_path / "rules.py").write_text(FAILS_TO_RESTART.format(marker=str(marker)))
    part = RewardPart(name="a", verifier=f"{tmp_path / 'rules.py'}:a", weight=1.0)
    with ScoringPool([part], workers=1, timeout_s=30, memory_mib=64) as pool:
        assert "exited with status 3" in check(pool, "die").reason
        verdict = check(pool, "a")
        assert verdict.status is Status.ERROR
        assert "no worker could check it" in verdict.reason
        assert "what is no record" in verdict.reason
        marker.unlink()
        assert check(pool, "a").status is Status.CORRECT
        assert pool.num_replaced == 1


def test_a_verifiers_file_is_not_imported_by_the_pools_own_process(tmp_path: Path) -> None:
    """Nothing there could stop one that hangs."""
    file = tmp_path / "rules.py"
    file.write_text(f"import os\nassert os.getpid() != {os.getpid()}\n"
                    "def a(response, reference, *, example): return True\n")
    part = RewardPart(name="a", verifier=f"{file}:a", weight=1.0)
    with ScoringPool([part], workers=1, timeout_s=30, memory_mib=64) as pool:
        assert check(pool, "a").status is Status.CORRECT


def test_close_does_not_wait_for_a_worker_that_hangs_while_it_starts(tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text("import time\nfrom pathlib import Path\n"
                    f"while Path({str(tmp_path / 'again')!r}).exists(): time.sleep(0.01)\n"
                    "def a(response, reference, *, example): raise MemoryError\n")
    part = RewardPart(name="a", verifier=f"{file}:a", weight=1.0)
    with ScoringPool([part], workers=1, timeout_s=30, memory_mib=64, start_timeout_s=3600) as pool:
        (tmp_path / "again").touch()
        assert check(pool, "a").status is Status.ERROR  # retired for want of memory; its successor never gets ready
        wait_until(lambda: len(pool.pids) == 1 and pool.num_replaced == 1)
        pids = pool.pids
    assert not any(map(is_alive, pids))


def test_a_verifier_registered_by_a_users_file_reaches_the_workers() -> None:
    registry.verifier(f"{RULES}:even")  # loads the file here, as a task in it would
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


KILLED = """
import os, signal
from pathlib import Path

def killed(response, reference, *, example):
    with Path({count!r}).open("a") as file:
        file.write(response)
    if response == "always" or Path({count!r}).read_text() == "once":
        os.kill(os.getpid(), signal.SIGKILL)
    return True

def before(response, reference, *, example):
    with Path({count!r} + "-before").open("a") as file:
        file.write(".")
    return True
"""


@pytest.fixture
def killed_of(tmp_path: Path) -> Callable[..., ScoringPool]:
    (tmp_path / "rules.py").write_text(KILLED.format(count=str(tmp_path / "count")))
    return lambda *names: ScoringPool([RewardPart(name=name, verifier=f"{tmp_path}/rules.py:{name}", weight=1.0)
                                       for name in names], workers=1, timeout_s=30, memory_mib=64)


def test_an_answer_whose_worker_was_killed_is_asked_once_more(killed_of: Callable[..., ScoringPool],
                                                              tmp_path: Path) -> None:
    with killed_of("before", "killed") as pool:
        assert check(pool, "once").status is Status.CORRECT
        assert pool.num_replaced == 1
    assert (tmp_path / "count").read_text() == "onceonce"
    assert (tmp_path / "count-before").read_text() == ".", "a part that had its verdict was asked again"


def test_a_worker_that_was_killed_while_it_waited_costs_no_answer(killed_of: Callable[..., ScoringPool]) -> None:
    with killed_of("before") as pool:
        os.kill(pool.pids[0], signal.SIGKILL)
        wait_until(lambda: Path(f"/proc/{pool.pids[0]}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        assert check(pool, "a").status is Status.CORRECT


def test_an_answer_that_kills_every_worker_is_an_error_after_two(killed_of: Callable[..., ScoringPool],
                                                                 tmp_path: Path) -> None:
    with killed_of("killed") as pool:
        verdict = check(pool, "always")
    assert verdict.status is Status.ERROR
    assert "killed by SIGKILL" in verdict.reason
    assert (tmp_path / "count").read_text() == "alwaysalways"
