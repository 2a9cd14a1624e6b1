"""The records that travel through a run: frozen, without torch.

    Prompt      a task's example with its token ids
    Completion  what an engine sampled for a prompt: append-only token ids, each with its logprob and policy version
    Rollout     a completion with its verdicts and its reward
    Group       the G rollouts of one prompt
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reasongym.arrays import flags, floats, integers, num_set
from reasongym.tasks import Example
from reasongym.verifiers import Status, Verdict

__all__ = ["Completion", "FinishReason", "Group", "Prompt", "Rollout"]


class FinishReason(StrEnum):
    """Why sampling ended. STOP: an end-of-sequence token was sampled (it is part of the ids). LENGTH: truncated."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One example, encoded once: `token_ids` is what the engine reads and what the trainer reads."""

    example: Example
    token_ids: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A sampled answer. All sequences have one entry a token, and are held as arrays (`arrays.py`) whatever they are
    made of.

    token_ids: as sampled, never encoded again. logprobs: natural log, of the temperature-scaled distribution, in 32
    bits. mask: true where the policy chose the token (not for tool output). versions: of the policy that sampled it.
    """

    token_ids: Sequence[int]
    logprobs: Sequence[float]
    mask: Sequence[int]
    versions: Sequence[int]
    text: str
    finish_reason: FinishReason
    seed: int
    engine: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        lengths = {len(self.token_ids), len(self.logprobs), len(self.mask), len(self.versions)}
        if len(lengths) != 1:
            raise ValueError(f"a completion's sequences differ in length: {sorted(lengths)}")
        for name, numbers in (("token_ids", integers(self.token_ids)), ("logprobs", floats(self.logprobs)),
                              ("mask", flags(self.mask)), ("versions", integers(self.versions))):
            object.__setattr__(self, name, numbers)

    @property
    def num_trainable(self) -> int:
        return num_set(self.mask)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A scored completion.

    verdicts: one a reward part, by the part's name; the first is the task's main part. reward: the weighted sum of
    the parts' scores, or None when a verifier failed (the rollout then leaves its group and is counted).
    """

    prompt: Prompt
    completion: Completion
    verdicts: Mapping[str, Verdict]
    reward: float | None

    @property
    def status(self) -> Status:
        """The main part's status, or ERROR when any part failed."""
        statuses = [verdict.status for verdict in self.verdicts.values()]
        return Status.ERROR if Status.ERROR in statuses else statuses[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rollouts of one prompt in one step, in the order of their seeds."""

    prompt: Prompt
    rollouts: tuple[Rollout, ...]

    @property
    def valid(self) -> tuple[Rollout, ...]:
        """Rollouts whose reward can be trusted."""
        return tuple(r for r in self.rollouts if r.reward is not None)

    @property
    def is_flat(self) -> bool:
        """All valid rewards equal, exactly: no learning signal."""
        rewards = [r.reward for r in self.valid]
        return not rewards or max(rewards) == min(rewards)  # type: ignore[type-var]
