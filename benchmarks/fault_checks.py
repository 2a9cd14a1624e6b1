"""What has to hold of a run that faults were made in, against one of the same seed that was left alone."""

from __future__ import annotations

import contextlib
import fcntl
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reasongym.errors import DataError
from reasongym.tracking import read_metrics, read_rollouts

NEAR = 1e-5
"""Largest difference of a weight between runs that count as the same."""
NOISE = 0.15
"""Largest difference of the mean reward of two runs that are not the same any more."""
SHARED_MEMORY = Path("/dev/shm")

Rows = Sequence[Mapping[str, Any]]


class Expected(NamedTuple):
    """steps: of the run. answers: of a step. lost: answers that may have lost their reward; 0 where the runs are the
    same to the last."""

    steps: int
    answers: int
    lost: int = 0


def problems(folder: Path, undisturbed: Path, expected: Expected) -> list[str]:
    """What is wrong with the run in `folder`; empty where all is as it should be."""
    found = [*steps_once(_metrics(folder), _metrics(undisturbed), expected.steps), *scraps(folder)]
    ours, theirs = (rollouts(path, found) for path in (folder, undisturbed))
    found += answers_once(ours, expected)
    if expected.lost:
        return [*found, *same_but_for_lost(ours, theirs, expected.lost)]
    found += [f"step {step} has other answers or rewards than the undisturbed run" for step in sorted(theirs)
              if _told(ours.get(step, ())) != _told(theirs[step])]
    return [*found, *same_weights(folder, undisturbed)]


def steps_once(rows: Rows, undisturbed: Rows, steps: int) -> list[str]:
    """Each step was trained on once, and no row is missing or there twice."""
    trained = Counter(row["step"] for row in rows if "step/seconds" in row)
    found = [f"step {step} has {trained[step]} rows of training" for step in range(1, steps + 1) if trained[step] != 1]
    if [row["step"] for row in rows] != [row["step"] for row in undisturbed]:
        found.append("metrics.jsonl has other rows than that of the undisturbed run")
    return found


def answers_once(found: Mapping[int, Rows], expected: Expected) -> list[str]:
    """Each answer, known by its row and its seed, is there once, in the file of its step."""
    wrong = [] if sorted(found) == list(range(1, expected.steps + 1)) else [f"rollouts of the steps {sorted(found)}"]
    for step, rows in found.items():
        distinct = {(row["step"], row["index"], row["seed"]) for row in rows}
        if len(rows) != expected.answers or len(distinct) != len(rows) or {row["step"] for row in rows} != {step}:
            wrong.append(f"the rollouts of step {step}: {len(rows)} rows, {len(distinct)} answers")
    return wrong


def same_but_for_lost(ours: Mapping[int, Rows], theirs: Mapping[int, Rows], lost: int) -> list[str]:
    """The same up to the first step in which an answer lost its reward, and there apart from those; then near it."""
    for step in sorted(theirs):
        mine, others = _told(ours.get(step, ())), _told(theirs[step])
        if mine == others:
            continue
        if [told[:-1] for told in mine] != [told[:-1] for told in others]:
            return [f"step {step} has other answers than the undisturbed run before any lost its reward"]
        changed = [(one[-1], other[-1]) for one, other in zip(mine, others, strict=True) if one != other]
        if len(changed) > lost or any(one != 0 for one, _ in changed):
            return [f"step {step} has {len(changed)} other rewards, of which {lost} may be 0: {changed[:4]}"]
        break
    apart = abs(_mean(ours.values()) - _mean(theirs.values()))
    return [f"the mean reward is {apart:.3f} from that of the undisturbed run"] if apart > NOISE else []


def same_weights(folder: Path, undisturbed: Path) -> list[str]:
    """Of final/, to the last bit or nearly."""
    try:
        apart = largest_difference(folder / "final", undisturbed / "final")
    except (OSError, ValueError) as error:
        return [f"final/ cannot be compared: {error}"]
    return [f"a weight of final/ is {apart:.3g} from that of the undisturbed run"] if apart > NEAR else []


def largest_difference(one: Path, other: Path) -> float:
    """Of two models' weights; 0 where their files are equal. Raises OSError, and ValueError for other tensors."""
    from safetensors.torch import load_file

    files = [folder / "model.safetensors" for folder in (one, other)]
    if files[0].read_bytes() == files[1].read_bytes():
        return 0.0
    ours, theirs = (dict(load_file(file)) for file in files)
    if {name: t.shape for name, t in ours.items()} != {name: t.shape for name, t in theirs.items()}:
        raise ValueError("they have other tensors")
    apart: list[float] = [(ours[name].float() - theirs[name].float()).abs().max().item() for name in ours]
    return max(apart, default=0.0)


def scraps(folder: Path) -> list[str]:
    """Half-written files and folders."""
    return [f"{path.relative_to(folder)} was left behind" for path in sorted(folder.rglob(".*"))
            if path.name.endswith((".tmp", ".old"))]


def stale_segments() -> set[str]:
    """Files of weight transfers in shared memory that no process holds any more."""
    found = set()
    for path in SHARED_MEMORY.glob("reasongym-*"):
        with contextlib.suppress(OSError), path.open("r+b") as file:  # held, or gone by now
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found.add(path.name)
    return found


def rollouts(folder: Path, wrong: list[str]) -> dict[int, Rows]:
    """Step -> its rows; what cannot be read is added to `wrong`."""
    found: dict[int, Rows] = {}
    for file in sorted((folder / "rollouts").glob("*.parquet")):
        try:
            found[int(file.stem.removeprefix("step-"))] = read_rollouts(file)
        except DataError as error:
            wrong.append(str(error).splitlines()[0])
    return found


def _metrics(folder: Path) -> Rows:
    return read_metrics(folder / "metrics.jsonl")


def _told(rows: Rows) -> list[tuple[Any, ...]]:
    """What was sampled, and its reward, in order."""
    return [(row["index"], row["seed"], tuple(row["token_ids"]), row["reward"]) for row in rows]


def _mean(steps: Iterable[Rows]) -> float:
    rewards: list[float] = [row["reward"] for rows in steps for row in rows if row["reward"] is not None]
    return sum(rewards) / max(len(rewards), 1)
