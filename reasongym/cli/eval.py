"""`reasongym eval`: its options, and the tasks of one call after another, resumed where they were cut off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reasongym.errors import ConfigError, DataError, message

if TYPE_CHECKING:
    from reasongym.evaluation.job import Job

__all__ = ["command"]

MAY_DIFFER = ("endpoint", "key_env", "concurrency", "request_timeout", "answer_timeout", "deadline", "price_in",
              "price_out")
"""Options that `--resume` takes anew: none changes what is asked."""
OF_ENDPOINTS = ("api", "key_env", "body", "concurrency", "request_timeout", "answer_timeout", "deadline")


class _Number(click.FloatRange):
    """Within its range, and finite: NaN is neither below nor above any bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number that can be used.", param, ctx)
        return number


@click.command("eval")
@click.option("--task", help="Task name or path/to/file.py:name, or several with commas.  [default: that of --recipe, "
                           "else gsm8k]")
@click.option("--model", help="Hugging Face folder, hub id, smollm2-135m (embedded), or a name at --endpoint.  "
                              "[default: the recipe's]")
@click.option("--data", help="File or folder of rows, instead of the task's default source.")
@click.option("--split", default="test", show_default=True, help="Which rows.")
@click.option("--limit", "--prompts", "limit", type=click.IntRange(min=1),
              help="How many rows.  [default: the whole split; 200 of an endless generator]")
@click.option("--shots", type=click.IntRange(min=0), help="Solved rows of the train split to show first.  [default: 0]")
@click.option("--system", metavar="TEXT", help="System prompt, in place of the task's own.")
@click.option("--thinking", type=click.Choice(["auto", "on", "off"]), default="auto", show_default=True,
              help="Of models with two modes; auto says nothing.")
@click.option("--verifier", "verifiers", multiple=True, metavar="NAME",
              help="Verifiers in place of the task's, the main one first; may be repeated.")
@click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True, help="Answers a prompt.")
@click.option("--temperature", type=_Number(min=0), help="0 is greedy.  [default: 0 for one sample, else 1]")
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
@click.option("--request-timeout", type=_Number(min=0, min_open=True), default=600.0, show_default=True,
              help="Seconds of one request.")
@click.option("--answer-timeout", type=_Number(min=0, min_open=True), default=1800.0, show_default=True,
              help="Seconds of one answer, with all its attempts.")
@click.option("--deadline", type=_Number(min=0, min_open=True), default=86400.0, show_default=True,
              help="Seconds a task may take at an endpoint; then the result is partial.")
@click.option("--price-in", type=_Number(min=0), help="Price of a million prompt tokens.")
@click.option("--price-out", type=_Number(min=0), help="Price of a million sampled tokens.")
@click.option("--train-data", multiple=True, metavar="FILE|TASK[:SPLIT]",
              help="What the model was trained on: the rows' overlap with it is recorded; may be repeated.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder to write to.  [default: evals/TASK-TIME]")
@click.option("--resume", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Go on with an evaluation that was cut off, or left partial.")
@click.option("--recipe", help="A recipe in configs/, or a YAML file such as a run's config.yaml: its engines, and the "
                                "settings of its task where that is the same.  [default: engines by the hardware]")
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
        resume = resume.expanduser()
        given = {name for name in [*options, "output"]
                 if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
        options = _resumed(context, resume, options, given)
    options["task"] = _tasks(options["task"])
    _check_together(options, context)
    _evaluate_all(options, output, resume)


def _evaluate_all(options: Mapping[str, Any], output: Path | None, resume: Path | None) -> None:
    from reasongym.cli.eval_job import prepare
    from reasongym.cli.eval_sources import open_source
    from reasongym.evaluation.folder import is_whole
    from reasongym.evaluation.session import carry_out
    from reasongym.evaluation.table import table

    tasks = options["task"].split(",") if options["task"] else [None]
    jobs = [prepare({**options, "task": task}) for task in tasks]
    results = []
    with _folder(options, output, resume, jobs) as folder:
        places = [folder / f"{number}-{_stem(job.config.task.name)}" if len(jobs) > 1 else folder
                  for number, job in enumerate(jobs, start=1)]
        left = [(job, into) for job, into in zip(jobs, places, strict=True) if not is_whole(into)]
        for into in places:
            if into not in [place for _, place in left]:
                click.echo(f"{into} is whole already")
        for job, into in left:
            _announce(job, into)
        if left:
            with open_source(left[0][0], options) as source:
                for job, into in left:
                    results.append(carry_out(job, into, source))
                    click.echo(f"\n{table(results[-1])}\n\nwritten: {into}/results.json, rollouts.parquet")
    if any(result.partial for result in results):
        click.echo(f"\nask again for what is missing: reasongym eval --resume {folder}", err=True)
        raise click.exceptions.Exit(1)


def _folder(options: Mapping[str, Any], output: Path | None, resume: Path | None,
            jobs: list[Job]) -> AbstractContextManager[Path]:
    """The one that is gone on with, the one that was named, or a new one of the tasks' names and the time."""
    from reasongym.evaluation.folder import begun, resumed, timed_name

    def tell(line: str) -> None:
        click.echo(line, err=True)

    if resume is not None:
        return resumed(resume, tell=tell)
    named = output.expanduser() if output else Path("evals", timed_name("+".join(
        _stem(job.config.task.name) for job in jobs)))
    return begun(named, options, is_numbered=output is None, tell=tell)


def _resumed(context: click.Context, folder: Path, options: Mapping[str, Any], given: set[str]) -> dict[str, Any]:
    """The options that the evaluation was begun with, read as those of a command line are. Raises DataError,
    ConfigError."""
    from reasongym.evaluation.folder import REQUEST, read_request

    refused = sorted(given - {*MAY_DIFFER})
    if refused:
        raise ConfigError(message("--resume goes on with what was asked for", got=f"--{refused[0].replace('_', '-')}",
                                  expected=f"at most --{', --'.join(MAY_DIFFER).replace('_', '-')}",
                                  remedy="leave it out, or evaluate into a new --output"))
    stored = read_request(folder)
    parameters = {str(parameter.name): parameter for parameter in context.command.params}
    try:
        read = {name: parameters[name].type_cast_value(context, value) for name, value in stored.items()}
    except (KeyError, TypeError, ValueError, click.BadParameter) as error:
        raise DataError(message(f"{folder / REQUEST} is not what `reasongym eval` wrote",
                                got=f"{type(error).__name__}: {error}", expected="options and their values",
                                remedy="evaluate into a new --output")) from error
    return {**options, **read, **{name: options[name] for name in given}}


def _tasks(given: str | None) -> str | None:
    """Their names with a comma between them. Raises ConfigError for no name, and for one that stands there twice."""
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    if "" in names or len(set(names)) < len(names):
        raise ConfigError(message("--task names a task twice, or none", got=repr(given),
                                  expected="different names with commas between them",
                                  remedy="correct --task; --samples asks for several answers to each prompt"))
    return ",".join(names)


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


def _stem(task: str) -> str:
    return Path(task.partition(".py:")[0]).name.replace(":", "-").replace("/", "-") or "task"


def _announce(job: Job, folder: Path) -> None:
    told = {**job.in_words(), "folder": str(folder)}
    for label, value in told.items():
        click.echo(f"{label:<8} {value}")
    if job.overlap is not None:
        from reasongym.evaluation.contamination.report import sentence

        click.echo(sentence(job.overlap))
    if job.too_long:
        click.echo(f"warning: {job.too_long} prompts of more than {job.decoding.max_prompt_tokens} tokens are left out")
