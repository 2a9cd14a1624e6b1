"""From a task's rows to what a model is asked: a system prompt, solved rows before the question, the chat template."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from reasongym.errors import ConfigError, DataError, ModelError, message
from reasongym.evaluation.fingerprints import digest_of
from reasongym.records import Prompt
from reasongym.tasks import Example, Task, row_random
from reasongym.tasks.base import Message

__all__ = [
    "Template",
    "Thinking",
    "asked",
    "draw_shots",
    "encode",
    "prompts_digest",
    "rows_digest",
    "short_prompts",
    "template_of",
    "unencoded",
]

Thinking = Literal["auto", "on", "off"]
SWITCH = "enable_thinking"
"""The variable that chat templates of models with two modes read."""


class Template(NamedTuple):
    """A chat template's text, and its SHA-256."""

    text: str
    hash: str


def draw_shots(task: Task, split: str, count: int, *, seed: int) -> list[Example]:
    """`count` rows of the train split with their solutions, the same before every question.

    Raises ConfigError where that is the split evaluated, or where the task has no such rows.
    """
    if not count:
        return []
    if split == "train" or "train" not in task.splits:
        raise ConfigError(message(f"--shots shows rows of the split train, which {task.name} cannot spare",
                                  got=f"splits {', '.join(task.splits)}, evaluated on {split}",
                                  expected="a train split that is not evaluated",
                                  remedy="leave it out; some tasks show problems of their own: --set shots=N"))
    if not task.takes_shots:
        raise ConfigError(message(f"--shots would come before rows that {task.name} shows by itself",
                                  got=f"--shots {count}", expected="its own setting in their place",
                                  remedy=f"leave it out, and take --set shots={count}"))
    shown: list[Example] = []
    size = task.size("train")
    order = range(1000) if size is None else range(size)
    rows = iter(row_random(task.name, "train", seed, 0, salt="shots").sample(order, k=min(len(order), 20 * count)))
    while len(shown) < count:
        index = next(rows, None)
        if index is None:
            raise ConfigError(message(f"--shots needs solved rows, and {task.name} has too few",
                                      got=f"{len(shown)} rows with a solution", expected=count,
                                      remedy="lower --shots, or leave it out"))
        example = task.example("train", index, seed=seed)
        if any(turn["role"] == "assistant" for turn in example.messages):
            raise ConfigError(message(f"--shots would come before problems that {task.name} shows by itself",
                                      got=f"{len(example.messages)} turns in a prompt", expected="the question alone",
                                      remedy="leave out --shots"))
        if example.solution:
            shown.append(example)
    return shown


def asked(example: Example, *, system: str | None, shots: Sequence[Example]) -> Example:
    """The row with `system` in place of its system prompt, and each of `shots` as a question and its answer."""
    own = [turn for turn in example.messages if turn["role"] == "system"]
    rest = [turn for turn in example.messages if turn["role"] != "system"]
    first = own if system is None else [Message(role="system", content=system)]
    shown = [turn for shot in shots
             for turn in (*(one for one in shot.messages if one["role"] != "system"),
                          Message(role="assistant", content=shot.solution or ""))]
    return replace(example, messages=(*first, *shown, *rest))


def template_of(tokenizer: Any, thinking: Thinking) -> Template:
    """The tokenizer's chat template. Raises ModelError where there is none, ConfigError where it knows no switch."""
    template = _template(tokenizer)
    text = template if isinstance(template, str) else json.dumps(template, sort_keys=True)
    if thinking != "auto" and SWITCH not in text:
        raise ConfigError(message("the chat template has no switch for thinking", got=f"--thinking {thinking}",
                                  expected=f"a template that reads {SWITCH}", remedy="leave out --thinking"))
    return Template(text, digest_of(text))


def encode(example: Example, tokenizer: Any, *, thinking: Thinking = "auto") -> Prompt:
    """The one way from messages to token ids, of training and of evaluation: the chat template's text, ready to be
    answered, with the special tokens that the template writes and no others (a tokenizer's own would double the first).

    Raises ModelError where there is no template, for a guessed format would train nonsense; and whatever a template
    raises, which is a program of the model's.
    """
    _template(tokenizer)
    switch = {} if thinking == "auto" else {SWITCH: thinking == "on"}
    text = tokenizer.apply_chat_template(list(example.messages), tokenize=False, add_generation_prompt=True, **switch)
    return Prompt(example=example, token_ids=tuple(tokenizer(text, add_special_tokens=False)["input_ids"]), text=text)


def short_prompts(examples: Sequence[Example], tokenizer: Any, thinking: Thinking, *, limit: int) -> list[Prompt]:
    """Those of at most `limit` tokens, in order. Raises DataError where none is, ModelError where the template refuses
    the messages."""
    prompts = [_encode_asked(example, tokenizer, thinking) for example in examples]
    short = [prompt for prompt in prompts if len(prompt.token_ids) <= limit]
    if not short:
        raise DataError(message("every prompt is too long",
                                got=f"{min(len(prompt.token_ids) for prompt in prompts)} tokens in the shortest",
                                expected=f"at most --max-prompt-tokens {limit}", remedy="raise --max-prompt-tokens"))
    return short


def _template(tokenizer: Any) -> Any:
    template = getattr(tokenizer, "chat_template", None)
    if not template:
        raise ModelError(message("the model's tokenizer has no chat template", got=tokenizer.name_or_path,
                                 expected="an instruction-tuned model", remedy="choose an -Instruct model"))
    return template


def _encode_asked(example: Example, tokenizer: Any, thinking: Thinking) -> Prompt:
    try:
        return encode(example, tokenizer, thinking=thinking)
    except ModelError:
        raise
    except Exception as error:  # boundary: a template is a program of the model's, and raises what it likes
        roles = dict.fromkeys(turn["role"] for turn in example.messages)
        raise ModelError(message("the chat template does not take the messages",
                                 got=f"{type(error).__name__}: {error}"[:200], expected=f"roles {', '.join(roles)}",
                                 remedy="leave out --system or --shots")) from error


def unencoded(example: Example, api: Literal["chat", "completions"]) -> Prompt:
    """For an endpoint, which encodes by itself. text: the turns' contents with blank lines between them for
    completions; for a chat the same with each turn's role above, to be read."""
    turns = [turn["content"] if api == "completions" else f"[{turn['role']}]\n{turn['content']}"
             for turn in example.messages]
    return Prompt(example=example, token_ids=(), text="\n\n".join(turns))


def rows_digest(examples: Sequence[Example]) -> str:
    """Of what the task gives: messages and references, in order. Raises DataError without rows."""
    if not examples:
        raise DataError(message("there is nothing to evaluate", got="0 rows", expected="one or more",
                                remedy="check --split and --limit"))
    return digest_of([[example.id, [dict(turn) for turn in example.messages], example.reference]
                      for example in examples])


def prompts_digest(prompts: Sequence[Prompt]) -> str:
    """Of what is sent, in order."""
    return digest_of([prompt.token_ids or [dict(turn) for turn in prompt.example.messages] for prompt in prompts])
