"""Checkpoints of a run: written to a temporary name, synced, sealed with digests, renamed.

    checkpoints/step-000010/
        state/        what the ranks wrote: parameters, master weights, optimizer
        critic/       the same of PPO's critic
        loop.json     where the loop stood (`LoopState`) and what the checkpoint fits
        seal.json     size and digest of every file above
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import xxhash

from reasongym.errors import CheckpointError, ResourceError, TrainerError, message
from reasongym.files import sync

__all__ = ["Checkpoints", "LoopState", "full_disk_error"]

FULL_BYTES = 2**20
"""Less is left of a disk that was full a moment ago."""
NAME = re.compile(r"step-(\d{6,})")
FITS = {"model": "model.path", "model_files": "weights and config.json in model.path", "ranks": "trainer.ranks",
        "zero_stage": "trainer.zero_stage", "tensor_parallel": "trainer.tensor_parallel",
        "critic_ranks": "algorithm.critic.ranks", "task": "task.name",
        "data": "rows of the task (task.data, task.settings)", "examples": "rows in algorithm.data",
        "lora": "model.lora"}
"""What a run may not change, as its user knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """Everything the loop needs to go on: all else is a function of the configuration and these.

    step: optimizer batches done. position: prompts taken from the source. again: positions before it whose groups were
    sampled ahead and not trained on. updates: optimizer steps (mini-batches and
    epochs counted). version: policy version the engines held. best_reward, best_step: of the best held-out evaluation.
    evaluated_step: that of the newest evaluation. kl_coefficient: of an adaptive KL penalty, None at its start.
    level, level_steps, level_score: of a curriculum: the present level (0: its first), the steps since the last
    decision and the sum of their scores.
    Random state: none. Prompt order, seeds of completions and learning rate are functions of (seed, step, position).
    """

    step: int = 0
    position: int = 0
    again: tuple[int, ...] = ()
    updates: int = 0
    version: int = 0
    best_reward: float | None = None
    best_step: int | None = None
    evaluated_step: int | None = None
    kl_coefficient: float | None = None
    level: int = 0
    level_steps: int = 0
    level_score: float = 0.0


