"""Made-up results and runs for the pictures of docs/pictures. No number in them was measured."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from reasongym.evaluation.prompting import prompts_digest
from reasongym.evaluation.record import SCHEMA, Result, write_result
from reasongym.evaluation.samples import Answer, Sample
from reasongym.evaluation.statistics import wilson_interval
from reasongym.leaderboard import Store
from reasongym.leaderboard.reading import read_folder
from reasongym.records import Completion, FinishReason, Group, Prompt, Rollout
from reasongym.tasks import Example
from reasongym.tracking import RunFolder, write_rollouts
from reasongym.tracking.ending import write_ending
from reasongym.verifiers import Verdict

__all__ = ["demonstration_runs", "demonstration_store"]

ROWS = 200
MODELS = (("model-7b", 0.78), ("model-3b, trained", 0.70), ("model-3b", 0.69), ("model-1b, trained", 0.52),
          ("model-1b", 0.41), ("model-135m", 0.05))
TASKS = (("algebra", 0.0), ("numbers", 0.12))
QUESTION = r"Find the larger root of $x^2 - {b}x + {c} = 0$."
WORKING = (r"The roots are" "\n\n" r"\[x = \frac{{{b} \pm \sqrt{{{b}^2 - 4 \cdot {c}}}}}{{2}},\]" "\n\n"
           r"and with $\sqrt{{{inner}}} = {root}$ the larger one is $\frac{{{sum}}}{{2}}$. So \boxed{{{value}}}.")
RUNS = (("grpo, learning rate 1e-5", "grpo", 9, "finished"), ("grpo, learning rate 3e-6", "grpo", 22, "finished"),
        ("dapo, learning rate 1e-5", "dapo", 7, "running"), ("rloo, learning rate 3e-5", "rloo", 14, "stopped"))
STEPS = 120


def demonstration_store(folder: Path) -> Path:
    """A results store of MODELS on TASKS, below `folder`."""
    path = folder / "store.db"
    with Store(str(path), create=True) as store:
        for task, easier in TASKS:
            for model, skill in MODELS:
                store.add(read_folder(_result(folder / f"{task} {model}", model, task, min(skill + easier, 0.97))))
    return path


def demonstration_runs(folder: Path) -> Path:
    """A folder of RUNS, below `folder`."""
    for number, (name, algorithm, slowness, state) in enumerate(RUNS):
        _run(RunFolder(folder / "runs" / name), algorithm, slowness, state, random.Random(number))
    return folder / "runs"


def _problem(row: int, draw: random.Random) -> tuple[Example, str, str]:
    """An example, its worked solution, and a wrong one."""
    small, large = sorted(draw.sample(range(1, 13), 2))
    b, c, root = small + large, small * large, large - small
    example = Example(task="algebra", split="test", index=row, reference=str(large),
                      messages=({"role": "user", "content": QUESTION.format(b=b, c=c)},))
    values = {"b": b, "c": c, "inner": root**2, "root": root, "sum": b + root}
    return example, WORKING.format(**values, value=large), WORKING.format(**values, value=small)


def _verdict(example: Example, is_right: bool) -> Verdict:
    reference = str(example.reference)
    return Verdict.correct(reference) if is_right else Verdict.wrong("1", f"1 is not {reference}")


def _result(folder: Path, model: str, task: str, skill: float) -> Path:
    draw, solver = random.Random(task), random.Random(f"{task} {model}")
    samples = []
    for row in range(ROWS):
        example, right, wrong = _problem(row, draw)
        is_right = solver.random() < skill
        verdict = _verdict(example, is_right)
        samples.append(Sample(
            group=row, sample=0, prompt=Prompt(example=example, token_ids=(), text=str(example.messages[0]["content"])),
            answer=Answer(text=right if is_right else wrong, finish_reason="length" if row < 3 else "stop",
                          num_tokens=solver.randrange(60, 160)),
            verdicts={"correct": verdict}, reward=verdict.score))
    return write_result(folder, _record(model, task, samples), samples)


def _record(model: str, task: str, samples: list[Sample]) -> Result:
    right = len([sample for sample in samples if sample.reward == 1])
    lengths: list[int] = [sample.answer.num_tokens or 0 for sample in samples if sample.answer]
    tokens = sum(lengths)
    low, high = wilson_interval(right, ROWS)
    accuracy = {"mean": right / ROWS, "low": low, "high": high, "method": "wilson", "prompts": ROWS, "answers": ROWS}
    record: dict[str, Any] = {
        "schema_version": SCHEMA, "created": "2026-01-15T12:00:00+00:00", "partial": False,
        "model": {"path": model, "folder": model},
        "task": {"name": task, "split": "test", "settings": {}, "rows": list(range(ROWS)), "rows_digest": "made up",
                 "provenance": {"source": "made up", "rows": f"test {ROWS}", "fingerprint": "made up"},
                 "parts": [{"name": "correct", "verifier": "math", "weight": 1.0, "fingerprint": "made up"}]},
        "prompting": {"template": "", "template_hash": "",
                      "prompts_digest": prompts_digest([sample.prompt for sample in samples])},
        "decoding": {"samples": 1, "temperature": 0.0, "max_new_tokens": 256, "seed": 0}, "engine": {"kind": "vllm"},
        "metrics": {"accuracy": accuracy},
        "counts": {"prompts": ROWS, "answers": ROWS, "answered": ROWS, "scored": ROWS, "missing": 0, "truncated": 3,
                   "timeout": 0, "status_correct": right, "status_wrong": ROWS - right},
        "shares": {}, "tokens": {"prompt": 30 * ROWS, "completion": tokens, "counted": ROWS, "mean": tokens / ROWS},
        "seconds": {"sampling": 60.0, "total": 70.0}, "environment": {"versions": {}, "hardware": {}}}
    return Result.parse(record, "made up")


def _run(folder: RunFolder, algorithm: str, slowness: int, state: str, draw: random.Random) -> None:
    folder.write_config(f"steps: {STEPS}\ntask:\n  name: algebra\nmodel:\n  path: model-1b\nalgorithm:\n"
                        f"  name: {algorithm}\nrollout:\n  group_size: 8\n")
    folder.write_environment({"versions": {"python": "3.11"}})
    last = {"finished": STEPS, "running": 90, "stopped": 60}[state]
    rows = []
    for step in range(last + 1):
        skill = 0.35 + 0.45 * (1 - math.exp(-step / (3 * slowness)))
        if step % 10 == 0:
            rows.append({"step": step, "time": 1.768e9 + 60 * step, "eval/reward/mean": skill - 0.02,
                         "eval/reward/answer": skill - 0.03, "eval/prompts": 200, "eval/length_mean": 140 - 60 * skill})
        if step:
            rows.append({"step": step, "time": 1.768e9 + 60 * step, **_numbers(skill, draw)})
    folder.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for step in range(10, last + 1, 10):
        write_rollouts(folder, step, [_group(step * 10 + number, draw) for number in range(4)])
    if state != "running":
        write_ending(folder.path, "finished" if state == "finished" else "stopped")


def _numbers(skill: float, draw: random.Random) -> dict[str, float]:
    def near(value: float) -> float:
        return max(0.0, value * (1 + draw.gauss(0, 0.05)))

    return {"reward/mean": near(skill), "reward/answer": near(skill), "rollout/tokens": round(near(9000)),
            "rollout/length_mean": near(140 - 60 * skill), "rollout/truncated_share": near(0.1 * (1 - skill)),
            "rollout/flat_group_share": near(0.3), "status/correct": skill, "status/wrong": 0.9 * (1 - skill),
            "status/unparsable": 0.1 * (1 - skill), "train/grad_norm": near(0.8),
            "train/entropy": near(1.1 - 0.8 * skill), "train/clip_share": near(0.01), "train/kl": near(0.02 * skill),
            "mismatch/kl": near(8e-4), "rollout/seconds": near(30), "train/seconds": near(24),
            "sync/seconds": near(0.2), "step/seconds": near(56)}


def _group(index: int, draw: random.Random) -> Group:
    example, right, wrong = _problem(index, draw)
    prompt = Prompt(example=example, token_ids=(1,), text=str(example.messages[0]["content"]))
    rollouts = []
    for seed in range(8):
        is_right = draw.random() < 0.6
        verdict = _verdict(example, is_right)
        completion = Completion(token_ids=(1,), logprobs=(-0.5,), mask=(True,), versions=(1,), seed=seed, seconds=1.5,
                                text=right if is_right else wrong, finish_reason=FinishReason.STOP)
        rollouts.append(Rollout(prompt=prompt, completion=completion, reward=verdict.score,
                                verdicts={"answer": verdict}))
    return Group(prompt=prompt, rollouts=tuple(rollouts))
