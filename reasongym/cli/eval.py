"""`reasongym eval`: the parts of an evaluation joined: rows, engines, scoring, figures, files."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reasongym.errors import ConfigError, DataError, message

if TYPE_CHECKING:
    from reasongym.config import RunConfig
    from reasongym.evaluation.run import Evaluated
    from reasongym.evaluation.summary import Summary
    from reasongym.planning import Plan
    from reasongym.records import Completion, Prompt
    from reasongym.rollout.pool import EnginePool
    from reasongym.rollout.requests import Request
    from reasongym.tasks import RewardPart, Task

__all__ = ["command", "open_engines"]

AT_ONE_TIME = 4096  # requests handed to Ray together: each wait for the next answer goes through all of them
ENGINE_KEYS = ("engines", "tensor_parallel", "enforce_eager", "gpu_memory_utilization", "kv_cache_gib", "max_num_seqs")


class Decoding(NamedTuple):
    """How answers are sampled. temperature 0 is greedy."""

    samples: int
    temperature: float
    max_new_tokens: int
    max_prompt_tokens: int
    seed: int


class Job(NamedTuple):
    """One evaluation, checked. model: a path for loaders. too_long: rows whose prompt exceeds max_prompt_tokens."""

    config: RunConfig
    plan: Plan
    model: str
    task: Task
    split: str
    parts: tuple[RewardPart, ...]
    prompts: list[Prompt]
    too_long: int
    decoding: Decoding


@click.command("eval")
@click.option("--task", help="Task name or path/to/file.py:name.  [default: the recipe's]")
@click.option("--model", help="Hugging Face folder, hub id, or smollm2-135m (embedded).  [default: the recipe's]")
@click.option("--data", help="File or folder of rows, instead of the task's default source.")
@click.option("--split", default="test", show_default=True, help="Which rows.")
@click.option("--prompts", type=click.IntRange(min=1), help="How many rows.  [default: the whole split; 200 of an "
                                                            "endless generator]")
@click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True, help="Answers a prompt.")
@click.option("--temperature", type=click.FloatRange(min=0), help="0 is greedy.  [default: 0 for one sample, else 1]")
@click.option("--max-new-tokens", type=click.IntRange(min=1), default=512, show_default=True,
              help="Longer answers are cut off and counted.")
@click.option("--max-prompt-tokens", type=click.IntRange(min=1), default=1024, show_default=True,
              help="Longer prompts are left out and counted.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of sampling, and of rows where some are drawn.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder to write to.  [default: evals/TASK-TIME]")
@click.option("--recipe", help="Engine settings: a recipe in configs/ or a YAML file.  [default: by the hardware]")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="A setting of the task, e.g. levels=3, or of the engines by its full key, e.g. rollout.engines=2.")
def command(output: Path | None, **options: Any) -> None:
    """Evaluate a model on held-out rows of a task, with 95 % intervals.

    \b
    reasongym eval --task gsm8k --model runs/my-run/final
    reasongym eval --task gsm8k --model Qwen/Qwen2.5-0.5B-Instruct --samples 8
    reasongym eval --task arithmetic --set levels=3 --prompts 100
    """
    from reasongym.evaluation.summary import summarize
    from reasongym.evaluation.table import table
    from reasongym.training.quiet import quiet_libraries

    quiet_libraries()
    job = _prepare(options)
    with _folder(output or Path("evals") / _name(job.config.task.name)) as folder:
        _announce(job, folder)
        evaluated = _evaluate(job)
        summary = summarize(evaluated.groups)
        _write(folder, job, evaluated, summary)
    click.echo(f"\n{table(summary, sampling_s=evaluated.sampling_s)}\n\nwritten: {folder}/results.json, "
               "rollouts.parquet")


def _prepare(options: dict[str, Any]) -> Job:
    """Everything that can be refused is, before anything is written or started."""
    from reasongym.evaluation.placement import plan_engines
    from reasongym.evaluation.rows import choose_rows, refuse_substitute
    from reasongym.models import load_tokenizer, model_folder
    from reasongym.planning import Hardware, shape_of
    from reasongym.training.task import make_task, reward_parts

    decoding = _decoding(options)
    hardware = Hardware.detect()
    config = _configured(options, hardware)
    task = make_task(config, training=False)
    refuse_substitute(task)
    parts = reward_parts(config, task)
    examples = choose_rows(task, options["split"], options["prompts"], seed=decoding.seed)
    model = model_folder(config.model.path)
    plan = plan_engines(config, hardware, shape_of(model))
    tokenizer = load_tokenizer(model, trust_remote_code=config.model.trust_remote_code)
    prompts = _encoded(examples, tokenizer, decoding.max_prompt_tokens)
    return Job(config, plan, model, task, options["split"], parts, prompts, len(examples) - len(prompts), decoding)


def _decoding(options: dict[str, Any]) -> Decoding:
    samples, temperature = options["samples"], options["temperature"]
    if temperature is None:
        temperature = 0.0 if samples == 1 else 1.0
    if temperature == 0 and samples > 1:
        raise ConfigError(message("greedy answers are all the same", got=f"--temperature 0 --samples {samples}",
                                  expected="one sample, or a temperature above 0", remedy="leave out one of the two"))
    return Decoding(samples, temperature, options["max_new_tokens"], options["max_prompt_tokens"], options["seed"])


def _configured(options: dict[str, Any], hardware: Any) -> RunConfig:
    """The recipe's engines; its task settings too where it names the same task."""
    from reasongym.config import load_config
    from reasongym.planning import default_recipe

    recipe = options["recipe"] or default_recipe(hardware)
    keys = {"task": "task.name", "model": "model.path", "data": "task.data", "seed": "seed",
            "max_new_tokens": "rollout.max_new_tokens", "max_prompt_tokens": "rollout.max_prompt_tokens"}
    named = {key: options[option] for option, key in keys.items() if options[option] is not None}
    if options["task"] not in (None, load_config(recipe).task.name):
        named = {"task": {}} | named
    overrides = [text if "." in text.partition("=")[0] else f"task.settings.{text}" for text in options["settings"]]
    return load_config(recipe, options=named, overrides=overrides)


