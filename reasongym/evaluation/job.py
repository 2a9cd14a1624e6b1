"""One task of an evaluation: what is asked of which model, checked, and the record of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from reasongym.config import RunConfig
from reasongym.evaluation.assembling import assemble, rows_asked, task_record
from reasongym.evaluation.contamination import Overlap
from reasongym.evaluation.endpoint import EndpointSettings
from reasongym.evaluation.fingerprints import digest_of
from reasongym.evaluation.prompting import rows_digest
from reasongym.evaluation.record import Decoding, EngineRecord, ModelRecord, PartRecord, Prompting, Result
from reasongym.evaluation.run import Evaluated, Key
from reasongym.planning import Plan
from reasongym.records import Prompt
from reasongym.tasks import Example, RewardPart, Task
from reasongym.tracking import environment

__all__ = ["Job", "Local", "Request"]


class Local(NamedTuple):
    """Engines on this machine. model: a path for loaders."""

    plan: Plan
    model: str


class Request(Protocol):
    """One answer that is asked for."""

    @property
    def key(self) -> Key: ...

    @property
    def prompt(self) -> Prompt: ...

    @property
    def seed(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One task of an evaluation, checked.

    recipe: whose engine settings are taken, and whether it was named, so that its task's settings are too. rows: as
    they were chosen; prompts: of those that were short enough. requests: one for each answer. where: engines here, or
    an endpoint. prices: of a million tokens, in and out. overlap: with training data, where some was named.
    """

    config: RunConfig
    recipe: Mapping[str, object]
    task: Task
    split: str
    parts: tuple[RewardPart, ...]
    rows: Sequence[Example]
    prompts: Sequence[Prompt]
    requests: Sequence[Request]
    decoding: Decoding
    prompting: Prompting
    where: Local | EndpointSettings
    prices: tuple[float | None, float | None]
    overlap: Overlap | None

    @property
    def too_long(self) -> int:
        """Rows left out, as their prompt was too long."""
        return len(self.rows) - len(self.prompts)

    @property
    def plan_digest(self) -> str:
        """Of all that decides an answer; an endpoint's address is not among it, for a server may have moved."""
        model = ([_files(self.where.model), self.where.plan.dtype, self.where.plan.device]
                 if isinstance(self.where, Local) else [self.where.api])
        return digest_of([self.config.model.path, model, rows_digest(rows_asked(self.rows, self.prompts)),
                          self.task.provenance().get("fingerprint", ""), self.prompting.model_dump(mode="json"),
                          self.decoding.model_dump(mode="json")])

    def in_words(self) -> dict[str, str]:
        """What a person should see before it begins: label -> text."""
        decoding, source = self.decoding, self.task.provenance().get("source", "?")
        how = "greedy" if decoding.temperature == 0 else f"temperature {decoding.temperature:g}"
        settings = ", ".join(f"{key}={value}" for key, value in self.config.task.settings.items())
        where = (f"{self.config.rollout.num_engines}, {self.where.plan.device}, {self.where.plan.dtype}"
                 if isinstance(self.where, Local) else f"{self.where.address.shown}, {self.where.api}")
        return {"task": f"{self.config.task.name}/{self.split} ({source})", "settings": settings or "the task's own",
                "model": self.config.model.path,
                "prompts": f"{len(self.prompts)} x {decoding.samples} answers of at most {decoding.max_new_tokens} "
                           f"tokens, {how}, seed {decoding.seed}",
                "engines": where}

    def result(self, evaluated: Evaluated, judges: Sequence[PartRecord], *, engine: EngineRecord,
               served: tuple[str, ...], earlier_s: float) -> Result:
        """The record. judges: as they were loaded. served: names that an endpoint gave itself. earlier_s: sampling
        seconds of earlier sessions. Raises DataError where no answer could be scored."""
        local = self.where if isinstance(self.where, Local) else None
        endpoint = None if isinstance(self.where, Local) else self.where.address.shown
        model = ModelRecord(path=self.config.model.path, folder=local and local.model,
                            dtype=local and local.plan.dtype, endpoint=endpoint, served=served)
        device = {"device": local.plan.device} if local else {}
        return assemble(evaluated, self.config, model=model, prompting=self.prompting, decoding=self.decoding,
                        task=task_record(self.config, self.task, self.split, self.rows, self.prompts, judges),
                        engine=engine, earlier_s=earlier_s, prices=self.prices, overlap=self.overlap,
                        environment=environment({**device, "recipe": dict(self.recipe)}))


def _files(model: str) -> list[list[Any]]:
    """Names, sizes and times of a model folder's files; nothing of a hub id."""
    folder = Path(model)
    return sorted([file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in folder.iterdir()
                  if file.is_file()) if folder.is_dir() else []
