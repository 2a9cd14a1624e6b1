"""Results made up for the tests of the leaderboard, as records, as submissions and as folders."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from reasongym.evaluation.prompting import prompts_digest
from reasongym.evaluation.record import SCHEMA, Result, write_result
from reasongym.evaluation.samples import Answer
from reasongym.evaluation.samples import Sample as Answered
from reasongym.evaluation.statistics import wilson_interval
from reasongym.leaderboard.entry import Sample, Submission
from reasongym.leaderboard.reading import submission
from reasongym.records import Prompt
from reasongym.tasks import Example
from reasongym.verifiers import Verdict

__all__ = ["PUBLISHED_GSM8K", "made_up", "record", "write_folder"]

PUBLISHED_GSM8K = "17fc3c60c3cf9537fbce038ecf2ea1536041cc57e0066e2e9c76367c05eac8f4"


def made_up(model: str = "model", *, right: list[bool] | None = None, prompts: int = 40, share: float = 0.5,
            seed: int = 0, texts: tuple[str, ...] = ("an answer",), samples: bool = True, **about: Any) -> Submission:
    """A result of one answer a row, `right` of them, else about `share`, drawn by `seed`; `texts` in turn."""
    rng = random.Random(f"{model} {seed}")
    given = right if right is not None else [rng.random() < share for _ in range(prompts)]
    made = [_sample(row, is_right, texts[row % len(texts)]) for row, is_right in enumerate(given)]
    return submission(record(model, given, **about), made if samples else [])


def record(model: str, right: list[bool], *, task: str = "gsm8k", split: str = "test",
           fingerprint: str = PUBLISHED_GSM8K, verifier: str = "v1", settings: dict[str, Any] | None = None,
           provenance: dict[str, str] | None = None, partial: bool = False, created: str = "2026-01-02T03:04:05+00:00",
           **decoding: Any) -> Result:
    """What `reasongym eval` would write of them."""
    n, mean = len(right), sum(right) / len(right)
    low, high = wilson_interval(sum(right), n)
    estimate = {"mean": mean, "low": low, "high": high, "method": "wilson", "prompts": n, "answers": n}
    return Result.parse({
        "schema_version": SCHEMA, "created": created, "partial": partial, "model": {"path": model, "folder": "/models"},
        "task": {"name": task, "split": split, "settings": settings or {}, "rows": list(range(n)), "rows_digest": "r",
                 "provenance": {"source": "hub", "rows": f"train 9, test {n}", "fingerprint": fingerprint,
                                **(provenance or {})},
                 "parts": [{"name": "correct", "verifier": "gsm8k", "weight": 1.0, "fingerprint": verifier}]},
        "prompting": {"template": "{{ <script>alert(1)</script> }}", "template_hash": "t", "prompts_digest": "p"},
        "decoding": {"samples": 1, "temperature": 0.0, "max_new_tokens": 256, "seed": 0, **decoding},
        "engine": {"kind": "vllm"}, "metrics": {"accuracy": estimate},
        "counts": {"prompts": n, "answers": n, "answered": n, "scored": n, "missing": 0, "truncated": 0, "timeout": 0,
                   "status_correct": sum(right), "status_wrong": n - sum(right)},
        "shares": {}, "tokens": {"prompt": 10 * n, "completion": 5 * n, "counted": n, "mean": 5.0},
        "seconds": {"sampling": 1.0, "total": 2.0},
        "environment": {"commit": "c0ffee", "versions": {"vllm": "0.32.0"}, "hardware": {"cores": 2}},
    }, "made up")


def write_folder(folder: Path, model: str = "model", *, right: list[bool], text: str = "an answer",
                 question: str = "", **about: Any) -> Path:
    """A folder as `reasongym eval` writes it. question: what each prompt begins with."""
    answered = []
    for row, is_right in enumerate(right):
        verdict = Verdict.correct("7") if is_right else Verdict.wrong("8", "8 is not 7")
        example = Example(task="gsm8k", split="test", index=row, reference="7",
                          messages=({"role": "user", "content": f"{question}Q{row}"},))
        answered.append(Answered(group=row, sample=0, prompt=Prompt(example=example, token_ids=(), text=f"Q{row}"),
                                 answer=Answer(text=text, finish_reason="stop", num_tokens=5),
                                 verdicts={"correct": verdict}, reward=verdict.score))
    made = record(model, right, **about)
    digest = prompts_digest([one.prompt for one in answered])
    prompting = made.prompting.model_copy(update={"prompts_digest": digest})
    return write_result(folder, made.model_copy(update={"prompting": prompting}), answered)


def _sample(row: int, right: bool, text: str) -> Sample:
    return Sample(row=str(row), number=0, prompt=f"Question {row}", reasoning="", completion=text, reference="7",
                  extracted="7" if right else "8", status="correct" if right else "wrong", score=float(right),
                  reason="" if right else "8 is not 7", parts="", finish_reason="stop", tokens=5, seconds=0.25)
