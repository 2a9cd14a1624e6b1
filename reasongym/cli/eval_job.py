"""From the options of `reasongym eval` to the tasks that are carried out: all that can be refused is, before anything
is written or started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reasongym.cli.eval_config import configured
from reasongym.cli.eval_endpoint import endpoint_settings
from reasongym.errors import ConfigError, message
from reasongym.evaluation.assembling import sent_to_engine
from reasongym.evaluation.job import Job, Local
from reasongym.evaluation.placement import plan_engines
from reasongym.evaluation.prompting import (
    Template,
    asked,
    draw_shots,
    prompts_digest,
    short_prompts,
    template_of,
    unencoded,
)
from reasongym.evaluation.record import Decoding, Prompting
from reasongym.evaluation.rows import choose_rows, refuse_substitute

if TYPE_CHECKING:
    from reasongym.config import RunConfig
    from reasongym.evaluation.endpoint import EndpointSettings
    from reasongym.planning import Hardware
    from reasongym.records import Prompt
    from reasongym.tasks import Example, RewardPart, Task

__all__ = ["prepare"]


def prepare(options: Mapping[str, Any]) -> Job:
    """One task, checked. Raises ConfigError, DataError, ModelError, ResourceError, UnknownNameError."""
    from reasongym.evaluation.contamination.sources import overlap_of
    from reasongym.planning import Hardware
    from reasongym.rollout.requests import requests_for
    from reasongym.tasks import TaskOptions
    from reasongym.training.task import make_task

    hardware, split, shown = Hardware.detect(), options["split"], options["shots"] or 0
    config, recipe = configured(options, hardware)
    task = make_task(config, training=False)
    refuse_substitute(task)
    parts, decoding = _parts(config, task, options["verifiers"]), _decoding(options)
    rows = choose_rows(task, split, options["limit"], seed=decoding.seed)
    shots = draw_shots(task, split, shown, seed=decoding.seed)
    examples = [asked(row, system=options["system"], shots=shots) for row in rows]
    setup = _at_endpoint(options, decoding, examples) if options["endpoint"] else _here(
        config, hardware, examples, options, decoding)
    prompting = Prompting(template=setup.template and setup.template.text, system=options["system"],
                          template_hash=setup.template and setup.template.hash, thinking=options["thinking"],
                          prompts_digest=prompts_digest(setup.prompts), shots=shown,
                          shot_rows=tuple(shot.index for shot in shots))
    requests = requests_for(setup.prompts, samples=decoding.samples, max_new_tokens=decoding.max_new_tokens,
                            temperature=decoding.temperature, seed=decoding.seed, step=0)
    same = TaskOptions(data=config.task.data, settings=config.task.settings)
    overlap = overlap_of(rows, options["train_data"], name=config.task.name, options=same, seed=config.seed)
    return Job(config=config, recipe=recipe, task=task, split=split, parts=parts, rows=rows, prompts=setup.prompts,
               requests=requests, decoding=setup.decoding, prompting=prompting, where=setup.where, overlap=overlap,
               prices=(options["price_in"], options["price_out"]))


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
    where = endpoint_settings(options, decoding)
    prompts = [unencoded(example, where.api) for example in examples]
    return _Setup(where, prompts, None, decoding.model_copy(update={"sent": dict(where.sampling)}))


def _here(config: RunConfig, hardware: Hardware, examples: Sequence[Example], options: Mapping[str, Any],
          decoding: Decoding) -> _Setup:
    """The engines' plan and the prompts that are short enough."""
    from reasongym.models import load_tokenizer, model_folder
    from reasongym.planning import shape_of

    model = model_folder(config.model.path)
    plan = plan_engines(config, hardware, shape_of(model))
    tokenizer = load_tokenizer(model, trust_remote_code=config.model.trust_remote_code)
    template, limit = template_of(tokenizer, options["thinking"]), config.rollout.max_prompt_tokens
    prompts = short_prompts(examples, tokenizer, options["thinking"], limit=limit)
    return _Setup(Local(plan, model), prompts, template,
                  decoding.model_copy(update={"sent": sent_to_engine(decoding), "max_prompt_tokens": limit}))
