"""`reasongym algorithms`: what tells one from another."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from reasongym.config.section import Section
from reasongym.errors import ConfigError, ResourceError, message, nearest

__all__ = ["command"]


@click.command("algorithms")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(name: str | None, as_json: bool) -> None:
    """List the algorithms, or show one: its paper, formula, edge cases and settings.

    \b
    reasongym algorithms
    reasongym algorithms gspo
    reasongym train --task gsm8k --algorithm gspo
    """
    try:
        from reasongym.algorithms import ALGORITHMS
    except ModuleNotFoundError as error:
        raise ResourceError(message("the algorithms need torch", got=str(error), expected="the training extra",
                                        remedy="pip install 'reasongym[train]'")) from error
    if name is None:
        for row in ({"name": name, **module.ABOUT._asdict()} for name, module in ALGORITHMS.items()) if as_json else ():
            click.echo(json.dumps(row))
        if not as_json:
            _print_table()
        return
    if name not in ALGORITHMS:
        raise ConfigError(message(f"no algorithm {name!r}.{nearest(name, ALGORITHMS)}", got=name,
                                  expected=f"one of {', '.join(ALGORITHMS)}", remedy="correct the name"))
    _print_one(name)


def _print_table() -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from reasongym.algorithms import ALGORITHMS

    table = Table("algorithm", "advantage", "ratio", "clip", "aggregation", "KL", "paper", box=box.HORIZONTALS)
    for name, module in ALGORITHMS.items():
        about = module.ABOUT
        table.add_row(name, about.advantage, about.ratio, about.clip, about.aggregation, about.kl, about.paper)
    Console().print(table)


def _print_one(name: str) -> None:
    from reasongym.algorithms import ALGORITHMS
    from reasongym.config.algorithms import ALGORITHM_CONFIGS

    click.echo((ALGORITHMS[name].__doc__ or "").strip())
    click.echo("\nSettings, with their defaults:")
    for key, default, meaning in _settings(ALGORITHM_CONFIGS[name], "algorithm."):
        click.echo(f"  {key} = {default}\n      {meaning}")


def _settings(section: type[Section], prefix: str) -> Iterator[tuple[str, object, str]]:
    """Dotted key, default, meaning, those of nested sections after their parent's."""
    nested = []
    for key, field in section.model_fields.items():
        if isinstance(field.default, Section):
            nested.append((key, field.default))
        elif key != "name":
            yield f"{prefix}{key}", field.default, section.meaning(key)
    for key, default in nested:
        for inner, _, meaning in _settings(type(default), f"{prefix}{key}."):
            yield inner, getattr(default, inner.rpartition(".")[2]), meaning