class Checkpoints:
    """The folder of a run's checkpoints. `fits`: facts a checkpoint must share with the run that loads it, as far as
    both name them."""

    def __init__(self, folder: Path, *, keep_last: int, keep_best: bool, fits: Mapping[str, Any]) -> None:
        self.folder, self.keep_last, self.keep_best, self.fits = folder, keep_last, keep_best, dict(fits)
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}"

    def steps(self) -> list[int]:
        """Steps of all complete checkpoints, rising. Folders with temporary names do not count."""
        found = (NAME.fullmatch(entry.name) for entry in self.folder.iterdir() if entry.is_dir())
        return sorted(int(match.group(1)) for match in found if match)

    def save(self, state: LoopState, write: Callable[[str], object]) -> Path:
        """`write(folder)` makes the ranks write. A failure leaves earlier checkpoints as they are.

        Raises ResourceError when the disk is full.
        """
        target, scratch = self.path(state.step), self.folder / f".step-{state.step:06d}.tmp"
        aside = scratch.with_suffix(".old")
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            scratch.mkdir()
            write(str(scratch))
            (scratch / "loop.json").write_text(json.dumps({"state": asdict(state), "fits": self.fits}, indent=1))
            _seal(scratch)
            if target.exists():  # the same step once more: aside first, so that no half-deleted folder has its name
                target.rename(aside)
            scratch.rename(target)
            sync(self.folder)
        except (OSError, TrainerError) as error:
            full = full_disk_error(self.folder, f"checkpoint {target.name}", error)
            if full is None:
                raise
            raise full from error
        finally:
            for scraps in (scratch, aside):
                shutil.rmtree(scraps, ignore_errors=True)
        self._prune(state)
        return target

    def load(self, step: int | None = None) -> tuple[LoopState, Path]:
        """The newest checkpoint, or that of `step`, checked byte by byte. Raises CheckpointError."""
        steps = self.steps()
        if not steps or (step is not None and step not in steps):
            raise CheckpointError(message("no checkpoint to resume from", got=f"{self.folder}: steps {steps or 'none'}",
                                          expected="a complete checkpoint" if step is None else f"step {step}",
                                          remedy="start anew without --resume"))
        chosen = steps[-1] if step is None else step
        path = self.path(chosen)
        earlier = [s for s in steps if s < chosen]
        instead = f"--resume-from {earlier[-1]} takes the one before" if earlier else "start anew without --resume"
        _check_seal(path, instead)
        content = json.loads((path / "loop.json").read_text())
        saved = content["fits"]
        wrong = {k: (saved[k], v) for k, v in self.fits.items() if k in saved and saved[k] != v}
        if wrong:
            raise CheckpointError(message(f"checkpoint {path.name} does not fit this run",
                                          got="; ".join(f"{k}: {a!r} for {b!r}" for k, (a, b) in wrong.items()),
                                          expected=f"the same {', '.join(FITS.get(k, k) for k in wrong)}",
                                          remedy="resume with the run's own config.yaml, data and model; for others "
                                          "start a run from its final/ with --model"))
        return LoopState(**content["state"] | {"again": tuple(content["state"].get("again", ()))}), path

    def discard_after(self, step: int) -> None:
        """Remove checkpoints of later steps: a run that went back to `step` writes its own."""
        for later in self.steps():
            if later > step:
                shutil.rmtree(self.path(later), ignore_errors=True)

    def _prune(self, state: LoopState) -> None:
        steps = self.steps()
        keep = set(steps[-self.keep_last:])
        if self.keep_best and state.best_step is not None:
            # The best evaluation's checkpoint, or the nearest one after it when that step had none.
            keep |= {min((s for s in steps if s >= state.best_step), default=steps[-1])}
        for step in steps:
            if step not in keep:
                shutil.rmtree(self.path(step), ignore_errors=True)


def full_disk_error(folder: Path, what: str, error: OSError | TrainerError) -> ResourceError | None:
    """What to raise where something cannot be written to the disk of `folder`; None where that is not the reason.

    Ranks say that a write of theirs failed in as many ways as there are writers: then the disk itself is asked.
    """
    if isinstance(error, TrainerError) and shutil.disk_usage(folder).free > FULL_BYTES:
        return None
    got = str(error) if isinstance(error, OSError) else "no room left, while the ranks were writing"
    return ResourceError(message(f"{what} cannot be written", got=got, expected=f"room on the disk of {folder}",
                                 remedy="free space, then --resume: the earlier checkpoint is whole"))


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "seal.json")


def _seal(folder: Path) -> None:
    """Sync every file and record its size and digest: what is read back later is what was written, or an error."""
    entries = {}
    for path in _files(folder):
        sync(path)
        entries[str(path.relative_to(folder))] = [path.stat().st_size, _digest(path)]
    seal = folder / "seal.json"
    seal.write_text(json.dumps(entries, indent=1))
    sync(seal)


def _check_seal(folder: Path, instead: str) -> None:
    try:
        entries = json.loads((folder / "seal.json").read_text())
        bad = [name for name, (size, value) in entries.items()
               if not (folder / name).is_file() or (folder / name).stat().st_size != size
               or _digest(folder / name) != value]
    except (OSError, ValueError, TypeError) as error:
        bad = [f"seal.json ({error})"]
    if bad:
        raise CheckpointError(message(f"checkpoint {folder} is damaged", got=f"wrong or missing: {', '.join(bad[:4])}",
                                      expected="files equal to those that were written", remedy=instead))


def _digest(path: Path) -> str:
    hasher = xxhash.xxh3_64()
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            hasher.update(block)
    return hasher.hexdigest()
