"""From chat messages and text to the token ids that the model would read and write."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from reasongym.errors import DataError, ModelError, message
from reasongym.records import Prompt
from reasongym.rollout.prompts import encode
from reasongym.tasks import Example, Message

__all__ = ["Encoder", "tokenizer_fingerprint"]

MARK = "reasongym"  # an answer that no template takes apart or trims


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Equal where every token id means the same token: a digest of the vocabulary, added tokens included."""
    return hashlib.sha256(json.dumps(tokenizer.get_vocab(), sort_keys=True).encode()).hexdigest()[:32]


class Encoder:
    """Encodes as the engine does: prompts through the chat template, answers behind them up to the end of the turn.

    end_ids: what the template puts behind an assistant's words, up to its first special token. A tokenizer's
    `eos_token` may be another one: that of a base model, after which no engine would stop.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.fingerprint = tokenizer_fingerprint(tokenizer)
        self.vocabulary = len(tokenizer)
        self._rendered: set[tuple[str, ...]] = set()
        self.end_ids = self._end_of_turn()
        self.end_token: str = tokenizer.convert_ids_to_tokens(self.end_ids[-1])

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """The prompt, ready to be answered. Raises ModelError without a chat template."""
        return encode(Example(task="file", split="", index=0, messages=tuple(messages), reference=None),
                      self._tokenizer)

    def answer(self, prompt: Prompt, text: str, *, ended: bool) -> tuple[int, ...]:
        """The answer's ids behind the prompt, with the end of the turn where it `ended`; one that the text spells out
        at its end is not doubled."""
        body = text.rstrip().removesuffix(self.end_token) if text.rstrip().endswith(self.end_token) else text
        joined, start = self._ids(prompt.text + body), len(prompt.token_ids)
        # Encoded alone, some tokenizers would put a space before it; joined, its first letters may melt into the
        # prompt's last token, where sampling never puts them.
        fits = tuple(joined[:start]) == prompt.token_ids
        return (*(joined[start:] if fits else self._ids(body)), *(self.end_ids if ended else ()))

    def check_messages(self, messages: Sequence[Message], place: str) -> None:
        """Raises DataError where the chat template does not take such turns (tried once for each order of roles)."""
        roles = tuple(turn["role"] for turn in messages)
        if roles in self._rendered:
            return
        try:
            self.prompt(messages)
        except ModelError:
            raise
        except Exception as error:  # a template is a program that came with the model, and may raise anything
            raise DataError(message(f"{place} has turns that the model's chat template does not take",
                                    got=f"{', '.join(roles)}: {error}", expected="turns that it takes",
                                    remedy="correct the row, or choose another model")) from error
        self._rendered.add(roles)

    def check_text(self, text: str, place: str) -> None:
        """Raises DataError where the end of the turn stands within an answer: nobody would read on after it."""
        if self.end_token in text.rstrip().removesuffix(self.end_token):
            raise DataError(message(f"{place} has {self.end_token} within an answer", got=text[:160],
                                    expected="the end of the turn at the end, or left out: it is added",
                                    remedy="keep what stands before it"))

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _end_of_turn(self) -> tuple[int, ...]:
        turns = (Message(role="user", content="?"), Message(role="assistant", content=MARK))
        self.prompt(turns[:1])  # the error of a tokenizer without a chat template
        text: str = self._tokenizer.apply_chat_template(list(turns), tokenize=False)
        tail = text[text.rindex(MARK) + len(MARK):] if MARK in text else ""
        ids = self._ids(tail)
        special = {number for number, token in self._tokenizer.added_tokens_decoder.items() if token.special}
        ends = [place for place, number in enumerate(ids, start=1)
                if number in special or number in self._tokenizer.all_special_ids]
        if not ends:
            raise ModelError(message("the chat template puts no special token behind an answer", got=repr(tail),
                                     expected="a token that ends the assistant's turn",
                                     remedy="choose an -Instruct model: trained without one, it would never stop"))
        return tuple(ids[:ends[0]])
