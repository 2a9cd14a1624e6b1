"""`reasongym train`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reasongym.errors import ConfigError, message, nearest

if TYPE_CHECKING:
    from reasongym.config import RunConfig

__all__ = ["command"]

@click.command("train", epilog="""\b
Examples:
  reasongym train --task gsm8k
  reasongym train --task arithmetic --recipe cpu_arithmetic --steps 20
  reasongym train --task gsm8k --algorithm ppo
  reasongym train --task gsm8k --data rows.jsonl --set trainer.learning_rate=1e-5
  reasongym train --task gsm8k --verifier my_rules.py:even_number
  reasongym train --resume runs/gsm8k-grpo-20260101-120000
  reasongym train --recipe gpu8 --dry-run --hardware "8x H100 80GB"
""")
@click.option("--task", help="Task name or path/to/file.py:name.  [default: the recipe's]")
@click.option("--recipe", help="A recipe in configs/ or a YAML file.  [default: by the hardware]")
@click.option("--algorithm", help="One of those that `reasongym algorithms` lists.  [default: the recipe's]")
@click.option("--model", help="Hugging Face folder, hub id, or smollm2-135m (embedded).")
@click.option("--data", help="File or folder of rows, instead of the task's default source.")
@click.option("--verifier", help="Verifier name or file.py:name for the task's first reward part.")
@click.option("--steps", type=int, help="Batches of prompts to train on.")
@click.option("--seed", type=int, help="Of prompt order and sampling.")
@click.option("--name", help="Name of the run's folder.  [default: task-algorithm-time]")
@click.option("--runs", help="Folder of all runs.  [default: runs]")
@click.option("--eval-every", type=int, metavar="N", help="Steps between held-out evaluations; 0 turns them off.")
@click.option("--logger", "loggers", multiple=True, metavar="NAME",
              help="Show the numbers here too: wandb, mlflow, trackio, prometheus; may be repeated.")
@click.option("--ray-address", metavar="HOST:PORT", help="A Ray cluster that this machine is in; `auto` finds it.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any setting, e.g. rollout.group_size=16.")
@click.option("--resume", metavar="RUN", help="Continue the run in this folder from its newest checkpoint.")
@click.option("--resume-from", type=int, metavar="STEP", help="With --resume: from the checkpoint of this step.")
@click.option("--dry-run", is_flag=True, help="Check everything, print what would be placed where, start nothing.")
@click.option("--hardware", metavar="TEXT", help='With --dry-run: plan for this machine, e.g. "8x H100 80GB".')
def command(**options: Any) -> None:
    """Train a model on a task by reinforcement learning with verifiable rewards."""
    from reasongym.planning import Hardware, plan, shape_of
    from reasongym.tracking.loggers import check_loggers

    if options["resume_from"] is not None and not options["resume"]:
        raise ConfigError(message("--resume-from needs --resume", got=f"--resume-from {options['resume_from']}",
                                  expected="--resume RUN --resume-from STEP", remedy="name the run"))
    described = options["hardware"]
    if described is not None and not options["dry_run"]:
        raise ConfigError(message("--hardware describes a machine for planning", got="no --dry-run",
                                  expected="--dry-run --hardware TEXT", remedy="add --dry-run"))
    disk = options["resume"] or options["runs"] or "runs"
    hardware = Hardware.described(described) if described is not None else Hardware.detect(disk)
    config = _resumed(options) if options["resume"] else _configured(options, hardware)
    check_loggers(config.tracking.loggers)
    if options["dry_run"]:
        from reasongym.training.curriculum import check_levels
        from reasongym.training.task import make_task, reward_parts

        reward_parts(config, make_task(config, training=True))
        check_levels(config)
        click.echo(plan(config, hardware, shape_of(config.model.path)).describe())
        return
    from reasongym.training.run import resume_run, start_run  # torch and Ray: not for a dry run

    if options["resume"]:
        sys.exit(resume_run(config, hardware, Path(options["resume"]), step=options["resume_from"]))
    sys.exit(start_run(config, hardware))


def _configured(options: dict[str, Any], hardware: Any) -> RunConfig:
    from reasongym.config import load_config
    from reasongym.planning import default_recipe

    recipe = options["recipe"] or (options["task"] == "arithmetic" and not hardware.gpus and "cpu_arithmetic") \
        or default_recipe(hardware)
    named, of_recipe = _named(options), load_config(recipe)
    if options["task"] not in (None, of_recipe.task.name):
        named |= {"task.settings": {}}  # the recipe's are of its own task
    named |= _more_loggers(options, of_recipe)
    if options["algorithm"] not in (None, of_recipe.algorithm.name):
        named |= {"algorithm": {"name": _known(options["algorithm"])}}  # the recipe's settings are of its own algorithm
    return load_config(recipe, options=named, overrides=options["overrides"])


def _known(algorithm: str) -> str:
    from reasongym.config.algorithms import ALGORITHM_CONFIGS

    if algorithm not in ALGORITHM_CONFIGS:
        raise ConfigError(message(f"no algorithm {algorithm!r}.{nearest(algorithm, ALGORITHM_CONFIGS)}", got=algorithm,
                                  expected=f"one of {', '.join(ALGORITHM_CONFIGS)}",
                                  remedy="correct --algorithm; `reasongym algorithms` says what each is"))
    return algorithm


def _resumed(options: dict[str, Any]) -> RunConfig:
    """The run's own configuration; what is given on the command line as well replaces it."""
    from reasongym.config import load_config

    run = Path(options["resume"])
    if not (run / "config.yaml").is_file():
        siblings = [found.parent.name for found in run.parent.glob("*/config.yaml")]
        raise ConfigError(message(f"no run to resume in {run}.{nearest(run.name, siblings)}", got=str(run),
                                  expected="a run's folder with a config.yaml", remedy="check the path"))
    named = {key: value for key, value in _named(options).items() if key not in {"name", "runs"}}
    of_run = load_config(str(run / "config.yaml"))
    named |= _more_loggers(options, of_run)
    if options["algorithm"] not in (None, of_run.algorithm.name):
        raise ConfigError(message("a run is resumed with its own algorithm", got=f"--algorithm {options['algorithm']}",
                                  expected=f"that of {run / 'config.yaml'}",
                                  remedy="leave --algorithm out, or start a run with --model RUN/final"))
    return load_config(str(run / "config.yaml"), options=named, overrides=options["overrides"])


def _more_loggers(options: dict[str, Any], before: RunConfig) -> dict[str, object]:
    """--logger, beside those that are there."""
    return {"tracking.loggers": [*dict.fromkeys([*before.tracking.loggers, *options["loggers"]])]} \
        if options["loggers"] else {}


def _named(options: dict[str, Any]) -> dict[str, object]:
    """Command-line options as configuration keys; those not given are left out."""
    keys = {"task": "task.name", "model": "model.path", "data": "task.data",
            "verifier": "task.verifier", "steps": "steps", "seed": "seed", "name": "name", "runs": "runs",
            "eval_every": "evaluation.every", "ray_address": "resources.ray_address"}
    return {key: options[option] for option, key in keys.items() if options[option] is not None}

