"""From scored answers to pairs, labels and solutions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from reasongym.algorithms import online_dpo
from reasongym.errors import DataError, message
from reasongym.tracking.rollouts import read_rollouts
from reasongym.training.examples.origin import Prompts
from reasongym.training.examples.rows import ExampleKind

__all__ = ["Miner"]

Rollout = Mapping[str, Any]
NEEDED = ("step", "group", "task", "split", "index", "completion", "reward", "status", "finish_reason", "token_ids",
          "mask", "prompt_token_ids")


class Miner:
    """Makes rows of one kind of a step's answers after another's.

    pairs      k-th best with k-th worst of a prompt's answers in a step, strictly better, by `min_gap` at least
    labels     correct answers wanted, wrong and unparsable ones unwanted
    solutions  answers that were found correct and ended, each once a prompt

    max_per_prompt: pairs, answers of each label, or solutions made of one prompt over all steps; None is no limit.
    made: rows. prompts: different ones that have rows. left_out: what was not used, by reason.
    """

    def __init__(self, kind: ExampleKind, prompts: Prompts, *, min_gap: float = 0.0,
                 max_per_prompt: int | None = None) -> None:
        self._kind, self._prompts, self._min_gap, self._limit = kind, prompts, min_gap, max_per_prompt
        self.made = 0
        self.left_out: Counter[str] = Counter()
        self.without_messages = 0
        self._taken: Counter[tuple[bytes, bool]] = Counter()
        self._seen: set[bytes] = set()

    @property
    def prompts(self) -> int:
        return len({prompt for prompt, _ in self._taken})

    def rows(self, file: Path) -> Iterator[dict[str, Any]]:
        """The rows made of one file of rollouts. Raises DataError where it is damaged or lacks a column."""
        rollouts = read_rollouts(file)
        missing = [name for name in NEEDED if rollouts and name not in rollouts[0]]
        if missing:
            raise DataError(message(f"{file} does not hold rollouts", got=f"no {', '.join(missing)}",
                                    expected="columns as a run writes them", remedy="delete the file, or name another"))
        makers = {"pairs": self._pairs, "labels": self._labels, "solutions": self._solutions}
        for _, answers in groupby(rollouts, key=lambda rollout: rollout["group"]):
            made = list(makers[self._kind](list(answers)))
            messages = self._prompts.messages(made[0][1][0]) if made else None
            self.without_messages += len(made) if messages is None else 0
            for row, sources in made:
                self.made += 1
                yield {"prompt": messages, **row, **self._origin(sources[0])}

    def _pairs(self, answers: Sequence[Rollout]) -> Iterator[tuple[dict[str, Any], Sequence[Rollout]]]:
        valid = [answer for answer in answers if answer["reward"] is not None and any(answer["mask"])]
        self.left_out["answers without a verdict"] += len(answers) - len(valid)
        pairs = online_dpo.pairs([answer["reward"] for answer in valid], max_pairs=len(valid)) if valid else []
        self.left_out["prompts whose answers all earned the same"] += not pairs
        for best, worst in pairs:
            chosen, rejected = valid[best], valid[worst]
            if chosen["reward"] - rejected["reward"] < self._min_gap:
                self.left_out["pairs of a smaller gap"] += 1
            elif chosen["token_ids"] == rejected["token_ids"]:
                self.left_out["pairs of the same answer"] += 1
            elif self._take(chosen):
                rewards = {"chosen_reward": chosen["reward"], "rejected_reward": rejected["reward"]}
                yield _answer("chosen", chosen) | _answer("rejected", rejected) | rewards, (chosen, rejected)

    def _labels(self, answers: Sequence[Rollout]) -> Iterator[tuple[dict[str, Any], Sequence[Rollout]]]:
        labels = {"correct": True, "wrong": False, "unparsable": False}
        for answer in answers:
            label = labels.get(answer["status"])
            if label is None or not any(answer["mask"]):
                self.left_out[f"answers of status {answer['status']}"] += 1
            elif self._take(answer, label):
                yield _answer("completion", answer) | {"label": label, "reward": answer["reward"]}, (answer,)

    def _solutions(self, answers: Sequence[Rollout]) -> Iterator[tuple[dict[str, Any], Sequence[Rollout]]]:
        for answer in answers:
            if answer["status"] != "correct" or not any(answer["mask"]):
                self.left_out["answers that are not correct"] += 1
            elif answer["finish_reason"] != "stop":  # one that never ends teaches not to end
                self.left_out["correct answers that were cut off"] += 1
            elif not self._is_new(answer):
                self.left_out["answers that came before"] += 1
            elif self._take(answer):
                yield _answer("completion", answer) | {"reward": answer["reward"]}, (answer,)

    def _take(self, answer: Rollout, label: bool = True) -> bool:
        """Whether the prompt may have another row; it then has."""
        key = (_digest(answer["prompt_token_ids"]), label)
        if self._limit is not None and self._taken[key] >= self._limit:
            self.left_out["beyond --max-per-prompt"] += 1
            return False
        self._taken[key] += 1
        return True

    def _is_new(self, answer: Rollout) -> bool:
        key = _digest([*answer["prompt_token_ids"], -1, *answer["token_ids"]])
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _origin(self, answer: Rollout) -> dict[str, Any]:
        return {"prompt_token_ids": answer["prompt_token_ids"], "tokenizer": self._prompts.tokenizer,
                **{name: answer[name] for name in ("task", "split", "index", "step")}}


def _answer(key: str, answer: Rollout) -> dict[str, Any]:
    """An answer's columns; a mask only where it says something."""
    return {key: answer["completion"], f"{key}_token_ids": answer["token_ids"],
            f"{key}_ended": answer["finish_reason"] == "stop",
            f"{key}_mask": None if all(answer["mask"]) else answer["mask"]}


def _digest(ids: Sequence[int]) -> bytes:
    return hashlib.blake2b(",".join(map(str, ids)).encode(), digest_size=16).digest()
