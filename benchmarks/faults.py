"""Faults in real runs: each kind at random moments, and whether the run is what it would have been without.

    KINDS="engine_actor training_rank" TIMES=10 SEED=0 python -m benchmarks faults

A run of a tiny model (real Ray, vLLM, two ZeRO-3 ranks, a scoring pool) is left alone first. Others of the same seed
have TIMES faults of each kind made in them, five in one run where it goes on by itself. Each must have made every step
once and have every answer once, with the same tokens, rewards and final weights, in time, and leave no process and no
shared memory behind. What a run lost is its time beyond that of the undisturbed one. Kinds that are not named keep the
figures that the same commit made before, and its undisturbed runs are taken again. The logs of runs are in
benchmarks/runs/faults. PATIENCE=4 multiplies all deadlines, for a machine with other work.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.fault_checks import Expected, largest_difference, problems, stale_segments
from benchmarks.fault_kinds import GOES_ON_S, KINDS, Kind, Moment, moments
from benchmarks.fault_places import PLACES, Cluster
from benchmarks.fault_processes import Watch, adopting
from benchmarks.fault_runs import GROUP, PROMPTS, STEPS, Training, make_workshop, step_seconds
from benchmarks.record import RESULTS, commit
from reasongym.errors import ConfigError, message

RUNS = Path(__file__).parent / "runs" / "faults"
ALONE = "alone.json"
HEAD = f"{'kind of fault':<56}{'faults':>7}{'runs':>6}{'right':>7}{'lost, s':>9}{'longest, s':>12}"


class Outcome(NamedTuple):
    """Of one run. longest_s: from a fault, or from --resume, to the next row of metrics. wrong: why it did not end
    right; empty where it did. apart: largest difference of a weight from the undisturbed run, where it is compared."""

    faults: int
    seconds: float
    longest_s: float
    wrong: tuple[str, ...]
    apart: float = 0.0


class Alone(NamedTuple):
    """An undisturbed run: its folder, and how long it took."""

    folder: Path
    seconds: float


def measure() -> dict[str, float]:
    """Of each kind: faults made, runs, runs that ended right, seconds lost a fault, the longest wait and the largest
    difference of a weight. Prints them as a table."""
    names, times = asked()
    figures = kept(names)
    make_workshop(RUNS)
    print(HEAD)
    with adopting():
        for name in names:
            figures |= measured(name, KINDS[name], times)
    return figures


def asked() -> tuple[list[str], int]:
    """Kinds and times of the environment. Raises ConfigError."""
    names, times = os.environ.get("KINDS", " ".join(KINDS)).split(), os.environ.get("TIMES", "10")
    unknown = [name for name in names if name not in KINDS]
    if unknown or not times.isdecimal() or not int(times):
        raise ConfigError(message("the faults are not known", got=" ".join(unknown) or f"TIMES={times}",
                                  expected=f"KINDS of {', '.join(KINDS)}; TIMES, a number", remedy="correct them"))
    return names, int(times)


def kept(names: Sequence[str]) -> dict[str, float]:
    """Figures of other kinds that this commit made before; with changes on top it is not known to be the same."""
    path = RESULTS / "faults.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    if before.get("commit") != commit() or is_changed():
        return {}
    others = tuple(f"{name}_" for name in KINDS if name not in names)
    return {key: value for key, value in before["figures"].items() if key.startswith(others)}


def measured(name: str, kind: Kind, times: int) -> dict[str, float]:
    """One row of the table."""
    undisturbed = found_alone(kind) or left_alone(kind)
    outcomes = [one_run(f"{name}-{number}", kind, min(kind.per_run, times - first), undisturbed)
                for number, first in enumerate(range(0, times, kind.per_run))]
    faults, right = sum(one.faults for one in outcomes), sum(not one.wrong for one in outcomes)
    lost = sum(one.seconds - undisturbed.seconds for one in outcomes) / max(faults, 1)
    longest = max(one.longest_s for one in outcomes)
    print(f"{kind.what:<56}{faults:>7}{len(outcomes):>6}{right:>7}{lost:>9.1f}{longest:>12.1f}", flush=True)
    return {f"{name}_faults": float(faults), f"{name}_runs": float(len(outcomes)), f"{name}_right": float(right),
            f"{name}_seconds_lost": lost, f"{name}_longest_seconds": longest,
            f"{name}_weights_apart": max(one.apart for one in outcomes)}


def found_alone(kind: Kind) -> Alone | None:
    """The undisturbed run of the same commit, without changes on top."""
    folder = RUNS / "runs" / name_alone(kind)
    try:
        facts = json.loads((folder / ALONE).read_text())
    except OSError:
        return None
    return Alone(folder, facts["seconds"]) if facts["commit"] == commit() and not is_changed() else None


def is_changed() -> bool:
    return commit().endswith("-dirty")


def left_alone(kind: Kind) -> Alone:
    """Raises RuntimeError where the run does not end well without a fault."""
    name = name_alone(kind)
    target = RUNS / "runs" / name
    shutil.rmtree(target, ignore_errors=True)
    with PLACES[kind.place](RUNS) as place:
        training = Training(RUNS, name, place, kind.work)
        outcome = disturbed(training, kind, [], Watch(beside_cluster=isinstance(place.data, Cluster)))
        if outcome.wrong:
            raise RuntimeError(f"an undisturbed run is not well: {'; '.join(outcome.wrong)}: see {training.log}")
        if training.folder != target:
            shutil.copytree(training.folder, target, ignore=shutil.ignore_patterns("checkpoints"))
    (target / ALONE).write_text(json.dumps({"commit": commit(), "seconds": outcome.seconds}))
    return Alone(target, outcome.seconds)


def name_alone(kind: Kind) -> str:
    """One run for all kinds of the same work and place."""
    return f"alone-{kind.work.task}-{kind.place}"


def one_run(name: str, kind: Kind, faults: int, undisturbed: Alone) -> Outcome:
    """A run with so many faults, and what is wrong with it. Prints that, and where to look."""
    segments, everyone = stale_segments(), Watch(beside_cluster=False)
    rng = f"{os.environ.get('SEED', '0')} {name}"
    plan = list(moments(rng, faults, steps=STEPS, step_s=step_seconds(undisturbed.folder), starting=kind.starting))
    with PLACES[kind.place](RUNS) as place:
        shutil.rmtree(place.seen / name, ignore_errors=True)
        training = Training(RUNS, name, place, kind.work)
        outcome = disturbed(training, kind, plan, Watch(beside_cluster=isinstance(place.data, Cluster)))
        wrong, apart = list(outcome.wrong), 0.0
        if not wrong:
            wrong = problems(training.folder, undisturbed.folder, Expected(STEPS, PROMPTS * GROUP, faults * kind.loses))
        if not wrong and not kind.loses:
            apart = largest_difference(training.folder / "final", undisturbed.folder / "final")
    wrong += [*everyone.remains(), *(f"/dev/shm/{left} was left behind" for left in stale_segments() - segments)]
    for problem in wrong:
        print(f"  {name}: {problem} ({training.log})", file=sys.stderr, flush=True)
    return outcome._replace(wrong=tuple(wrong), apart=apart)


def disturbed(training: Training, kind: Kind, plan: Sequence[Moment], watch: Watch) -> Outcome:
    """From the start to the end of a run, with a fault at each moment."""
    rng, began, longest, made = random.Random(str(plan)), time.monotonic(), 0.0, 0
    wrong: list[str] = []
    try:
        training.start()
        for moment in plan:
            waited, trouble = hit(training, kind, moment, rng, watch)
            longest, made = max(longest, waited), made + 1
            if trouble:
                wrong.append(trouble)
                break
        if not wrong and (status := training.ended()) != 0:
            wrong.append(f"it ended with status {status}")
    finally:
        seconds = time.monotonic() - began
        training.stop()
    return Outcome(made, seconds, longest, (*wrong, *watch.remains()))


def hit(training: Training, kind: Kind, moment: Moment, rng: random.Random, watch: Watch) -> tuple[float, str]:
    """One fault. Seconds until the run went on, by itself or by --resume, and what is wrong, or nothing."""
    if not kind.starting and not training.reaches(moment.step):
        return 0.0, f"it did not reach step {moment.step}"
    time.sleep(moment.delay_s)
    said = len(training.words)
    try:
        since = kind.act(training, rng)
    except OSError as error:
        return 0.0, f"no fault was made: {error}"
    if kind.ends is not None:
        if trouble := ended_as_expected(training, kind, said, watch):
            return time.time() - since, trouble
        kind.mend(training)
        since = time.time()
        training.resume()
    went_on = training.goes_on(since, GOES_ON_S)
    return time.time() - since, "" if went_on else f"it did not go on within {GOES_ON_S:.0f} s"


def ended_as_expected(training: Training, kind: Kind, said: int, watch: Watch) -> str:
    """What is wrong with the end that a fault has brought about, or nothing. said: characters of its words before."""
    if (status := training.ended(GOES_ON_S)) != kind.ends:
        return f"the fault ended it with status {status}, expected {kind.ends}"
    words = training.words[said:]
    if status and status > 0 and ("remedy:" not in words or "Traceback" in words):
        return "it did not say clearly why it ended"
    left = watch.remains(agents=False)
    return left[0] if left else ""
