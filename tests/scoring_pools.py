"""What the tests of the scoring pool share: pools of the verifiers in misbehaving_verifiers.py, and rows for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Verdict

RULES = Path(__file__).with_name("misbehaving_verifiers.py")
PoolOf = Callable[..., ScoringPool]


def open_pool(*names: str, timeout_s: float = 30.0, workers: int = 1, memory_mib: int = 512,
              **more: int) -> ScoringPool:
    """One part a verifier, named after it."""
    parts = [RewardPart(name=name, verifier=f"{RULES}:{name}", weight=1.0) for name in names]
    return ScoringPool(parts, workers=workers, timeout_s=timeout_s, memory_mib=memory_mib, **more)


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