def _encoded(examples: Sequence[Any], tokenizer: Any, max_tokens: int) -> list[Prompt]:
    from reasongym.rollout.prompts import encode

    encoded = [encode(example, tokenizer) for example in examples]
    prompts = [prompt for prompt in encoded if len(prompt.token_ids) <= max_tokens]
    if not prompts:
        raise DataError(message("every prompt is too long",
                                got=f"{min(len(p.token_ids) for p in encoded)} tokens in the shortest",
                                expected=f"at most --max-prompt-tokens {max_tokens}",
                                remedy="raise --max-prompt-tokens"))
    return prompts


def _name(task: str) -> str:
    return f"{Path(task.partition(':')[0]).stem}-{time.strftime('%Y%m%d-%H%M%S')}"


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """The folder to write to, new or empty; what goes wrong leaves no empty one behind."""
    from reasongym.tracking.atomic import make_folder

    path = path.expanduser()
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ConfigError(message(f"{path} is in use", got="a file, or a folder that is not empty",
                                  expected="a new folder, so that no result is written over",
                                  remedy="choose another --output"))
    make_folder(path)
    try:
        yield path
    except BaseException:  # cleaned up, and raised again
        with contextlib.suppress(OSError):
            path.rmdir()
        raise


def _announce(job: Job, folder: Path) -> None:
    decoding, source = job.decoding, job.task.provenance().get("source", "?")
    how = "greedy" if decoding.temperature == 0 else f"temperature {decoding.temperature:g}"
    told = {"task": f"{job.config.task.name}/{job.split} ({source})", "model": job.config.model.path,
            "prompts": f"{len(job.prompts)} x {decoding.samples} answers of at most {decoding.max_new_tokens} tokens, "
                       f"{how}, seed {decoding.seed}",
            "engines": f"{job.config.rollout.engines}, {job.plan.device}, {job.plan.dtype}", "folder": folder}
    for label, value in told.items():
        click.echo(f"{label:<8} {value}")
    if job.too_long:
        click.echo(f"warning: {job.too_long} prompts of more than {decoding.max_prompt_tokens} tokens are left out")
    click.echo("starting the engines")


