"""What `reasongym eval` takes of a recipe and of `--set`, and which of them it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reasongym.errors import ConfigError, message

if TYPE_CHECKING:
    from reasongym.config import RunConfig
    from reasongym.planning import Hardware

__all__ = ["Configured", "configured"]

MAX_PROMPT_TOKENS = 1024
OPTION_OF = {
    "evaluation.prompts": "--limit", "evaluation.samples": "--samples", "evaluation.split": "--split",
    "evaluation.temperature": "--temperature", "model.path": "--model", "rollout.group_size": "--samples",
    "rollout.max_new_tokens": "--max-new-tokens", "rollout.max_prompt_tokens": "--max-prompt-tokens",
    "rollout.temperature": "--temperature", "seed": "--seed", "task.data": "--data", "task.name": "--task",
    "task.split": "--split",
}
"""Keys that a training reads, and the option that says the same of an evaluation."""
READ = ("scoring", "task.settings", "task.verifier", "task.weights")
READ_BY_ENGINES = (
    "model.dtype", "model.trust_remote_code", "resources.device", "resources.gpus_per_node", "resources.nodes",
    "resources.ray_address", "rollout.completion_timeout_s", "rollout.enforce_eager", "rollout.engines",
    "rollout.gpu_memory_utilization", "rollout.kv_cache_gib", "rollout.max_num_seqs", "rollout.max_restarts",
    "rollout.start_timeout_s", "rollout.tensor_parallel")


class Configured(NamedTuple):
    """recipe: its name, and whether it was named; for the record."""

    config: RunConfig
    recipe: dict[str, object]


def configured(options: Mapping[str, Any], hardware: Hardware) -> Configured:
    """Engines and scoring as the recipe has them, by default that of the hardware. The task's settings, verifier and
    weights are the task's own: a recipe's are taken where that recipe was named and has the same task.

    Raises ConfigError for a key that is not known, that has no effect here, or that contradicts an option.
    """
    from reasongym.config import load_config
    from reasongym.planning import default_recipe

    named, chosen = options["recipe"] is not None, options["recipe"] or default_recipe(hardware)
    given = {**options, "max_prompt_tokens": options["max_prompt_tokens"] or MAX_PROMPT_TOKENS}
    keys = {"task": "task.name", "model": "model.path", "data": "task.data", "seed": "seed",
            "max_new_tokens": "rollout.max_new_tokens", "max_prompt_tokens": "rollout.max_prompt_tokens"}
    told: dict[str, object] = {key: given[option] for option, key in keys.items() if given[option] is not None}
    if not named or options["task"] not in (None, load_config(chosen).task.name):
        told = {"task": {}} | told
    overrides = [text if "." in text.partition("=")[0] else f"task.settings.{text}" for text in options["settings"]]
    config = load_config(chosen, options=told, overrides=overrides)
    _check_keys([text.partition("=")[0].strip() for text in overrides], options)
    _check_shots(options, config)
    return Configured(config, {"name": chosen, "named": named})


def _check_keys(keys: Sequence[str], options: Mapping[str, Any]) -> None:
    """Raises ConfigError for the first of --set that would change nothing."""
    for key in keys:
        if key in OPTION_OF:
            raise ConfigError(message(f"{key} is a setting of trainings", got=f"--set {key}",
                                      expected=f"the option {OPTION_OF[key]}", remedy=f"say {OPTION_OF[key]} instead"))
        if options["verifiers"] and _is_below(key, ("task.verifier", "task.weights")):
            raise ConfigError(message("--verifier takes the place of all that the task is judged by",
                                      got=f"--verifier beside --set {key}", expected="one of them",
                                      remedy="leave out the other"))
        if options["endpoint"] and _is_below(key, READ_BY_ENGINES):
            raise ConfigError(message(f"{key} is of engines on this machine", got=f"--endpoint beside --set {key}",
                                      expected="one of them", remedy="leave out the other"))
        if not _is_below(key, (*READ, *READ_BY_ENGINES)):
            raise ConfigError(message(f"{key} has no effect on an evaluation", got=f"--set {key}",
                                      expected=f"a setting of the task, or a key of {', '.join(READ)}, "
                                               f"{', '.join(READ_BY_ENGINES)}",
                                      remedy="leave it out"))


def _is_below(key: str, known: Sequence[str]) -> bool:
    return any(key == one or key.startswith(f"{one}.") for one in known)


def _check_shots(options: Mapping[str, Any], config: RunConfig) -> None:
    own = config.task.settings.get("shots")
    if options["shots"] is not None and own:
        raise ConfigError(message("two options say which solved problems are shown", expected="one of them",
                                  got=f"--shots {options['shots']} beside the task's setting shots={own}",
                                  remedy="leave out --shots, or take --set shots=0"))
