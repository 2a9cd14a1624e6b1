"""One task of `reasongym eval`: what is asked of which model, checked; and its result's record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reasongym.errors import ConfigError, DataError, message
from reasongym.evaluation.fingerprints import digest_of
from reasongym.evaluation.prompting import (
    Template,
    asked,
    draw_shots,
    encode,
    prompts_digest,
    template_of,
    unencoded,
)
from reasongym.evaluation.record import (
    Decoding,
    EngineRecord,
    ModelRecord,
    Prompting,
    Result,
    TaskRecord,
)

if TYPE_CHECKING:
    from reasongym.config import RunConfig
    from reasongym.evaluation.contamination import Overlap
    from reasongym.evaluation.endpoint import EndpointSettings
    from reasongym.evaluation.run import Evaluated
    from reasongym.planning import Hardware, Plan
    from reasongym.records import Prompt
    from reasongym.tasks import Example, RewardPart, Task

__all__ = ["Job", "assemble", "prepare"]

MAX_PROMPT_TOKENS = 1024


class Local(NamedTuple):
    """Engines on this machine. model: a path for loaders."""

    plan: Plan
    model: str


class Job(NamedTuple):
    """One task of an evaluation, checked. name: as it was given. where: engines here, or an endpoint."""

    config: RunConfig
    name: str
    task: Task
    split: str
    parts: tuple[RewardPart, ...]
    prompts: list[Prompt]
    decoding: Decoding
    prompting: Prompting
    where: Local | EndpointSettings
    record: TaskRecord
    prices: tuple[float | None, float | None]
    overlap: Overlap | None

    @property
    def too_long(self) -> int:
        return self.record.too_long

    @property
    def engines_in_words(self) -> str:
        if isinstance(self.where, Local):
            return f"{self.config.rollout.engines}, {self.where.plan.device}, {self.where.plan.dtype}"
        return f"{self.where.address.shown}, {self.where.api}"

    @property
    def plan_digest(self) -> str:
        """Of all that decides an answer; an endpoint's address is not among it, for a server may have moved."""
        model = ([_files(self.where.model), self.where.plan.dtype, self.where.plan.device]
                 if isinstance(self.where, Local) else [self.where.api])
        return digest_of([self.config.model.path, model, self.record.rows_digest, self.record.fingerprint,
                          self.prompting.model_dump(mode="json"), self.decoding.model_dump(mode="json")])


def prepare(options: Mapping[str, Any]) -> Job:
    """Everything that can be refused is, before anything is written or started."""
    from reasongym.evaluation.assembling import task_record
    from reasongym.evaluation.rows import choose_rows, refuse_substitute
    from reasongym.planning import Hardware
    from reasongym.training.task import make_task

    hardware = Hardware.detect()
    config = _configured(options, hardware)
    task = make_task(config, training=False)
    refuse_substitute(task)
    parts = _parts(config, task, options["verifiers"])
    decoding = _decoding(options)
    rows = choose_rows(task, options["split"], options["limit"], seed=decoding.seed)
    shots = draw_shots(task, options["split"], options["shots"], seed=decoding.seed)
    examples = [asked(row, system=options["system"], shots=shots) for row in rows]
    setup = _at_endpoint(options, decoding, examples) if options["endpoint"] else _here(
        config, hardware, examples, options, decoding)
    prompting = Prompting(template=setup.template and setup.template.text, system=options["system"],
                          template_hash=setup.template and setup.template.hash, thinking=options["thinking"],
                          prompts_digest=prompts_digest(setup.prompts), shots=options["shots"],
                          shot_rows=tuple(shot.index for shot in shots))
    record = task_record(config, task, options["split"], rows, setup.prompts, parts)
    return Job(config, config.task.name, task, options["split"], parts, setup.prompts, setup.decoding, prompting,
               setup.where, record, (options["price_in"], options["price_out"]), _overlap(options, config, rows))


def assemble(job: Job, evaluated: Evaluated, *, engine: EngineRecord, served: tuple[str, ...],
             earlier_s: float) -> Result:
    """The record. served: names that an endpoint gave itself. earlier_s: sampling seconds of earlier sessions."""
    from reasongym.evaluation import assembling
    from reasongym.tracking import environment

    local = job.where if isinstance(job.where, Local) else None
    endpoint = None if isinstance(job.where, Local) else job.where.address.shown
    model = ModelRecord(path=job.config.model.path, folder=local and local.model, dtype=local and local.plan.dtype,
                        endpoint=endpoint, served=served)
    return assembling.assemble(evaluated, job.config, model=model, task=job.record, prompting=job.prompting,
                               decoding=job.decoding, engine=engine, earlier_s=earlier_s, prices=job.prices,
                               overlap=job.overlap,
                               environment=environment({"device": local.plan.device} if local else {}))


