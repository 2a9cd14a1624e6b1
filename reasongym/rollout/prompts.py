"""From examples to token ids through the model's chat template, once; and the walk over a split's prompts."""

from __future__ import annotations

from typing import Any

from reasongym.errors import DataError, ModelError, message
from reasongym.records import Prompt
from reasongym.rollout.walk import Walk
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
