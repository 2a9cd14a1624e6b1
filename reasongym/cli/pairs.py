"""`reasongym pairs`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reasongym.errors import ConfigError, DataError, message

if TYPE_CHECKING:
    from reasongym.training.examples.mining import Miner
    from reasongym.training.examples.origin import Origin

__all__ = ["command"]

ALGORITHM = {"pairs": "dpo", "labels": "kto", "solutions": "sft"}


@click.command("pairs", epilog="""\b
Examples:
  reasongym pairs runs/my-run
  reasongym pairs runs/my-run --kind labels --output labels.jsonl
  reasongym pairs runs/my-run --kind solutions --steps 1:20 --max-per-prompt 4
""")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(list(ALGORITHM)), default="pairs", show_default=True,
              help="For DPO, KTO or SFT.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE",
              help=".parquet or .jsonl; replaced where it is there.  [default: KIND.parquet in the folder]")
@click.option("--min-gap", type=click.FloatRange(min=0), help="Pairs of a smaller difference in reward are left out.")
@click.option("--max-per-prompt", type=click.IntRange(min=1), metavar="N",
              help="Rows of one prompt at most (of labels: of each).  [default: all]")
@click.option("--steps", metavar="A:B", help="Of these steps only, both included; A: and :B are open.")
def command(run: Path, **options: Any) -> None:
    """Make a file to learn from of the answers of a run, or of an evaluation.

    \b
    pairs      better and worse answers to one prompt, for --algorithm dpo
    labels     correct and wrong answers, for --algorithm kto
    solutions  correct answers, each once, for --algorithm sft
    """
    from reasongym.training.examples.mining import Miner
    from reasongym.training.examples.origin import open_origin, open_prompts
    from reasongym.training.examples.writing import check_target, write_rows
    from reasongym.training.quiet import quiet_libraries

    quiet_libraries()
    kind = options["kind"]
    if options["min_gap"] is not None and kind != "pairs":
        raise ConfigError(message("--min-gap is of pairs", got=f"--kind {kind}", expected="--kind pairs",
                                  remedy="leave it out"))
    origin = open_origin(run)
    files = _chosen(origin, options["steps"])
    target = (options["output"] or origin.folder / f"{kind}.parquet").expanduser()
    check_target(target)
    prompts = open_prompts(origin)
    miner = Miner(kind, prompts, min_gap=options["min_gap"] or 0.0, max_per_prompt=options["max_per_prompt"])
    if not write_rows(target, (row for file in files.values() for row in miner.rows(file)), kind):
        raise DataError(message(f"{origin.folder} gives no {kind}", got=_left_out(miner) or "no answers",
                                expected="at least one row", remedy=_remedy(options)))
    click.echo(f"{target}: {miner.made} {kind} of {miner.prompts} prompts, from {len(files)} steps")
    if miner.left_out.total():
        click.echo(f"left out: {_left_out(miner)}")
    if miner.without_messages:
        click.echo(f"warning: {miner.without_messages} rows hold their prompt as token ids only, for models of this "
                   f"tokenizer: {prompts.fault or 'the task does not give those prompts any more'}")
    click.echo(f"train on them: {_next(origin, kind, target)}")


def _chosen(origin: Origin, steps: str | None) -> Mapping[int, Path]:
    if steps is None:
        return origin.files
    found = re.fullmatch(r"(\d*):(\d*)", steps)
    if not found:
        raise ConfigError(message("--steps is not a range", got=steps, expected="A:B, A: or :B, such as 1:20",
                                  remedy="correct --steps"))
    first, last = int(found[1] or 0), int(found[2] or max(origin.files))
    chosen = {step: file for step, file in origin.files.items() if first <= step <= last}
    if not chosen:
        raise ConfigError(message("--steps leaves nothing", got=steps,
                                  expected=f"steps within {min(origin.files)} to {max(origin.files)}",
                                  remedy="correct --steps"))
    return chosen


def _left_out(miner: Miner) -> str:
    return ", ".join(f"{number} {what}" for what, number in miner.left_out.items() if number)


def _remedy(options: Mapping[str, Any]) -> str:
    narrow = [name for name in ("steps", "min_gap") if options[name] is not None]
    if narrow:
        return f"leave out --{narrow[0].replace('_', '-')}"
    return "an easier task or a better model: answers to a prompt must differ in reward" if options["kind"] == "pairs" \
        else "an easier task or a better model"


def _next(origin: Origin, kind: str, target: Path) -> str:
    settings = [f"task.settings.{key}={json.dumps(value)}" for key, value in origin.settings.items()]
    words = ["reasongym", "train", "--algorithm", ALGORITHM[kind], "--model", origin.model, "--task", origin.task,
             *(["--data", origin.data] if origin.data else []), "--set", f"algorithm.data={target}",
             *(word for setting in settings for word in ("--set", setting))]
    return shlex.join(words)