def _configured(options: Mapping[str, Any], hardware: Hardware) -> RunConfig:
    """The recipe's engines; its task settings too where it names the same task."""
    from reasongym.config import load_config
    from reasongym.planning import default_recipe

    recipe = options["recipe"] or default_recipe(hardware)
    given = {**options, "max_prompt_tokens": options["max_prompt_tokens"] or MAX_PROMPT_TOKENS}
    keys = {"task": "task.name", "model": "model.path", "data": "task.data", "seed": "seed",
            "max_new_tokens": "rollout.max_new_tokens", "max_prompt_tokens": "rollout.max_prompt_tokens"}
    named = {key: given[option] for option, key in keys.items() if given[option] is not None}
    if options["task"] not in (None, load_config(recipe).task.name):
        named = {"task": {}} | named
    overrides = [text if "." in text.partition("=")[0] else f"task.settings.{text}" for text in options["settings"]]
    return load_config(recipe, options=named, overrides=overrides)


def _parts(config: RunConfig, task: Task, verifiers: Sequence[str]) -> tuple[RewardPart, ...]:
    """The task's under the recipe's weights, or one for each verifier that is named, which then is its own name too."""
    from reasongym import registry
    from reasongym.tasks import RewardPart
    from reasongym.training.task import reward_parts

    if not verifiers:
        return reward_parts(config, task)
    for name in verifiers:
        registry.verifier(name)
    return tuple(RewardPart(name=name.rpartition(":")[2], verifier=name, weight=1.0) for name in verifiers)


def _decoding(options: Mapping[str, Any]) -> Decoding:
    samples, temperature = options["samples"], options["temperature"]
    if temperature is None:
        temperature = 0.0 if samples == 1 else 1.0
    if temperature == 0 and samples > 1:
        raise ConfigError(message("greedy answers are all the same", got=f"--temperature 0 --samples {samples}",
                                  expected="one sample, or a temperature above 0", remedy="leave out one of the two"))
    return Decoding(samples=samples, temperature=temperature, max_new_tokens=options["max_new_tokens"],
                    seed=options["seed"])


class _Setup(NamedTuple):
    """template: None where an endpoint applies its own."""

    where: Local | EndpointSettings
    prompts: list[Prompt]
    template: Template | None
    decoding: Decoding


def _at_endpoint(options: Mapping[str, Any], decoding: Decoding, examples: Sequence[Example]) -> _Setup:
    from reasongym.cli.eval_endpoint import endpoint_settings

    where = endpoint_settings(options, decoding)
    prompts = [unencoded(example, where.api) for example in examples]
    return _Setup(where, prompts, None, decoding.model_copy(update={"sent": dict(where.sampling)}))


def _here(config: RunConfig, hardware: Hardware, examples: Sequence[Example], options: Mapping[str, Any],
          decoding: Decoding) -> _Setup:
    """The engines' plan and the prompts that are short enough."""
    from reasongym.evaluation.assembling import sent_to_engine
    from reasongym.evaluation.placement import plan_engines
    from reasongym.models import load_tokenizer, model_folder
    from reasongym.planning import shape_of

    model = model_folder(config.model.path)
    plan = plan_engines(config, hardware, shape_of(model))
    tokenizer = load_tokenizer(model, trust_remote_code=config.model.trust_remote_code)
    template = template_of(tokenizer, options["thinking"])
    encoded = [encode(example, tokenizer, options["thinking"]) for example in examples]
    limit = config.rollout.max_prompt_tokens
    prompts = [prompt for prompt in encoded if len(prompt.token_ids) <= limit]
    if not prompts:
        raise DataError(message("every prompt is too long",
                                got=f"{min(len(p.token_ids) for p in encoded)} tokens in the shortest",
                                expected=f"at most --max-prompt-tokens {limit}",
                                remedy="raise --max-prompt-tokens"))
    return _Setup(Local(plan, model), prompts, template,
                  decoding.model_copy(update={"sent": sent_to_engine(decoding), "max_prompt_tokens": limit}))


def _overlap(options: Mapping[str, Any], config: RunConfig, rows: Sequence[Example]) -> Overlap | None:
    """What the rows share with --train-data; None where none was named. A training task of the same name has the same
    data and settings."""
    from reasongym.evaluation.contamination.sources import compare_with, problems_of
    from reasongym.tasks import TaskOptions

    training, name = options.get("train_data"), config.task.name
    if not training:
        return None
    same = TaskOptions(data=config.task.data, settings=config.task.settings)
    task = problems_of(name, same)
    bare = [task.example(row.split, row.index, seed=config.seed) for row in rows]
    return compare_with(bare, training, seed=config.seed, options={name: same}).overlap


def _files(model: str) -> list[list[Any]]:
    """Names, sizes and times of a model folder's files; nothing of a hub id."""
    folder = Path(model)
    return sorted([file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in folder.iterdir()
                  if file.is_file()) if folder.is_dir() else []
