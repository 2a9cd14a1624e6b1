"""What the training ranks say to one another in a transfer. Collectives: all ranks call them, in the same order."""

from __future__ import annotations

from typing import TypeVar

import torch.distributed as dist

__all__ = ["Ranks"]

T = TypeVar("T")


class Ranks:
    """The process group of the trainer; a single process need not have one. Each wait has the group's deadline.

    machine: Ray's name of the one that this rank is on.
    """

    def __init__(self, rank: int, world: int, machine: str = "") -> None:
        self.rank, self.world, self.machine = rank, world, machine

    @property
    def first(self) -> bool:
        return self.rank == 0

    def barrier(self) -> None:
        """Until every rank is here."""
        if self.world > 1:
            dist.barrier()

    def from_first(self, value: T) -> T:
        """Rank 0's value, on every rank."""
        if self.world == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def all_agree(self, here: bool) -> bool:
        """Whether it is so on every rank."""
        if self.world == 1:
            return here
        answers = [False] * self.world
        dist.all_gather_object(answers, here)
        return all(answers)
