"""The panels: answers that must earn nothing, as data. One JSON object a line in panels/*.jsonl:

    name, why   for a person
    text        the answer; the words of `Filling` between two @ stand for what a row gives
    repeat      [text, times]: what @bulk@ stands for
    numbers     [first, last, each, between]: the same, with every number in place of @n@
    blank       true: not even a form is given, so no part of a reward may give anything
    by_chance   true: right on some rows by chance, so that only more than 1 row in 4 is a failure
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

__all__ = ["PANELS", "Filling", "Trick", "fill", "panel"]

PANELS = ("degenerate", "hacks", "hostile")


class Filling(TypedDict, total=False):
    """What a row gives to a text: its reference, that of another row, that one in the form asked for, the prompt."""

    reference: str
    other: str
    other_as_asked: str
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trick:
    """One line of a panel. `bulk` is what `repeat` or `numbers` make."""

    name: str
    why: str
    text: str
    bulk: str = ""
    blank: bool = False
    by_chance: bool = False


@cache
def panel(name: str) -> tuple[Trick, ...]:
    """The tricks of panels/<name>.jsonl, in order."""
    lines = (Path(__file__).with_name("panels") / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_trick(json.loads(line)) for line in lines)


def _trick(record: dict[str, object]) -> Trick:
    match record.pop("repeat", None), record.pop("numbers", None):
        case [str(piece), int(times)], None:
            bulk = piece * times
        case None, [int(first), int(last), str(each), str(between)]:
            step = 1 if last >= first else -1
            bulk = between.join(each.replace("@n@", str(n)) for n in range(first, last + step, step))
        case _:
            bulk = ""
    return Trick(bulk=bulk, **record)  # type: ignore[arg-type]


def fill(trick: Trick, filling: Filling) -> str | None:
    """The answer for one row, or None where the row does not give what the text needs."""
    values: Mapping[str, object] = {**filling, "bulk": trick.bulk}
    needed = set(re.findall(r"@([a-z_]+)@", trick.text))
    if not needed <= values.keys():
        return None
    # In one pass, so that a prompt that holds "@other@" is left as it is.
    return re.sub(r"@([a-z_]+)@", lambda match: str(values[match[1]]), trick.text)
