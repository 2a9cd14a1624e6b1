"""`reasongym eval`: its options, and the tasks of one call after another, resumed where they were cut off."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reasongym.errors import ConfigError, DataError, message

if TYPE_CHECKING:
    from reasongym.cli.eval_job import Job
    from reasongym.cli.eval_sources import Source
    from reasongym.evaluation.record import Result

__all__ = ["command"]

REQUEST = "request.json"
MAY_DIFFER = ("endpoint", "key_env", "concurrency", "request_timeout", "answer_timeout", "deadline", "price_in",
              "price_out")
"""Options that `--resume` takes anew: none changes what is asked."""
OF_ENDPOINTS = ("api", "key_env", "body", "concurrency", "request_timeout", "answer_timeout", "deadline")


@click.command("eval")
@click.option("--task", help="Task name or path/to/file.py:name, or several with commas.  [default: the recipe's]")
@click.option("--model", help="Hugging Face folder, hub id, smollm2-135m (embedded), or a name at --endpoint.  "
                              "[default: the recipe's]")
@click.option("--data", help="File or folder of rows, instead of the task's default source.")
@click.option("--split", default="test", show_default=True, help="Which rows.")
@click.option("--limit", "--prompts", "limit", type=click.IntRange(min=1),
              help="How many rows.  [default: the whole split; 200 of an endless generator]")
@click.option("--shots", type=click.IntRange(min=0), default=0, help="Solved rows of the train split to show first.")
@click.option("--system", metavar="TEXT", help="System prompt, in place of the task's own.")
@click.option("--thinking", type=click.Choice(["auto", "on", "off"]), default="auto", show_default=True,
              help="Of models with two modes; auto says nothing.")
@click.option("--verifier", "verifiers", multiple=True, metavar="NAME",
              help="Verifiers in place of the task's, the main one first; may be repeated.")
@click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True, help="Answers a prompt.")
@click.option("--temperature", type=click.FloatRange(min=0), help="0 is greedy.  [default: 0 for one sample, else 1]")
@click.option("--max-new-tokens", type=click.IntRange(min=1), default=512, show_default=True,
              help="Longer answers are cut off and counted.")
@click.option("--max-prompt-tokens", type=click.IntRange(min=1), help="Longer prompts are left out and counted; not of "
                                                                      "endpoints.  [default: 1024]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of sampling, and of rows where some are drawn.")
@click.option("--endpoint", metavar="URL", help="Ask an OpenAI-compatible endpoint, e.g. http://localhost:8000/v1.")
@click.option("--api", type=click.Choice(["chat", "completions"]), default="chat", show_default=True)
@click.option("--key-env", metavar="NAME", help="Environment variable that holds the endpoint's key.")
@click.option("--body", multiple=True, metavar="KEY=JSON", help="A further field of each request; null leaves one out.")
@click.option("--concurrency", type=click.IntRange(1, 1024), default=16, show_default=True, help="Requests at a time.")
@click.option("--request-timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, show_default=True,
              help="Seconds of one request.")
@click.option("--answer-timeout", type=click.FloatRange(min=0, min_open=True), default=1800.0, show_default=True,
              help="Seconds of one answer, with all its attempts.")
@click.option("--deadline", type=click.FloatRange(min=0, min_open=True), default=86400.0, show_default=True,
              help="Seconds a task may take at an endpoint; then the result is partial.")
@click.option("--price-in", type=click.FloatRange(min=0), help="Price of a million prompt tokens.")
@click.option("--price-out", type=click.FloatRange(min=0), help="Price of a million sampled tokens.")
@click.option("--train-data", multiple=True, metavar="FILE|TASK[:SPLIT]",
              help="What the model was trained on: the rows' overlap with it is recorded; may be repeated.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder to write to.  [default: evals/TASK-TIME]")
@click.option("--resume", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Go on with an evaluation that was cut off, or left partial.")
@click.option("--recipe", help="Engine settings: a recipe in configs/ or a YAML file.  [default: by the hardware]")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="A setting of the task, e.g. levels=3, or of the engines by its full key, e.g. rollout.engines=2.")
@click.pass_context
def command(context: click.Context, /, output: Path | None, resume: Path | None, **options: Any) -> None:
    """Evaluate a model on held-out rows of a task, with 95 % intervals.

    \b
    reasongym eval --task gsm8k --model runs/my-run/final
    reasongym eval --task gsm8k,math500 --model Qwen/Qwen2.5-0.5B-Instruct --samples 8
    reasongym eval --task gsm8k --model qwen --endpoint http://localhost:8000/v1 --limit 200
    reasongym eval --resume evals/gsm8k-20260101-120000
    """
    from reasongym.training.quiet import quiet_libraries

    quiet_libraries()
    if resume is not None:
        given = {name for name in [*options, "output"]
                 if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
        options = _resumed(resume, options, given)
    _check_together(options, context)
    folder = resume or output or _new_folder(Path("evals"), options["task"] or "recipe")
    _evaluate_all(folder.expanduser(), options, resumed=resume is not None)


def _evaluate_all(folder: Path, options: Mapping[str, Any], *, resumed: bool) -> None:
    from reasongym.cli.eval_job import prepare
    from reasongym.cli.eval_sources import open_source

    tasks = options["task"].split(",") if options["task"] else [None]
    jobs = [prepare({**options, "task": task}) for task in tasks]
    folders = [folder / f"{number}-{_stem(job.task.name)}" if len(jobs) > 1 else folder
               for number, job in enumerate(jobs, start=1)]
    with _folder(folder, options, resumed=resumed):
        left = [(job, into) for job, into in zip(jobs, folders, strict=True) if not _is_done(into)]
        results = []
        if left:
            for job, into in left:
                _announce(job, into)
            with open_source(jobs[0], options) as source:
                results = [_evaluate(job, into, source) for job, into in left]
    partial = [result for result in results if result.partial]
    if partial:
        click.echo(f"\nask again for what is missing: reasongym eval --resume {folder}", err=True)
        raise click.exceptions.Exit(1)


def _evaluate(job: Job, folder: Path, source: Source) -> Result:
    """One task: asked, scored, written, shown."""
    from reasongym.cli.eval_job import assemble
    from reasongym.evaluation.journal import Journal
    from reasongym.evaluation.progress import Progress
    from reasongym.evaluation.record import write_result
    from reasongym.evaluation.run import Limits, evaluate
    from reasongym.evaluation.table import table
    from reasongym.scoring import ScoringPool

    limits = job.config.scoring
    with Journal(folder, job.plan_digest) as journal, ScoringPool.configured(job.parts, limits) as scoring:
        # Closed at once when scoring fails: requests in flight would go on, and write to a closed journal.
        with Progress(job.parts[0].name) as progress, contextlib.closing(source.answers(job, journal)) as answers:
            evaluated = evaluate(answers, job.prompts, samples=job.decoding.samples,
                                 scoring=scoring, parts=job.parts, known=journal.known, watch=progress.show,
                                 limits=Limits(limits.max_error_share, limits.timeout_s))
        result = assemble(job, evaluated, engine=source.record(job), served=source.served, earlier_s=journal.seconds)
        write_result(folder, result, evaluated.samples)
        if not result.partial:
            journal.remove()
    click.echo(f"\n{table(result)}\n\nwritten: {folder}/results.json, rollouts.parquet")
    return result


def _resumed(folder: Path, options: Mapping[str, Any], given: set[str]) -> dict[str, Any]:
    """The options that the evaluation was begun with. Raises DataError, ConfigError."""
    refused = sorted(given - {*MAY_DIFFER})
    if refused:
        raise ConfigError(message("--resume goes on with what was asked for", got=f"--{refused[0].replace('_', '-')}",
                                  expected=f"at most --{', --'.join(MAY_DIFFER).replace('_', '-')}",
                                  remedy="leave it out, or evaluate into a new --output"))
    path = folder.expanduser() / REQUEST
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))["options"]
        return {**options, **stored, **{name: options[name] for name in given}}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(message(f"no evaluation to go on with in {folder}", got=f"{type(error).__name__}: {error}",
                                expected=f"a folder with {REQUEST}, as `reasongym eval` makes it",
                                remedy="check the path")) from error


def _check_together(options: Mapping[str, Any], context: click.Context) -> None:
    """Options that say nothing without another, or contradict one."""
    if options["data"] and "," in (options["task"] or ""):
        raise ConfigError(message("--data holds the rows of one task", got=f"--task {options['task']}",
                                  expected="one task, or REASONGYM_DATA with a folder for each", remedy="leave it out"))
    if options["endpoint"]:
        unused = ["max_prompt_tokens"] if options["max_prompt_tokens"] else []
    else:
        unused = [name for name in OF_ENDPOINTS
                  if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if unused:
        which = "not of endpoints" if options["endpoint"] else "of endpoints"
        raise ConfigError(message(f"--{unused[0].replace('_', '-')} is {which}", got="an evaluation that cannot use it",
                                  expected="no such option", remedy="leave it out, or see --endpoint"))
    if options["endpoint"] and not options["model"]:
        raise ConfigError(message("an endpoint needs the name of a model", got="no --model",
                                  expected="a name that it knows", remedy="`curl URL/models` lists them"))


def _new_folder(parent: Path, task: str) -> Path:
    """A name of the present second, with a number where another evaluation has it."""
    name = f"{'+'.join(_stem(one) for one in task.split(','))[:80]}-{time.strftime('%Y%m%d-%H%M%S')}"
    numbered = (parent / f"{name}{f'-{number}' if number > 1 else ''}" for number in itertools.count(1))
    return next(folder for folder in numbered if not folder.exists())


def _stem(task: str) -> str:
    return Path(task.partition(".py:")[0]).name.replace(":", "-").replace("/", "-") or "task"


def _is_done(folder: Path) -> bool:
    from reasongym.evaluation.record import is_result, read_result

    if not is_result(folder) or read_result(folder).partial:
        return False
    click.echo(f"{folder} is whole already")
    return True


@contextlib.contextmanager
def _folder(path: Path, options: Mapping[str, Any], *, resumed: bool) -> Iterator[None]:
    """The folder to write to, new or empty; what goes wrong leaves none behind, except one that holds answers."""
    from reasongym.tracking.atomic import make_folder, write_atomic

    if not resumed and path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ConfigError(message(f"{path} is in use", got="a file, or a folder that is not empty",
                                  expected="a new folder, so that no result is written over",
                                  remedy="choose another --output, or --resume it"))
    make_folder(path)
    if not resumed:
        write_atomic(path / REQUEST, json.dumps({"options": options}, indent=2, default=str) + "\n")
    try:
        yield
    except BaseException:  # cleaned up, and raised again
        if not resumed and _holds_nothing(path):
            _remove(path)
        else:
            click.echo(f"\nanswers so far are kept: reasongym eval --resume {path}", err=True)
        raise


def _holds_nothing(path: Path) -> bool:
    from reasongym.evaluation.journal import JOURNAL
    from reasongym.evaluation.record import RESULTS

    return not [*path.rglob(RESULTS)] and all(b'"answer"' not in file.read_bytes() for file in path.rglob(JOURNAL))


def _remove(path: Path) -> None:
    """What this command made, and nothing else."""
    from reasongym.evaluation.journal import JOURNAL

    with contextlib.suppress(OSError):
        for file in [*path.rglob(JOURNAL), path / REQUEST]:
            file.unlink(missing_ok=True)
        for folder in [*(entry for entry in path.iterdir() if entry.is_dir()), path]:
            folder.rmdir()


def _announce(job: Job, folder: Path) -> None:
    decoding, source = job.decoding, job.task.provenance().get("source", "?")
    how = "greedy" if decoding.temperature == 0 else f"temperature {decoding.temperature:g}"
    told = {"task": f"{job.name}/{job.split} ({source})", "model": job.config.model.path,
            "prompts": f"{len(job.prompts)} x {decoding.samples} answers of at most {decoding.max_new_tokens} tokens, "
                       f"{how}, seed {decoding.seed}",
            "engines": job.engines_in_words, "folder": folder}
    for label, value in told.items():
        click.echo(f"{label:<8} {value}")
    if job.overlap is not None:
        from reasongym.evaluation.contamination.report import sentence

        click.echo(sentence(job.overlap))
    if job.too_long:
        click.echo(f"warning: {job.too_long} prompts of more than {decoding.max_prompt_tokens} tokens are left out")
