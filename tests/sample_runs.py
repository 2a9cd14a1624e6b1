"""Groups and runs made up for the tests of tracking."""

from __future__ import annotations

import random
from pathlib import Path

from reasongym.records import Completion, FinishReason, Group, Prompt, Rollout
from reasongym.tasks import Example
from reasongym.tracking import MetricsLog, RunFolder, write_rollouts
from reasongym.verifiers import Status, Verdict

HOSTILE = '<script>alert("x")</script>\x1b[31m\u202e</pre><b>'
CONFIG = ("name: sample\nsteps: 40\ntask:\n  name: arithmetic\nmodel:\n  path: smollm2-135m\nalgorithm:\n  name: grpo\n"
          "rollout:\n  group_size: 8\n  max_new_tokens: 64\ntrainer:\n  learning_rate: 3.0e-05\n")


def rollout(reward: float | None = 1.0, *, status: Status = Status.CORRECT, text: str = "It is 7.",
            num_tokens: int = 4, cut: bool = False, index: int = 0, seed: int = 0,
            prompt: str = "What is 3 + 4?") -> Rollout:
    """A rollout with the parts `answer` and `format`."""
    example = Example(task="arithmetic", split="train", index=index, messages=({"role": "user", "content": prompt},),
                      reference={"value": 7})
    completion = Completion(
        token_ids=tuple(range(num_tokens)), logprobs=(-0.5,) * num_tokens, mask=(True,) * num_tokens,
        versions=(2,) * num_tokens, text=text, seed=seed, seconds=0.25,
        finish_reason=FinishReason.LENGTH if cut else FinishReason.STOP)
    answer = Verdict(score=float(status is Status.CORRECT), status=status, extracted="7", reason="as numbers")
    return Rollout(prompt=Prompt(example=example, token_ids=(5, 6), text=prompt), completion=completion, reward=reward,
                   verdicts={"answer": answer, "format": Verdict.correct()})


def group(*rollouts: Rollout) -> Group:
    return Group(prompt=rollouts[0].prompt, rollouts=rollouts)


def sample_run(path: Path, *, steps: int = 40, substitute: str = "") -> RunFolder:
    """A run that learns, written by the writers that training uses; evaluated every 10 steps on 200 prompts."""
    folder = RunFolder(path)
    folder.write_config(CONFIG)
    dataset = {"source": "generator"} | ({"substitute_for": substitute} if substitute else {})
    folder.write_environment({"commit": "0" * 40, "hardware": {"cpu": "a CPU", "cores": 2, "gpus": []},
                              "dataset": dataset, "versions": {"python": "3.11.7", "torch": "2.13.0"}})
    log, draw = MetricsLog(folder, tensorboard=False), random.Random(0)
    for step in range(steps + 1):
        level = step / (step + 12)
        if step:
            log.write(step, training_row(level, draw))
        if step % 10 == 0:
            log.write(step, {"eval/reward/mean": level * 0.95, "eval/reward/answer": level * 0.9, "eval/prompts": 200,
                             "eval/reward/format": min(1.0, level * 1.3), "eval/length_mean": 40 - 20 * level,
                             "eval/truncated_share": 0.1 * (1 - level)})
        if step in {1, steps // 2, steps}:
            write_rollouts(folder, step, _groups(level, draw))
    return folder


def training_row(level: float, draw: random.Random) -> dict[str, float]:
    """Every metric of a step at a skill between 0 and 1."""
    def near(value: float) -> float:
        return max(0.0, value + draw.gauss(0, 0.04) * max(value, 0.2))

    return {
        "reward/mean": near(level), "reward/answer": near(level * 0.93), "reward/format": min(1.0, near(level * 1.3)),
        "rollout/tokens": 64 * 40, "rollout/length_mean": near(40 - 20 * level), "rollout/seconds": near(9.0),
        "rollout/truncated_share": near(0.2 * (1 - level)), "rollout/tokens_per_second": 300 * (1 + near(0.3)),
        "rollout/flat_group_share": near(0.6 - 0.4 * level), "status/correct": level, "status/wrong": 0.8 * (1 - level),
        "status/unparsable": 0.2 * (1 - level), "status/timeout": 0.0, "train/loss": draw.gauss(0, 0.01),
        "train/grad_norm": 0.5 + near(0.3), "train/learning_rate": 3e-5, "train/tokens_per_second": 250 + near(30.0),
        "train/clip_share": near(0.01), "train/entropy": 1.2 - level, "train/seconds": near(10.0),
        "mismatch/kl": draw.uniform(6e-4, 9e-4),
        "mismatch/mean_abs_logprob_diff": near(0.01), "mismatch/ess": 0.99, "mismatch/max_ratio": 1.2 + near(0.3),
        "mismatch/masked_share": 0.0, "sync/seconds": 0.09, "sync/bytes": 269_000_000, "step/seconds": near(20.0)}


def _groups(level: float, draw: random.Random) -> list[Group]:
    def one(index: int, seed: int) -> Rollout:
        right = draw.random() < level
        value = 7 if right else draw.randrange(8, 20)
        return rollout(float(right), status=Status.CORRECT if right else Status.WRONG, index=index, seed=seed,
                       text=f"3 + 4: I add the two numbers.\nThe answer is {value}", num_tokens=draw.randrange(10, 64))

    hostile = rollout(0.0, status=Status.UNPARSABLE, text=HOSTILE, num_tokens=64, cut=True, index=9, prompt=HOSTILE)
    return [*(group(*(one(index, seed) for seed in range(8))) for index in range(4)), group(hostile)]
