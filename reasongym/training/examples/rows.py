"""What a row of pairs, labels or solutions holds, and what is wrong with one that does not.

    pairs      {"prompt", "chosen", "rejected"}
    labels     {"prompt", "completion", "label"}      label: true or false
    solutions  {"prompt", "completion"}

`prompt` is text, which becomes one user turn, or chat messages; an answer is text. A row that was made of a run's
answers holds token ids as well, all of these or none: `prompt_token_ids`, `<answer>_token_ids` of each answer, and
`tokenizer`, a fingerprint of what the ids mean. Beside them may stand `<answer>_mask` (absent: every token is
trainable) and `<answer>_ended` (false: cut off before its end). Other keys are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from reasongym.errors import DataError, message, nearest
from reasongym.tasks import Message

__all__ = ["ANSWERS", "Answer", "ExampleKind", "ExampleRow", "columns_of", "read_row"]

ExampleKind = Literal["pairs", "labels", "solutions"]

ANSWERS: Mapping[ExampleKind, tuple[str, ...]] = {
    "pairs": ("chosen", "rejected"), "labels": ("completion",), "solutions": ("completion",)}
"""The keys of a row's answers."""


class Answer(NamedTuple):
    """An answer; token_ids and mask where it was sampled. ended: False where it was cut off."""

    text: str
    token_ids: tuple[int, ...] = ()
    mask: tuple[bool, ...] = ()
    ended: bool = True


class ExampleRow(NamedTuple):
    """A checked row. messages: None where there are ids only. tokenizer: what the ids are of, None without any."""

    messages: tuple[Message, ...] | None
    answers: tuple[Answer, ...]
    desirable: bool = False
    prompt_ids: tuple[int, ...] = ()
    tokenizer: str | None = None


def columns_of(kind: ExampleKind) -> list[str]:
    """Every key that a row of this kind may have."""
    answers = [f"{answer}{part}" for answer in ANSWERS[kind] for part in ("", "_token_ids", "_mask", "_ended")]
    return ["prompt", *answers, *(["label"] if kind == "labels" else []), "prompt_token_ids", "tokenizer"]


def read_row(value: object, place: str, kind: ExampleKind) -> ExampleRow:
    """The checked row. place: where it stands, for messages. Raises DataError."""
    if not isinstance(value, dict):
        raise _wrong(place, "is not an object", got=value, expected=_form(kind))
    row = {str(key): item for key, item in value.items() if item is not None}  # Parquet has null for what is not there
    required = [*ANSWERS[kind], *(["label"] if kind == "labels" else []),
                *(["prompt"] if "prompt_token_ids" not in row else [])]
    for key in required:
        if key not in row:
            raise _wrong(place, f"has no {key!r}.{nearest(key, row)}", got=f"keys {', '.join(row) or 'none'}",
                         expected=_form(kind))
    label = row.get("label", False)
    if not isinstance(label, bool):
        raise _wrong(place, "has a label that is not true or false", got=label, expected="true or false")
    tokenizer = _tokenizer(row, place, kind)
    answers = tuple(_answer(row, key, place, sampled=tokenizer is not None) for key in ANSWERS[kind])
    if kind == "pairs" and _same(*answers):
        raise _wrong(place, "has the same answer as chosen and as rejected", got=answers[0].text,
                     expected="two that differ")
    return ExampleRow(messages=_messages(row["prompt"], place) if "prompt" in row else None, answers=answers,
                      desirable=label, tokenizer=tokenizer,
                      prompt_ids=_ids(row, "prompt_token_ids", place) if tokenizer is not None else ())


def _form(kind: ExampleKind) -> str:
    label = ', "label": true or false' if kind == "labels" else ""
    return '{"prompt": text or messages, ' + ", ".join(f'"{name}": text' for name in ANSWERS[kind]) + label + "}"


def _same(first: Answer, second: Answer) -> bool:
    return first.token_ids == second.token_ids if first.token_ids and second.token_ids else first.text == second.text


