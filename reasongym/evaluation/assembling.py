"""The record of an evaluation from its parts: of `reasongym eval`, and of the evaluations within a training run."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from reasongym.config import RunConfig
from reasongym.evaluation.contamination import Overlap
from reasongym.evaluation.prompting import rows_digest
from reasongym.evaluation.record import Decoding, EngineRecord, ModelRecord, PartRecord, Prompting, Result, TaskRecord
from reasongym.evaluation.run import Evaluated
from reasongym.evaluation.samples import Answer
from reasongym.evaluation.summary import cost, figures
from reasongym.records import Completion, Prompt
from reasongym.tasks import Example, Task

__all__ = ["answer_of", "assemble", "engine_record", "rows_asked", "sent_to_engine", "task_record"]

ENGINE_KEYS = ("engines", "tensor_parallel", "enforce_eager", "gpu_memory_utilization", "kv_cache_gib", "max_num_seqs")


def answer_of(completion: Completion, prompt: Prompt) -> Answer:
    """What an engine of ours sampled, with all that is known of it."""
    return Answer(text=completion.text, finish_reason=str(completion.finish_reason), seconds=completion.seconds,
                  seed=completion.seed, engine=completion.engine, num_tokens=len(completion.token_ids),
                  num_prompt_tokens=len(prompt.token_ids), token_ids=tuple(completion.token_ids),
                  logprobs=tuple(completion.logprobs))


def sent_to_engine(decoding: Decoding) -> dict[str, Any]:
    """The sampling fields of a request to an engine of ours."""
    return {"max_tokens": decoding.max_new_tokens, "temperature": decoding.temperature, "logprobs": 0}


def engine_record(config: RunConfig) -> EngineRecord:
    """Engines of ours as they are configured."""
    settings = config.rollout.model_dump(mode="json", include=set(ENGINE_KEYS))
    return EngineRecord(kind="vllm", settings={**settings, "generation_config": "vllm"})


def rows_asked(rows: Sequence[Example], prompts: Sequence[Prompt]) -> list[Example]:
    """Of the rows that were chosen, those whose prompt was short enough."""
    indices = {prompt.example.index for prompt in prompts}
    return [row for row in rows if row.index in indices]


def task_record(config: RunConfig, task: Task, split: str, rows: Sequence[Example], prompts: Sequence[Prompt],
                judges: Sequence[PartRecord]) -> TaskRecord:
    """rows: all that were chosen; those that `prompts` leaves out were too long. judges: as the workers loaded them."""
    return TaskRecord(
        name=config.task.name, split=split, data=config.task.data, settings=dict(config.task.settings),
        provenance=dict(task.provenance()), rows=tuple(prompt.example.index for prompt in prompts),
        rows_digest=rows_digest(rows_asked(rows, prompts)), too_long=len(rows) - len(prompts), parts=tuple(judges))


def assemble(evaluated: Evaluated, config: RunConfig, *, model: ModelRecord, task: TaskRecord, prompting: Prompting,
             decoding: Decoding, engine: EngineRecord, environment: Mapping[str, object], earlier_s: float = 0.0,
             prices: tuple[float | None, float | None] = (None, None), overlap: Overlap | None = None) -> Result:
    """earlier_s: sampling seconds of earlier sessions. prices: of a million tokens, in and out. overlap: with training
    data, where some was named.

    Raises DataError where no answer could be scored.
    """
    found = figures(evaluated.samples)
    return Result(
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), partial=evaluated.missing > 0,
        model=model, task=task, prompting=prompting, decoding=decoding, engine=engine, metrics=found.metrics,
        counts=found.counts, shares=found.shares, tokens=found.tokens,
        seconds={"sampling": evaluated.sampling_s + earlier_s, "total": evaluated.total_s + earlier_s},
        cost=cost(found.tokens, *prices), environment=dict(environment),
        scoring=config.scoring.model_dump(mode="json"), overlap=overlap)
