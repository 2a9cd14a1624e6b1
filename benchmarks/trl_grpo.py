"""Answers an hour of a whole training run: `reasongym train` beside TRL's GRPOTrainer with its default generation.

The recipe `cpu_arithmetic` on the embedded model in float32: the same problems in the same order, as many prompts and
answers a step, the same limits, temperature, optimizer and rewards; AdamW at a constant rate, no KL, no gradient
checkpointing on either side, one generation and one optimizer step a step. What remains of their differences is theirs:
TRL samples with `transformers` in the trainer's process and trains on padded rows; ours has an engine beside a rank,
sends the weights and compares checksums after each step, reads a prompt once for its group, passes over groups whose
rewards are all equal (their gradient is exactly 0), and writes every answer to disk.

One run after the other, each in processes of its own. A step lasts from the end of the one before; the first is a
warm-up. Memory is the largest sum of proportional set sizes (PSS) of all processes of a run, looked at every two
seconds: shared pages count once. TRL is no dependency; the head of benchmarks/trl_losses.py says how to install it:

    PYTHONPATH=~/trl_env python -m benchmarks trl_grpo

STEPS, PROMPTS, GROUP and ROWS (TRL's micro-batch) change its size.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from reasongym.tracking import read_metrics

SHAPE = {"steps": int(os.environ.get("STEPS", "7")), "prompts": int(os.environ.get("PROMPTS", "4")),
         "group": int(os.environ.get("GROUP", "16")), "rows": int(os.environ.get("ROWS", "32"))}
LOOK_S = 2.0
DEADLINE_S = 1500.0
MIB = 2**20


class Finished(NamedTuple):
    """ends: of each step, seconds since 1970. lengths, flat: of each step, tokens an answer and share of flat groups.
    first_s: from the start of the command to the end of the first step. peak: MiB of PSS by kind of process."""

    ends: list[float]
    lengths: list[float]
    flat: list[float]
    first_s: float
    peak: Mapping[str, float]

    @property
    def step_s(self) -> float:
        """Mean of the steps after the first: with ours they differ by the groups that are passed over."""
        return (self.ends[-1] - self.ends[0]) / (len(self.ends) - 1)


def measure() -> dict[str, float]:
    """Answers an hour, tokens a second, MiB, and ratios."""
    if importlib.util.find_spec("trl") is None:
        print("trl_grpo: TRL is not installed; the head of benchmarks/trl_losses.py says how to")
        return {}
    with tempfile.TemporaryDirectory() as scratch:
        runs = {"ours": ours(Path(scratch)), "trl": trl(Path(scratch))}
    for name, run in runs.items():
        kinds = ", ".join(f"{kind} {mib:.0f}" for kind, mib in sorted(run.peak.items(), key=lambda item: -item[1]))
        print(f"{name:>5}: {run.step_s:.1f} s a step, {statistics.mean(run.lengths[1:]):.1f} tokens an answer, "
              f"{statistics.mean(run.flat[1:]):.2f} of the groups flat; MiB: {kinds}")
    return figures(runs)


def figures(runs: Mapping[str, Finished]) -> dict[str, float]:
    """Of both runs."""
    answers = SHAPE["prompts"] * SHAPE["group"]
    made: dict[str, float] = {}
    for name, run in runs.items():
        length = statistics.mean(run.lengths[1:])
        made |= {f"{name}_step_seconds": run.step_s, f"{name}_answers_per_hour": 3600 * answers / run.step_s,
                 f"{name}_tokens_per_answer": length, f"{name}_tokens_per_second": length * answers / run.step_s,
                 f"{name}_flat_group_share": statistics.mean(run.flat[1:]),
                 f"{name}_first_step_seconds": run.first_s, f"{name}_peak_mib": sum(run.peak.values())}
    for of in ("answers_per_hour", "tokens_per_second", "peak_mib"):
        made[f"ours_over_trl_{of}"] = made[f"ours_{of}"] / made[f"trl_{of}"]
    return made


def ours(scratch: Path) -> Finished:
    """`reasongym train`."""
    sets = {"rollout.prompts_per_step": SHAPE["prompts"], "rollout.group_size": SHAPE["group"],
            "trainer.schedule": "constant", "evaluation.every": 0, "checkpoint.every": 0}
    command = [sys.executable, "-m", "reasongym", "train", "--recipe", "cpu_arithmetic", "--runs", str(scratch),
               "--name", "ours", "--steps", str(SHAPE["steps"]),
               *(word for key, value in sets.items() for word in ("--set", f"{key}={value}"))]
    started = time.time()
    peak = watched(command, scratch / "ours.log")
    rows = [row for row in read_metrics(scratch / "ours" / "metrics.jsonl") if "step/seconds" in row]
    parts = ("rollout/seconds", "train/seconds", "sync/seconds", "step/seconds")
    print(" ours: " + ", ".join(f"{part} {statistics.mean(row[part] for row in rows[1:]):.1f}" for part in parts))
    return Finished([row["time"] for row in rows], [row["rollout/length_mean"] for row in rows],
                    [row["rollout/flat_group_share"] for row in rows], rows[0]["time"] - started, peak)


def trl(scratch: Path, **more: Any) -> Finished:
    """GRPOTrainer. more: of its configuration."""
    shape, steps = scratch / "shape.json", scratch / "trl.jsonl"
    shape.write_text(json.dumps(SHAPE | {"more": more}))
    started = time.time()
    peak = watched([sys.executable, "-m", "benchmarks.trl_grpo_run", str(shape), str(steps)], scratch / "trl.log")
    rows = [json.loads(line) for line in steps.read_text().splitlines()]
    return Finished([row["time"] for row in rows], [row["length"] for row in rows], [row["flat"] for row in rows],
                    rows[0]["time"] - started, peak)


def watched(command: Sequence[str], log: Path) -> dict[str, float]:
    """Runs it to its end; MiB of its processes when they took most. Raises RuntimeError with its last words."""
    peak: dict[str, float] = {}
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + DEADLINE_S
            while process.poll() is None and time.monotonic() < deadline:
                now = proportional(process.pid)
                peak = max(peak, now, key=lambda sizes: sum(sizes.values()))
                time.sleep(LOOK_S)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:4])}: exit status {process.returncode}\n{log.read_text()[-3000:]}")
    return peak


def proportional(pid: int) -> dict[str, float]:
    """MiB of PSS of a process and all that it started, by kind."""
    sizes: dict[str, float] = {}
    try:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return sizes
    for process in processes:
        try:
            kind = kind_of(" ".join(process.cmdline()))
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        except (psutil.Error, OSError):  # it has ended meanwhile
            continue
        pss = next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
        sizes[kind] = sizes.get(kind, 0.0) + pss * 1024 / MIB
    return sizes


def kind_of(command: str) -> str:
    """What a process is for."""
    marks = {"VLLM::": "vLLM's core", "ray::Engine": "engine actor", "ray::Rank": "rank", "reasongym train": "driver",
             "reasongym.scoring": "scoring", "trl_grpo_run": "trainer"}
    return next((kind for mark, kind in marks.items() if mark in command), "Ray and others")
