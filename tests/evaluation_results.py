"""Small results for tests: a sample a row, scored by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reasongym.evaluation.record import (
    Decoding,
    EngineRecord,
    ModelRecord,
    PartRecord,
    Prompting,
    Result,
    TaskRecord,
)
from reasongym.evaluation.samples import Answer, Sample
from reasongym.evaluation.summary import figures
from reasongym.records import Prompt
from reasongym.tasks import Example
from reasongym.verifiers import Status, Verdict

__all__ = ["result_of", "sample"]


def sample(row: int, verdict: Verdict | None, *, number: int = 0, text: str = "#### 7", reference: object = "7",
           error: str = "", fields: Mapping[str, object] | None = None, num_tokens: int | None = 3,
           **answer: Any) -> Sample:
    """The answer to row `row`; without a verdict it did not come."""
    example = Example(task="gsm8k", split="test", index=row, messages=({"role": "user", "content": f"Row {row}?"},),
                      reference=reference, fields=fields or {})
    return Sample(group=row, sample=number, prompt=Prompt(example=example, token_ids=(1, 2), text=f"Row {row}?"),
                  answer=Answer(text="" if error else text, error=error, num_tokens=None if error else num_tokens,
                                num_prompt_tokens=2, **answer),
                  verdicts={} if verdict is None else {"correct": verdict},
                  reward=None if verdict is None or verdict.status is Status.ERROR else verdict.score)


def result_of(samples: Sequence[Sample], *, model: str = "m", fingerprint: str = "data", **changed: Any) -> Result:
    """The record of these samples."""
    found = figures(samples)
    return Result(**{
        "created": "2026-01-01T00:00:00+00:00", "partial": bool(found.counts["missing"]),
        "model": ModelRecord(path=model, endpoint="http://localhost/v1"),
        "task": TaskRecord(name="gsm8k", split="test", provenance={"source": "s", "fingerprint": fingerprint},
                           rows=tuple(dict.fromkeys(one.prompt.example.index for one in samples)), rows_digest="d",
                           parts=(PartRecord(name="correct", verifier="gsm8k", weight=1.0, fingerprint="old"),)),
        "prompting": Prompting(prompts_digest="p"),
        "decoding": Decoding(samples=1, temperature=0.0, max_new_tokens=8, seed=0, sent={"temperature": 0.0}),
        "engine": EngineRecord(kind="endpoint", api="chat"), "metrics": found.metrics, "counts": found.counts,
        "shares": found.shares, "tokens": found.tokens, "seconds": {"sampling": 1.0, "total": 2.0},
        "environment": {}, **changed})
