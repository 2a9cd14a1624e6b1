"""The answers that `reasongym pairs` works on: of a run's folder, or of an evaluation's."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reasongym import registry
from reasongym.config import load_config
from reasongym.errors import DataError, ReasongymError, message, nearest
from reasongym.models import load_tokenizer, model_folder
from reasongym.rollout.prompts import encode
from reasongym.tasks import Task, TaskOptions
from reasongym.tracking.rollouts import rollout_files
from reasongym.training.examples.encoding import tokenizer_fingerprint

__all__ = ["Origin", "Prompts", "open_origin", "open_prompts"]


class Origin(NamedTuple):
    """Where answers come from. files: rollouts by step. model: as it was named. seed: of the task's rows."""

    folder: Path
    files: Mapping[int, Path]
    model: str
    trust_remote_code: bool
    task: str
    data: str | None
    settings: Mapping[str, object]
    seed: int


class Prompts(NamedTuple):
    """What the answers' tokens mean, and the messages of their prompts.

    tokenizer: its fingerprint. messages: of a rollout's row, or None where the task does not give that prompt any more.
    fault: why no prompt has messages, or an empty text.
    """

    tokenizer: str
    messages: Callable[[Mapping[str, Any]], list[dict[str, str]] | None]
    fault: str = ""


def open_origin(folder: Path) -> Origin:
    """Raises DataError for a folder without answers, ConfigError for a run's config.yaml that does not load."""
    folder = folder.expanduser()
    if (folder / "config.yaml").is_file():
        return _run(folder)
    if (folder / "results.json").is_file() and (folder / "rollouts.parquet").is_file():
        return _evaluation(folder)
    siblings = [found.parent.name for found in folder.parent.glob("*/config.yaml")]
    raise DataError(message(f"no answers in {folder}.{nearest(folder.name, siblings)}", got=str(folder),
                            expected="the folder of a run, or one that `reasongym eval` wrote",
                            remedy="check the path"))


def open_prompts(origin: Origin) -> Prompts:
    """The origin's tokenizer and task. Raises ModelError where the tokenizer cannot be had; a task that cannot is told
    of in `fault`, since the token ids of its prompts are there."""
    tokenizer = load_tokenizer(model_folder(origin.model), trust_remote_code=origin.trust_remote_code)
    fingerprint = tokenizer_fingerprint(tokenizer)
    try:
        options = TaskOptions(data=origin.data, training=True, settings=origin.settings)
        task = registry.task(origin.task, options)
    except ReasongymError as error:
        return Prompts(fingerprint, lambda row: None, str(error).partition("\n")[0])
    return Prompts(fingerprint, lambda row: _messages(task, tokenizer, row, origin.seed))


def _messages(task: Task, tokenizer: Any, row: Mapping[str, Any], seed: int) -> list[dict[str, str]] | None:
    """The messages that the row's prompt was made of, if they still make it."""
    with contextlib.suppress(ReasongymError):
        example = task.example(row["split"], row["index"], seed=seed)
        if encode(example, tokenizer).token_ids == tuple(row["prompt_token_ids"]):
            return [{"role": turn["role"], "content": turn["content"]} for turn in example.messages]
    return None


def _run(folder: Path) -> Origin:
    config, files = load_config(str(folder / "config.yaml")), rollout_files(folder / "rollouts")
    if not files:
        raise DataError(message(f"the run {folder} has no rollouts", got=f"nothing in {folder / 'rollouts'}",
                                expected="a run that sampled, with tracking.rollouts=true",
                                remedy="train with an algorithm that samples, or evaluate: `reasongym eval` writes its "
                                "answers too"))
    task, model = config.task, config.model
    return Origin(folder=folder, files=files, model=model.path, trust_remote_code=model.trust_remote_code,
                  task=task.name, data=task.data, settings=task.settings, seed=config.seed)


def _evaluation(folder: Path) -> Origin:
    try:
        record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        task = record["task"]
        return Origin(folder=folder, files={0: folder / "rollouts.parquet"}, model=str(record["model"]["path"]),
                      trust_remote_code=False, task=str(task["name"]), data=task["data"],
                      settings=dict(task["settings"]), seed=int(record["decoding"]["seed"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(message(f"{folder / 'results.json'} is not the record of an evaluation", got=repr(error)[:160],
                                expected="what `reasongym eval` wrote", remedy="evaluate again")) from error
