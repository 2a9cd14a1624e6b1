"""How old an answer may be when it is trained on: which groups may begin, and which make up the next batch.

A group is admitted when its sampling begins, under policy version v, and has to be trained on while the policy is at
most at version v + `bound`. Two rules keep that, whatever the order in which groups end:

    admission   with what is admitted and not yet trained on, every batch up to the group's last one can be filled
    choice      a batch takes groups in the order they ended, except where that would leave more groups with one last
                version than batches up to it have room for: then it takes, and waits for, those

The rule of admission is AReaL's (arXiv:2505.24298, "staleness-aware training"). Nothing that was admitted is ever
dropped for its age: that would thin out the long answers.

No threads and no time in here: a simulation of 10,000 steps runs through the same code as a run.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["StalenessGate"]


class _Admitted(NamedTuple):
    """last: the newest policy version that may be trained with it."""

    version: int
    last: int


class StalenessGate:
    """Counts groups by ticket. batch: groups of a training step. bound: versions a group may be behind; 0 samples and
    trains in turns. version: of the policy that the engines hold at the start."""

    def __init__(self, *, batch: int, bound: int, version: int) -> None:
        self.batch, self.bound, self.version = batch, bound, version
        self._next_step = version  # version of the policy that the next batch will be trained with
        self._next_ticket = 0
        self._open: dict[int, _Admitted] = {}
        self._ended: dict[int, None] = {}  # in order

    @property
    def num_open(self) -> int:
        """Groups admitted and not yet trained on, ended or not."""
        return len(self._open)

    @property
    def num_ended(self) -> int:
        """Of these, the groups that wait to be trained on."""
        return len(self._ended)

    def may_admit(self) -> bool:
        """Whether one more group, begun now, is sure to be trained on in time."""
        return len(self._open) < (self.version + self.bound + 1 - self._next_step) * self.batch

    def admit(self) -> int:
        """A group begins: its ticket. Tickets rise from 0."""
        if not self.may_admit():
            raise RuntimeError("a group was begun that could not be trained on in time")
        ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
        self._open[ticket] = _Admitted(self.version, self.version + self.bound)
        return ticket

    def end(self, ticket: int) -> None:
        """The group's last answer has its verdict."""
        if ticket not in self._open or ticket in self._ended:
            raise RuntimeError(f"ticket {ticket} ended twice, or never began")
        self._ended[ticket] = None

    def drop(self, ticket: int) -> None:
        """The group will not be trained on: its place is free for another one."""
        del self._open[ticket]
        self._ended.pop(ticket, None)

    def take(self) -> list[int] | None:
        """The tickets of the next batch, in the order they ended; None while there is no batch that keeps the bound.

        Afterwards the policy is being trained: what is admitted until `advance` still begins under the old version.
        """
        if len(self._ended) < self.batch:  # asked whenever a group ends: a look at all that is open would add up
            return None
        chosen = self._choose()
        if len(chosen) < self.batch:
            return None
        for ticket in chosen:
            del self._open[ticket], self._ended[ticket]
        self._next_step += 1
        return chosen

    def staleness(self, ticket: int) -> int:
        """Versions between the group's admission and the batch being chosen."""
        return self._next_step - self._open[ticket].version

    def advance(self, version: int) -> None:
        """The engines hold the policy that the last batch made."""
        self.version = version

    def _choose(self) -> list[int]:
        due = self._due()
        chosen: list[int] = []
        for ticket in self._ended:
            room = self.batch - len(chosen)
            behind = self._open[ticket].last - self._next_step
            # A place that some group with less time needs is kept for it, also while that group is still sampled.
            if room and all(needed < room for needed in due[:behind]):
                chosen.append(ticket)
                due = [needed - (k >= behind) for k, needed in enumerate(due)]
        return chosen

    def _due(self) -> list[int]:
        """Entry k: how many of the groups whose last version is at most k from now must be in this very batch."""
        counts = [0] * (self.bound + 1)
        for admitted in self._open.values():
            counts[admitted.last - self._next_step] += 1
        due, so_far = [], 0
        for k, count in enumerate(counts):
            so_far += count
            due.append(so_far - k * self.batch)
        return due
