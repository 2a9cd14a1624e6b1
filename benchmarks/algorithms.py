"""Algorithms beside one another: the same model, task, seeds and wall-clock; who is right how often on held-out sums.

    MINUTES=8 SEEDS=0 python -m benchmarks algorithms

Each run is stopped by SIGTERM after MINUTES from its start, loading included, one run after another. The offline ones
learn from the answers that the run of GRPO with the same seed sampled in the first half of that time, and pay nothing
for them. SHORT=1 takes sums of 1 to 9, which move sooner. ALGORITHMS names others than the five. Runs are left in
benchmarks/runs/, one picture each beside them, with the command and commit of each. What the same command made before
is taken as it is: remove the folder to make all anew.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.record import commit
from reasongym.tracking.report import write_curve_svg

RUNS = Path(__file__).parent / "runs"
FIVE = "grpo rloo ppo online_dpo kto"
OFFLINE = {"dpo": "pairs", "kto": "labels"}
SAMPLED = ("--recipe", "cpu_arithmetic", "--set", "rollout.prompts_per_step=8")
RECIPES = {"ppo": ("--recipe", "cpu_arithmetic_ppo", "--set", "rollout.prompts_per_step=32"),
           "online_dpo": ("--recipe", "cpu_online_dpo", "--set", "rollout.prompts_per_step=8"),
           "dpo": ("--recipe", "cpu_dpo"), "kto": ("--recipe", "cpu_kto"), "sft": ("--recipe", "cpu_sft")}
COMMON = ("--task", "arithmetic", "--steps", "1000", "--set", "trainer.schedule=constant", "--set",
          "trainer.warmup_steps=0", "--set", "sync.verify=first", "--set", "checkpoint.every=0", "--set",
          "checkpoint.keep_best=false", "--set", "evaluation.prompts=128", "--set", "evaluation.temperature=1.0")


def measure() -> dict[str, float]:
    """Held-out accuracy at the start, the best, and the last; of each algorithm and seed."""
    minutes, seeds = float(os.environ.get("MINUTES", "8")), os.environ.get("SEEDS", "0").split()
    figures: dict[str, float] = {}
    print(f"{'algorithm':<24}{'seed':>5}{'steps':>7}{'base':>8}{'best':>8}{'last':>8}   of 128 held-out sums")
    for seed in seeds:
        for name in os.environ.get("ALGORITHMS", FIVE).split():
            folder = run(name, seed, minutes)
            steps, scores = read(folder)
            values = {"base": scores[0], "best": max(scores), "last": scores[-1], "steps": float(steps)}
            shown = "".join(f"{values[key]:>8.3f}" for key in ("base", "best", "last"))
            print(f"{name:<24}{seed:>5}{steps:>7}{shown}", flush=True)
            figures |= {f"{name}_seed{seed}_{key}": value for key, value in values.items()}
            write_curve_svg(folder, folder.with_suffix(".svg"), f"arithmetic, smollm2-135m, {name}")
    return figures


def run(name: str, seed: str, minutes: float) -> Path:
    """One training run, ended after so many minutes. Its last whole step is saved, and the report written."""
    label = f"{name}-seed{seed}"
    short = os.environ.get("SHORT") == "1"
    level = ("--set", "task.settings={levels: 1}") if short else ("--set", "task.settings={levels: 2}")
    every = "2" if name in OFFLINE else "6" if name == "sft" else "3"
    command = [sys.executable, "-m", "reasongym", "train", *RECIPES.get(name, SAMPLED), "--algorithm", name, *COMMON,
               *level, "--set", f"evaluation.every={every}", "--seed", seed, "--name", label, "--runs", str(RUNS)]
    if name in OFFLINE:
        command += ["--set", f"algorithm.data={mined(name, seed, minutes / 2)}"]
    log, whole = RUNS / f"{label}.log", RUNS / f"{label}.json"  # how it was made, once it has ended well
    made = {"command": command[1:], "minutes": minutes}
    if whole.exists() and made.items() <= json.loads(whole.read_text()).items():
        return RUNS / label
    RUNS.mkdir(exist_ok=True)
    shutil.rmtree(RUNS / label, ignore_errors=True)
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            process.wait(timeout=60 * minutes)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=300)
    shutil.rmtree(RUNS / label / "checkpoints", ignore_errors=True)  # 1.6 GB that nobody resumes
    if process.returncode not in (0, 130):
        raise RuntimeError(f"{label} ended with status {process.returncode}: see {log}")
    whole.write_text(json.dumps(made | {"commit": commit()}, indent=1))
    return RUNS / label


def mined(name: str, seed: str, minutes: float) -> Path:
    """Pairs or labels of what GRPO sampled in its first so many minutes."""
    source = RUNS / f"grpo-seed{seed}"
    started = min(row["time"] for row in metrics(source))
    steps = [row["step"] for row in metrics(source) if row["time"] - started < 60 * minutes and row["step"] > 0]
    target = RUNS / f"{OFFLINE[name]}-seed{seed}.parquet"
    target.unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "reasongym", "pairs", str(source), "--kind", OFFLINE[name], "--steps",
                    f"1:{max(steps)}", "--output", str(target)], check=True, timeout=300, stdout=subprocess.DEVNULL)
    return target


def metrics(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def read(folder: Path) -> tuple[int, list[float]]:
    """Steps made, and the held-out scores in their order."""
    rows = metrics(folder)
    return (int(max(row["step"] for row in rows)),
            [row["eval/reward/correct"] for row in rows if "eval/reward/correct" in row])


if __name__ == "__main__":
    began = time.monotonic()
    measure()
    print(f"{time.monotonic() - began:.0f} s")
