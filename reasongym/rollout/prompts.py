"""From examples to token ids through the model's chat template, once; and the order in which prompts are visited."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from reasongym.errors import DataError, ModelError, message
from reasongym.records import Prompt
from reasongym.tasks import Example, Task, row_random

__all__ = ["PromptSource", "encode"]


def encode(example: Example, tokenizer: Any) -> Prompt:
    """Apply the chat template. Raises ModelError when the tokenizer has none: a guessed format would train nonsense."""
    if not getattr(tokenizer, "chat_template", None):
        raise ModelError(message("the model's tokenizer has no chat template", got=tokenizer.name_or_path,
                                 expected="an instruction-tuned model", remedy="choose an -Instruct model"))
    text = tokenizer.apply_chat_template(list(example.messages), tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return Prompt(example=example, token_ids=tuple(ids), text=text)


class PromptSource:
    """An endless, repeatable walk over a task's split.

    Position p of a finite split of n rows is row `order(p // n)[p % n]`, where each epoch's order is a permutation
    drawn from (seed, epoch); a generator's position is its index. So the walk's whole state is `position`.
    """

    def __init__(self, task: Task, split: str, *, tokenizer: Any, seed: int, max_tokens: int) -> None:
        self.task, self.split, self.tokenizer, self.seed = task, split, tokenizer, seed
        self.max_tokens = max_tokens
        self.rows = task.size(split)
        self.position = 0
        self.too_long = 0
        self._epoch: tuple[int, list[int]] = (-1, [])
        if self.rows == 0:
            raise DataError(message(f"{task.name}/{split} is empty", got="0 rows", expected="at least one",
                                    remedy="check the data"))

    def take(self, count: int) -> list[Prompt]:
        """The next `count` prompts; those over `max_tokens` are passed over and counted. DataError when all are."""
        # range first: zip takes from the left before it ends, and a prompt taken is a prompt gone.
        return [prompt for _, prompt in zip(range(count), self._walk(), strict=False)]

    def _walk(self) -> Iterator[Prompt]:
        skipped = 0
        while True:
            prompt = encode(self.task.example(self.split, self._row(self.position), seed=self.seed), self.tokenizer)
            if len(prompt.token_ids) <= self.max_tokens:
                skipped = 0
                self.position += 1
                yield prompt
                continue
            self.position += 1
            self.too_long, skipped = self.too_long + 1, skipped + 1
            if skipped >= min(self.rows or 1000, 1000):
                raise DataError(message("every prompt is too long",
                                        got=f"{len(prompt.token_ids)} tokens in the last one",
                                        expected=f"at most rollout.max_prompt_tokens={self.max_tokens}",
                                        remedy="raise rollout.max_prompt_tokens"))

    def _row(self, position: int) -> int:
        if self.rows is None:
            return position
        epoch, place = divmod(position, self.rows)
        if self._epoch[0] != epoch:
            order = list(range(self.rows))
            self._shuffler(epoch).shuffle(order)
            self._epoch = (epoch, order)
        return self._epoch[1][place]

    def _shuffler(self, epoch: int) -> random.Random:
        return row_random(self.task.name, self.split, self.seed, epoch, salt="order")
