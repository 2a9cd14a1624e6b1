"""`reasongym plan`: what a run would hold, where it would lie, how long a step would take, and what does not fit."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from reasongym.errors import ConfigError, ResourceError, message

if TYPE_CHECKING:
    from reasongym.config import RunConfig
    from reasongym.planning import Hardware, ModelShape
    from reasongym.planning.report import Findings

__all__ = ["command"]


@click.command("plan")
@click.option("--recipe", metavar="NAME", help="A recipe in configs/.  [default: by the hardware]")
@click.option("--config", "file", metavar="FILE", help="A YAML file instead, such as a run's config.yaml.")
@click.option("--model", metavar="NAME", help="Hugging Face folder, its config.json, a hub id, or smollm2-135m: its "
              "shape is enough, weights are not read.")
@click.option("--hardware", metavar="TEXT", help='A machine, e.g. "8x H100 80GB" or "cpu 16 cores 64GB"; a run has '
              "resources.nodes of it.  [default: this one]")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any setting, e.g. rollout.group_size=16.")
@click.option("--assume", "assumptions", multiple=True, metavar="NAME=NUMBER",
              help="A speed that a step's time is reckoned with, e.g. training_share=0.4; the plan lists them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, in bytes and seconds.")
def command(recipe: str | None, file: str | None, model: str | None, hardware: str | None, overrides: tuple[str, ...],
            assumptions: tuple[str, ...], as_json: bool) -> None:
    """Say what a run would need, before anything starts.

    Memory of each role part by part, where everything lies, how long a step takes by assumed speeds, and what does not
    fit, with the remedies in order of cost. Starts nothing and reads no weights. Exit status: 0 if it fits, 1 if it
    does not, 2 if the request makes no sense.

    \b
    reasongym plan
    reasongym plan --recipe gpu8 --hardware "8x H100 80GB"
    reasongym plan --recipe gpu8 --model Qwen/Qwen2.5-32B-Instruct --hardware "8x H100 80GB" --set resources.nodes=2
    reasongym plan --config runs/mine/config.yaml --assume training_share=0.45 --json
    """
    from reasongym.planning import Hardware, shape_of
    from reasongym.planning.report import as_dict, as_text

    machine = Hardware.described(hardware) if hardware is not None else Hardware.detect("runs")
    config = _configured(recipe, file, model, overrides, machine)
    try:
        found = _findings(config, machine, shape_of(config.model.path), assumptions)
    except ResourceError as error:  # too few GPUs: nothing can be placed
        elsewhere = "" if hardware else '\n            or --hardware "8x H100 80GB": for another machine than this one'
        click.echo(json.dumps({"fits": False, "reason": str(error)}, indent=2) if as_json
                   else f"It does not fit: {error}{elsewhere}")
        sys.exit(1)
    click.echo(json.dumps(as_dict(found), indent=2) if as_json else as_text(found))
    sys.exit(0 if found.fits else 1)


def _configured(recipe: str | None, file: str | None, model: str | None, overrides: tuple[str, ...],
                hardware: Hardware) -> RunConfig:
    from reasongym.config import load_config
    from reasongym.planning import default_recipe

    if recipe and file:
        raise ConfigError(message("a run has one configuration", got=f"--recipe {recipe} and --config {file}",
                                  expected="--recipe NAME or --config FILE", remedy="leave one of them out"))
    options = {} if model is None else {"model.path": model}
    return load_config(file or recipe or default_recipe(hardware), options=options, overrides=overrides)


def _findings(config: RunConfig, hardware: Hardware, shape: ModelShape | None,
              assumptions: tuple[str, ...]) -> Findings:
    from reasongym.planning.plan import assess
    from reasongym.planning.rates import assumed_rates
    from reasongym.planning.remedies import remedies, shortages
    from reasongym.planning.report import Findings
    from reasongym.planning.roles import roles
    from reasongym.planning.timing import step_time

    plan = assess(config, hardware, shape)
    rates = assumed_rates(hardware, plan.device, plan.dtype).with_values(assumptions)
    lacking = tuple((budget, remedies(plan, budget.place)) for budget in shortages(plan))
    return Findings(plan=plan, roles=roles(plan), rates=rates, step=step_time(plan, rates), lacking=lacking)