def _evaluate(job: Job) -> Evaluated:
    from reasongym.evaluation.progress import Progress
    from reasongym.evaluation.run import Limits, evaluate
    from reasongym.rollout.requests import requests_for
    from reasongym.scoring import ScoringPool

    limits, decoding = job.config.scoring, job.decoding
    requests = requests_for(job.prompts, samples=decoding.samples, max_new_tokens=decoding.max_new_tokens,
                            temperature=decoding.temperature, seed=decoding.seed, step=0)
    with (ScoringPool(job.parts, workers=limits.workers, timeout_s=limits.timeout_s,
                      memory_mib=limits.memory_mib) as scoring,
          open_engines(job.config, job.plan, job.model) as engines, Progress(job.parts[0].name) as progress):
        return evaluate(_sampled(engines, requests), job.prompts, samples=decoding.samples, scoring=scoring,
                        parts=job.parts, limits=Limits(limits.max_error_share, limits.timeout_s), watch=progress.show)


def _sampled(engines: EnginePool, requests: Sequence[Request]) -> Iterator[tuple[Request, Completion]]:
    for start in range(0, len(requests), AT_ONE_TIME):
        yield from engines.stream(requests[start:start + AT_ONE_TIME])


@contextlib.contextmanager
def open_engines(config: RunConfig, plan: Plan, model: str) -> Iterator[EnginePool]:
    """The engines of a training run, without ranks and without weight transfer."""
    from reasongym.rollout.pool import EnginePool
    from reasongym.rollout.requests import engine_settings
    from reasongym.training.cluster import ray_cluster

    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ray_cluster(config, plan))
        engines = EnginePool(engine_settings(config, plan, model, transport=None), cluster.engines,
                             start_timeout_s=config.rollout.start_timeout_s,
                             completion_timeout_s=config.rollout.completion_timeout_s)
        stack.callback(engines.close)
        engines.wait_ready()
        yield engines


def _write(folder: Path, job: Job, evaluated: Evaluated, summary: Summary) -> None:
    """The rollouts first: a folder with a results.json is complete."""
    from reasongym.evaluation.table import as_record
    from reasongym.tracking import environment
    from reasongym.tracking.atomic import write_atomic
    from reasongym.tracking.rollouts import write_groups

    write_groups(folder / "rollouts.parquet", evaluated.groups)
    config = job.config
    record = {
        "model": {"path": config.model.path, "folder": job.model, "dtype": job.plan.dtype},
        "task": {"name": config.task.name, "split": job.split, "data": config.task.data,
                 "settings": dict(config.task.settings), "provenance": dict(job.task.provenance()),
                 "rows": [prompt.example.index for prompt in job.prompts], "too_long": job.too_long,
                 "parts": [{"name": p.name, "verifier": p.verifier, "weight": p.weight} for p in job.parts]},
        "decoding": job.decoding._asdict(),
        **as_record(summary),
        "seconds": {"sampling": evaluated.sampling_s, "total": evaluated.total_s},
        "tokens_per_second": summary.tokens / max(evaluated.sampling_s, 1e-9),
        "environment": environment({"device": job.plan.device}),
        "engines": config.rollout.model_dump(mode="json", include=set(ENGINE_KEYS)),
        "scoring": config.scoring.model_dump(mode="json"),
    }
    write_atomic(folder / "results.json", json.dumps(record, indent=2, ensure_ascii=False, default=str) + "\n")
