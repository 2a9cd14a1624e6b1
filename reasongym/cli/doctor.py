"""`reasongym doctor`: what runs on this machine, what is missing, and what to do about it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import click

from reasongym.planning import Hardware, default_recipe
from reasongym.planning.checkup import Check, checkup

__all__ = ["command"]

COLOURS = {"ok": "green", "warn": "yellow", "missing": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
@click.option("--imports", is_flag=True, help="Also import torch, ray, vllm, deepspeed and transformers, each in a "
                                              "process of its own: finds broken installations, takes up to a minute.")
@click.option("--network", is_flag=True, help="Also ask whether the model hub answers, for at most 3 seconds.")
def command(as_json: bool, imports: bool, network: bool) -> None:
    """Say what runs on this machine and what is missing.

    Each line is `ok`, `warn` (something works less well, or not at all without need) or `missing`, with what to do.
    Exit status: 0 if training can run here, 1 if something that it needs is missing.

    \b
    reasongym doctor
    reasongym doctor --imports
    reasongym doctor --json | jq '.checks[] | select(.state != "ok")'
    """
    hardware = Hardware.detect("runs")
    checks = checkup(hardware, imports=imports, network=network)
    lacking = [check.name for check in checks if check.needed and check.state == "missing"]
    if as_json:
        click.echo(json.dumps({"can_train": not lacking, "recipe": default_recipe(hardware),
                               "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        _print(checks, lacking, default_recipe(hardware))
    sys.exit(1 if lacking else 0)


def _print(checks: Sequence[Check], lacking: Sequence[str], recipe: str) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        click.echo(f"{click.style(f'{check.state:<8}', fg=COLOURS[check.state])} {check.name:<{width}}  {check.detail}")
        if check.remedy:
            click.echo(f"{'':<9}{'':<{width}}  -> {check.remedy}")
    if lacking:
        click.echo(f"\nTraining cannot run here; missing: {', '.join(lacking)}")
    else:
        click.echo(f"\nTraining can run here: reasongym train --recipe {recipe}")
