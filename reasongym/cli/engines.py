"""`reasongym engines`: the engines of a run that goes on: which there are, more of them, or fewer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reasongym.errors import ConfigError, DataError, EngineError, message

if TYPE_CHECKING:
    from reasongym.rollout.orders import Order, Roster

__all__ = ["command"]

LOOK_EVERY_S = 0.5


@click.command("engines", epilog="""\b
Examples:
  reasongym engines runs/sums-grpo
  reasongym engines runs/sums-grpo --add 2
  reasongym engines runs/sums-grpo --add 1 --label cheap
  reasongym engines runs/sums-grpo --remove 1 --finish 30
""")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--list", "listed", is_flag=True, help="Say which engines there are.  [default]")
@click.option("--add", type=click.IntRange(1), metavar="N", help="Start N more.")
@click.option("--remove", type=click.IntRange(1), metavar="N", help="End N of them, the newest first.")
@click.option("--label", help="Of the group of engines that is meant, where the run has several.")
@click.option("--finish", type=click.FloatRange(0), default=60.0, show_default=True, metavar="SECONDS",
              help="With --remove: longest time that an engine goes on with what it has begun; the rest others answer.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=900.0, show_default=True, metavar="SECONDS",
              help="Longest wait for the trainer to do it.")
def command(run: Path, listed: bool, add: int | None, remove: int | None, label: str | None, finish: float,
            timeout: float) -> None:
    """Say which engines the run in the folder RUN has, and add or remove some while it goes on.

    The trainer looks while it samples, so it may take a step until it does. An engine that is added serves once it has
    the present weights; what one that is removed has not answered, others do, under the same seeds.
    """
    from reasongym.rollout.orders import MOST_AT_ONCE, Order

    if (add is not None) + (remove is not None) + listed > 1:
        raise ConfigError(message("one thing at a time", got="several of --list, --add and --remove",
                                  expected="one of them", remedy="call the command once for each"))
    _check_run(run)
    if add is None and remove is None:
        _print_roster(run)
        return
    if max(add or 0, remove or 0) > MOST_AT_ONCE:
        raise ConfigError(message("too many engines at once", got=f"{max(add or 0, remove or 0)}",
                                  expected=f"at most {MOST_AT_ONCE}", remedy="ask for fewer"))
    until = time.time() + timeout
    _carry_out(run, Order(add=add or 0, remove=remove or 0, label=label, finish_s=finish, until=until))


def _check_run(run: Path) -> None:
    """Raises DataError for a folder that is no run, or one of a run that has ended."""
    from reasongym.tracking.ending import state_of

    if not (run / "config.yaml").is_file():
        raise DataError(message(f"{run} is no run", got="a folder without config.yaml" if run.is_dir() else "no folder",
                                expected="a folder that `reasongym train` writes to", remedy="check the path"))
    ending = state_of(run)
    if ending.state != "running":
        raise DataError(message(f"the run {run} does not go on", got=ending.state, expected="a run that goes on, seen "
                                "from the machine it runs on", remedy="engines of the next start are set by --set "
                                "rollout.engines, also with --resume"))


def _print_roster(run: Path) -> None:
    from reasongym.rollout.orders import read_roster

    roster = read_roster(run)
    if roster is None:
        click.echo("no engines yet: the run is starting, or samples nothing")
        return
    click.echo(f"{'engine':>6}  {'state':<8}  {'weights':>7}  {'GPUs':>4}  {'restarts left':>13}  label")
    for one in roster.engines:
        click.echo(f"{one.index:>6}  {one.state:<8}  {one.version:>7}  {one.tensor_parallel:>4}  "
                   f"{one.restarts_left:>13}  {one.label or '-'}")
    for index, reason in roster.given_up.items():
        click.echo(f"{index:>6}  given up: {reason}")


def _carry_out(run: Path, order: Order) -> None:
    """Ask, and wait until it is done. Raises ConfigError for what is refused, EngineError for what fails or takes too
    long."""
    from reasongym.rollout.orders import answer_of, place_order, withdraw

    name = place_order(run, order)
    try:
        answer = answer_of(run, name, until=order.until)
    except KeyboardInterrupt:
        click.echo("withdrawn" if withdraw(run, name) else "the trainer has taken it up already", err=True)
        raise
    if answer is None:
        taken_back = withdraw(run, name)
        raise EngineError(message("the trainer did not answer in time", got="nothing, and the order was taken back"
                                  if taken_back else "nothing yet; it has taken the order up",
                                  expected="an answer while it samples", remedy="a longer --timeout; `reasongym "
                                  "engines RUN` says what there is"))
    if answer.refused:
        raise ConfigError(message("the engines were not changed", got=answer.refused, expected="an order that the run "
                                  "can carry out", remedy="`reasongym engines RUN` says which engines there are"))
    numbers = ", ".join(map(str, answer.engines))
    click.echo(f"engines {numbers} {'start' if order.add else 'leave'}")
    _wait_until_done(run, set(answer.engines), order)
    click.echo(f"engines {numbers} {'serve' if order.add else 'have left'}")


def _wait_until_done(run: Path, numbers: set[int], order: Order) -> None:
    from reasongym.rollout.orders import Roster, read_roster
    from reasongym.tracking.ending import state_of

    while True:
        roster = read_roster(run) or Roster()
        failed = {number: roster.given_up[number] for number in sorted(numbers) if number in roster.given_up}
        if order.add and failed:
            raise EngineError(message("engines that were added were given up", expected="engines that serve",
                                      got="; ".join(f"{number}: {reason}" for number, reason in failed.items()),
                                      remedy="the run goes on without them; Ray's logs have the rest"))
        if _done(roster, numbers, add=bool(order.add)):
            return
        over = state_of(run).state != "running"
        if over or time.time() >= order.until:
            raise EngineError(message("the engines have not changed yet", got="the run has ended" if over else
                                      f"engines {', '.join(map(str, sorted(numbers)))} are on their way",
                                      expected="a change in time", remedy="`reasongym engines RUN` says how far they "
                                      "are; a longer --timeout"))
        time.sleep(LOOK_EVERY_S)


def _done(roster: Roster, numbers: set[int], *, add: bool) -> bool:
    if add:
        return numbers <= {one.index for one in roster.engines if one.state == "serving"}
    return not numbers & {one.index for one in roster.engines}
