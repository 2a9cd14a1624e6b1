"""What a task is: a source of examples, the reward parts that score an answer, and its splits."""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, TypeVar

__all__ = ["Example", "Message", "RewardPart", "Task", "TaskOptions", "content_split", "describes", "row_random"]


class Message(TypedDict):
    """One turn of a chat, as chat templates take it."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One row of a task: the prompt as chat messages, the reference a verifier compares with, any further fields.

    `solution` is a worked solution where the task has one (for supervised fine-tuning); `fields` are passed to the
    verifier as `example`.
    """

    task: str
    split: str
    index: int
    messages: tuple[Message, ...]
    reference: object
    solution: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.task}/{self.split}/{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardPart:
    """One weighted part of a reward: `name` in the metrics, the verifier's name or `file.py:name`, its weight."""

    name: str
    verifier: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """What a caller chooses about any task.

    data: a file or folder of rows instead of the default source. training: True where a substitute for a missing
    data set is allowed (never for evaluation). settings: the task's own options (levels and so on), which it checks.
    """

    data: str | None = None
    training: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


class Task(ABC):
    """A named source of examples.

    A finite task returns its number of rows from `size`; a generator returns None and answers any index >= 0. Rows
    are addressed by (task, split, seed, index) through a hash, so an example never depends on which were asked before,
    and splits never overlap.
    """

    name: str
    description: str
    rewards: tuple[RewardPart, ...]
    splits: tuple[str, ...] = ("train", "test")
    takes_shots: bool = True
    """Whether solved rows may be put before a prompt; not where its form is fixed to the letter."""

    @abstractmethod
    def size(self, split: str) -> int | None:
        """Rows in a split, or None for an endless generator. Raises DataError for an unknown split."""

    @abstractmethod
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        """The row at `index` (0-based). Finite tasks ignore `seed`. Raises DataError outside the split."""

    @classmethod
    def rows_from(cls, options: TaskOptions) -> str:
        """One line on where rows would come from, found out without fetching any."""
        return "generator, endless"

    def provenance(self) -> Mapping[str, str]:
        """Where the rows come from, for the run's record: `source`, `fingerprint`; `substitute_for` when the rows
        stand in for a data set that was not found."""
        return {"source": "generator", "fingerprint": self.name}


def row_random(task: str, split: str, seed: int, index: int, salt: str = "") -> random.Random:
    """The random generator of one row: the same on every machine and Python, independent between rows.

    A hash, not `seed + index`, whose sums collide: seed 1 index 0 would be seed 0 index 1.
    """
    key = f"{task}\x1f{split}\x1f{seed}\x1f{index}\x1f{salt}".encode()
    return random.Random(int.from_bytes(hashlib.sha256(key).digest(), "big"))


def content_split(task: str, content: str) -> str:
    """The split a generated problem belongs to, whatever seed or index drew it: "test" for 1 in 8, else "train".

    A generator draws until a problem falls into the split it is asked for, so no problem is ever in both.
    """
    digest = hashlib.sha256(f"{task}\x1fsplit\x1f{content}".encode()).digest()
    return "test" if digest[0] % 8 == 0 else "train"


Made = TypeVar("Made", bound=Callable[..., object])


def describes(task: type[Task]) -> Callable[[Made], Made]:
    """Mark a factory as making tasks of that class, so that it can be listed without making one."""

    def mark(factory: Made) -> Made:
        factory.describes = task  # type: ignore[attr-defined]
        return factory

    return mark