def _tokenizer(row: Mapping[str, object], place: str, kind: ExampleKind) -> str | None:
    """The fingerprint of a row with token ids. Raises DataError where a part of what ids need is missing."""
    needed = ["prompt_token_ids", *(f"{answer}_token_ids" for answer in ANSWERS[kind]), "tokenizer"]
    there = [key for key in needed if key in row]
    if not there:
        return None
    missing = [key for key in needed if key not in row]
    if missing or not isinstance(row["tokenizer"], str):
        raise _wrong(place, "has token ids that cannot be read", got=f"{', '.join(there)} without "
                     f"{', '.join(missing) or 'a text as tokenizer'}", expected="all of them, or text alone")
    return str(row["tokenizer"])


def _messages(prompt: object, place: str) -> tuple[Message, ...]:
    if isinstance(prompt, str) and prompt.strip():
        _check_encodable(prompt, place)
        return (Message(role="user", content=prompt),)
    if not isinstance(prompt, list) or not prompt:
        raise _wrong(place, "has no prompt to answer", got=prompt, expected="text, or a list of chat messages")
    turns = [_turn(turn, place) for turn in prompt]
    if turns[-1]["role"] == "assistant":
        raise _wrong(place, "has a prompt that ends with the assistant's turn", got=turns[-1],
                     expected="a prompt that ends where the answer begins")
    return tuple(turns)


def _turn(turn: object, place: str) -> Message:
    if isinstance(turn, dict):
        role, content = turn.get("role"), turn.get("content")
        if isinstance(role, str) and isinstance(content, str) and role:
            _check_encodable(content, place)
            return Message(role=role, content=content)
    raise _wrong(place, "has a message that is none", got=turn, expected='{"role": text, "content": text}')


def _answer(row: Mapping[str, object], key: str, place: str, *, sampled: bool) -> Answer:
    text, ended = row[key], row.get(f"{key}_ended", True)
    if not isinstance(text, str):
        raise _wrong(place, f"has a {key!r} that is not text", got=text, expected="text")
    _check_encodable(text, place)
    if not text.strip() and not sampled:  # a policy may well end its turn at once; a file that says so is a mistake
        raise _wrong(place, f"has an empty {key!r}", got=text, expected="an answer")
    if not isinstance(ended, bool):
        raise _wrong(place, f"has a {key}_ended that is not true or false", got=ended, expected="true or false")
    if not sampled:
        return Answer(text=text, ended=ended)
    ids = _ids(row, f"{key}_token_ids", place)
    mask = row.get(f"{key}_mask", [True] * len(ids))
    if not isinstance(mask, list) or len(mask) != len(ids) or not all(isinstance(kept, bool) for kept in mask):
        raise _wrong(place, f"has a {key}_mask that does not fit", got=mask,
                     expected=f"true or false for each of {len(ids)} tokens")
    if not any(mask):
        raise _wrong(place, f"has a {key}_mask without a trainable token", got="false throughout",
                     expected="at least one true")
    return Answer(text, ids, tuple(mask), ended)


def _check_encodable(text: str, place: str) -> None:
    """JSON can spell half a character, such as "\\ud83d", which no tokenizer reads."""
    if not text.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise _wrong(place, "has half a character", got=ascii(text), expected="text that UTF-8 can hold")


def _ids(row: Mapping[str, object], key: str, place: str) -> tuple[int, ...]:
    ids = row[key]
    if isinstance(ids, list) and ids and all(type(token) is int and token >= 0 for token in ids):  # True is an int, too
        return tuple(ids)
    raise _wrong(place, f"has {key} that are none", got=ids, expected="a list of whole numbers, at least one")


def _wrong(place: str, what: str, *, got: object, expected: str) -> DataError:
    shown = got if isinstance(got, str) else repr(got)
    return DataError(message(f"{place} {what}", got=shown if len(shown) <= 160 else f"{shown[:160]}...",
                             expected=expected, remedy="correct the row, or leave it out"))
