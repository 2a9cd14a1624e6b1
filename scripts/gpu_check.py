"""Does training work on this machine's GPU? A plan, three steps with the recipe gpu1, and their figures.

    make gpu-check                                   # or: .venv/bin/python scripts/gpu_check.py
    make gpu-check ARGS="--recipe gpu8 --model Qwen/Qwen2.5-0.5B-Instruct"

The default model is the embedded one, so that no model hub is needed. Exit status: 0 where all checks hold, 1 where
one does not, 2 where there is no CUDA device.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

STEPS = 3
SHOWN = ("step/seconds", "rollout/seconds", "rollout/tokens_per_second", "train/seconds", "train/tokens_per_second",
         "sync/seconds", "sync/bytes", "train/grad_norm", "mismatch/kl", "mismatch/mean_abs_logprob_diff",
         "mismatch/ess", "mismatch/max_ratio")


class Bound(NamedTuple):
    """A metric that must stay at or below `limit` in every step, and why it is that limit."""

    metric: str
    limit: float
    why: str


BOUNDS = (
    # bfloat16 keeps 8 bits: a logit near 10 is rounded by up to 2^-6 = 0.016, and two kernels round differently. A
    # wrong mask, temperature or weight shows as 0.1 and more.
    Bound("mismatch/mean_abs_logprob_diff", 0.03, "engine and trainer disagree by more than rounding explains"),
    # Of the order of half the variance of the differences above: 0.03^2 / 2 = 0.0005 for the mean, with room for tails.
    Bound("mismatch/kl", 0.005, "the engine samples from another policy than the one trained"),
)


def main() -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="gpu1", help="a recipe of configs/ (gpu1)")
    parser.add_argument("--model", default="smollm2-135m", help="a Hugging Face folder or hub id (the embedded model)")
    arguments = parser.parse_args()
    devices = cuda_devices()
    if not devices:
        print("error: no CUDA device on this machine\n  remedy:   run it where nvidia-smi lists one", file=sys.stderr)
        return 2
    print("\n".join(devices), flush=True)
    train = [str(Path(sys.executable).with_name("reasongym")), "train", "--task", "gsm8k", "--recipe", arguments.recipe,
             "--set", f"model.path={arguments.model}"]
    with tempfile.TemporaryDirectory() as runs:
        short = ["--steps", str(STEPS), "--set", "evaluation.every=0"]
        place = ["--set", f"runs={runs}", "--set", "name=gpu-check"]
        for command in ([*train, "--dry-run"], [*train, *short, *place]):
            print(f"$ {' '.join(command)}", flush=True)
            if subprocess.run(command).returncode:
                return 1
        return report(read_steps(Path(runs, "gpu-check", "metrics.jsonl")))


def cuda_devices() -> list[str]:
    """Name, memory and driver of each device, as nvidia-smi says; empty where there is none."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def read_steps(path: Path) -> list[Mapping[str, float]]:
    """One mapping a training step, in order."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if "train/loss" in row]


def report(steps: Sequence[Mapping[str, float]]) -> int:
    """Print the figures step by step, then what is wrong with them; 1 where something is."""
    for metric in SHOWN:
        print(f"{metric:32}", *(f"{step[metric]:>14.6g}" if metric in step else f"{'-':>14}" for step in steps))
    problems = complaints(steps)
    print("\n".join(problems) if problems else f"all checks hold over {len(steps)} steps")
    return 1 if problems else 0


def complaints(steps: Sequence[Mapping[str, float]]) -> list[str]:
    """What does not hold. A metric that is missing is a complaint, and NaN is beyond every limit."""
    found = [] if len(steps) == STEPS else [f"{len(steps)} steps were recorded, expected {STEPS}"]
    for metric, limit, why in BOUNDS:
        worst = [step.get(metric, float("nan")) for step in steps]
        if not all(value <= limit for value in worst):
            found.append(f"{metric} is {worst}, expected at most {limit}: {why}")
    return found


if __name__ == "__main__":
    sys.exit(main())
