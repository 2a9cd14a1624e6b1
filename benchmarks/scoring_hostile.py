"""Hostile answers in a row through the scoring pool: what grows in this process while its workers are brought down."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Verdict

ANSWERS = 10_000
WARM_UP = 400
WORKERS = 2
KILLING_EVERY = 500  # of so many answers one is endless, one dies, one hoards: each costs a new worker
KIB = 2**10


def hostile(response: str, reference: object, *, example: Mapping[str, object]) -> Any:
    """A verifier that does what the answer says."""
    kind, _, _ = response.partition(" ")
    if kind == "endless":
        while True:
            pass
    if kind == "dies":
        os._exit(3)
    if kind == "hoards":
        return bytearray(2**40)
    if kind == "raises":
        raise ValueError(response)
    if kind == "opens":  # and never closes
        return Verdict.wrong(str(os.open("/dev/null", os.O_RDONLY)))
    return {"none": None, "nan": float("nan"), "long": Verdict.wrong("\ud800\0" * 40_000, response),
            "right": True}[kind]


def answer(number: int, killing_every: int) -> str:
    """Killing ones at three places of every `killing_every`, the rest in turn. No two are equal: no cache helps."""
    killing = {10: "endless", 40: "dies", 70: "hoards"}
    kind = killing.get(number % killing_every, ("raises", "none", "nan", "long", "right", "opens")[number % 6])
    return f"{kind} {number}"


def measure(answers: int = ANSWERS, warm_up: int = WARM_UP, killing_every: int = KILLING_EVERY,
            timeout_s: float = 0.3) -> dict[str, float]:
    """Growth of this process from the end of the warm-up to the end, and the statuses given."""
    part = RewardPart(name="answer", verifier=f"{__file__}:hostile", weight=1.0)
    started = time.perf_counter()
    with ScoringPool([part], workers=WORKERS, timeout_s=timeout_s, memory_mib=256) as pool:
        _check(pool, range(warm_up), killing_every)
        before = _held(pool)
        statuses = _check(pool, range(warm_up, warm_up + answers), killing_every)
        after = _held(pool)
        replaced = pool.num_replaced
    growth = {f"{name}_grown_by": after[name] - before[name] for name in before}
    return {**growth, **statuses, "workers_replaced": replaced, "seconds": time.perf_counter() - started}


def _check(pool: ScoringPool, numbers: range, killing_every: int) -> dict[str, float]:
    row = Example(task="bench", split="test", index=0, messages=(), reference=None)
    counts: Counter[str] = Counter()
    for first in range(numbers.start, numbers.stop, 100):
        some = range(first, min(first + 100, numbers.stop))
        for future in [pool.submit(answer(number, killing_every), row) for number in some]:
            counts[future.result()["answer"].status] += 1
    return dict(counts)


def _held(pool: ScoringPool) -> dict[str, float]:
    """Resident memory in MiB, open file descriptors, and child processes, with a full set of workers running."""
    deadline = time.monotonic() + 30
    while len(pool.pids) < WORKERS and time.monotonic() < deadline:
        time.sleep(0.01)
    status = Path("/proc/self/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0])
    children = sum(len(path.read_text().split()) for path in Path("/proc/self/task").glob("*/children"))
    return {"resident_mib": resident / KIB, "descriptors": len(list(Path("/proc/self/fd").iterdir())),
            "processes": children}
