"""The walk over a split's prompts, each encoded once, as an evaluation encodes it."""

from __future__ import annotations

from typing import Any

from reasongym.errors import DataError, message
from reasongym.evaluation.prompting import encode
from reasongym.records import Prompt
from reasongym.rollout.walk import Walk
from reasongym.tasks import Task, row_random

__all__ = ["PromptSource", "encode"]


class PromptSource(Walk[Prompt]):
    """An endless, repeatable walk over a task's split; see `Walk`."""

    def __init__(self, task: Task, split: str, *, tokenizer: Any, seed: int, max_tokens: int) -> None:
        super().__init__(task.size(split), lambda epoch: row_random(task.name, split, seed, epoch, salt="order"))
        self.task, self.split, self.tokenizer, self.seed = task, split, tokenizer, seed
        self.max_tokens = max_tokens
        self._num_tokens = 0
        if self.rows == 0:
            raise DataError(message(f"{task.name}/{split} is empty", got="0 rows", expected="at least one",
                                    remedy="check the data"))

    def read(self, row: int) -> Prompt | None:
        """The prompt of a row, or None where it is longer than `max_tokens`."""
        prompt = encode(self.task.example(self.split, row, seed=self.seed), self.tokenizer)
        self._num_tokens = len(prompt.token_ids)
        if self._num_tokens <= self.max_tokens:
            return prompt
        self.too_long += 1
        return None

    def nothing_left(self) -> DataError:
        return DataError(message("every prompt is too long", got=f"{self._num_tokens} tokens in the last one",
                                 expected=f"at most rollout.max_prompt_tokens={self.max_tokens}",
                                 remedy="raise rollout.max_prompt_tokens"))
