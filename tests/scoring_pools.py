"""What the tests of the scoring pool share: pools of the verifiers in misbehaving_verifiers.py, and rows for them."""

from __future__ import annotations

import contextlib
import functools
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Verdict

RULES = Path(__file__).with_name("misbehaving_verifiers.py")
PoolOf = Callable[..., ScoringPool]


def open_pool(*names: str, timeout_s: float = 30.0, workers: int = 1, memory_mib: int = 512,
              **more: float) -> ScoringPool:
    """One part a verifier, named after it."""
    parts = [RewardPart(name=name, verifier=f"{RULES}:{name}", weight=1.0) for name in names]
    return ScoringPool(parts, workers=workers, timeout_s=timeout_s, memory_mib=memory_mib,
                       **more)  # type: ignore[arg-type]


def own_pools() -> Iterator[PoolOf]:
    """To be made a fixture of: opens pools, and closes them when the test is over."""
    with contextlib.ExitStack() as stack:
        yield lambda *names, **settings: stack.enter_context(open_pool(*names, **settings))


def steady_pools() -> Iterator[PoolOf]:
    """To be made a fixture of a module: one pool a verifier for all tests that neither break it nor count on its being
    new, since starting takes longest."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(open_pool(name)))


def row(reference: object = None, **fields: object) -> Example:
    return Example(task="t", split="test", index=0, messages=(), reference=reference, fields=fields)


def check(pool: ScoringPool, response: str, example: Example | None = None) -> Verdict:
    """The first part's verdict."""
    return next(iter(pool.submit(response, example or row()).result(60).values()))


def patient(pool: ScoringPool) -> ScoringPool:
    """From here on no answer is too late: the timeout has had its answer, and the machine may be busy."""
    for slot in pool._slots:
        slot._timeout_s = 30.0
    return pool


def as_one_batch(pool: ScoringPool, gate: Path, responses: Sequence[str]) -> list[dict[str, Verdict]]:
    """Verdicts of answers that all waited while the pool's one worker was held up by an answer before them."""
    first = pool.submit("gate", row(str(gate)))
    wait_until(first.running)
    futures = [pool.submit(response, row()) for response in responses]
    gate.touch()
    return [future.result(60) for future in futures]


def is_alive(pid: int) -> bool:
    """A zombie counts as alive: it has not been reaped."""
    return Path(f"/proc/{pid}").exists()


def descriptors() -> int:
    """File descriptors this process has open, without those of earlier tests that only a cycle still holds."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()
