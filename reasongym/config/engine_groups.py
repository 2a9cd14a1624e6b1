"""Which engines a run has: a number of equal ones, or groups that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Tag

from reasongym.config.section import Natural, Positive, PositiveFloat, Section

__all__ = ["EngineGroup", "EngineKind", "Engines", "Label"]

OF_RAY = {"memory", "object_store_memory"}
"""Resources that every machine of a Ray cluster has; its others are written in capitals."""


def _is_label(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", text) or text in OF_RAY:
        raise ValueError("a label is a small letter and then small letters, digits, - or _, and no resource of Ray's")
    return text


Label = Annotated[str, AfterValidator(_is_label)]
"""Name of a custom resource of Ray that the machines meant have: `ray start --resources '{"cheap": 1}'`."""


class EngineGroup(Section):
    """Equal engines beside others. What is null is as for a pool of equal engines."""

    count: Positive = 1
    """Engines of the group."""
    label: Label | None = None
    """The machines they are on, and the group's name; null: any machine."""
    tensor_parallel: Positive | None = None
    """GPUs each is spread over; null: rollout.tensor_parallel."""
    max_num_seqs: Positive | None = None
    """Answers each samples at one time; null: rollout.max_num_seqs."""
    share: PositiveFloat | None = None
    """Answers each is given against an engine of another group; null: its GPUs."""
    gpus_per_node: Natural = 0
    """GPUs used on a machine of the label, where those have fewer than others; 0: resources.gpus_per_node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """A group with nothing left open."""

    count: int
    label: str | None
    tensor_parallel: int
    max_num_seqs: int
    share: float
    gpus_per_node: int


def _labels_differ(groups: tuple[EngineGroup, ...]) -> tuple[EngineGroup, ...]:
    twice = [label for label, count in Counter(group.label for group in groups).items() if count > 1]
    if twice:
        raise ValueError(f"two groups of engines have the label {twice[0] or 'null'}, by which they are told apart")
    return groups


def _form(value: object) -> str:
    return "groups" if isinstance(value, Sequence) and not isinstance(value, str) else "number"


Engines = Annotated[
    Annotated[Positive, Tag("number")]
    | Annotated[tuple[EngineGroup, ...], Field(min_length=1), AfterValidator(_labels_differ), Tag("groups")],
    Discriminator(_form)]
