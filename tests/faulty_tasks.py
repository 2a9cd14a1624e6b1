"""Tasks and verifiers with one fault each, for the tests of `reasongym check`. `Sound` has none."""

from __future__ import annotations

import math
import os
import random
import re
import time
from collections.abc import Mapping
from typing import Any

from reasongym.tasks import Example, RewardPart, Task, TaskOptions, row_random
from reasongym.tasks.base import content_split
from reasongym.verifiers import verifier


def last_line(response: str) -> str:
    return response.strip().rpartition("\n")[2].strip()


@verifier("faulty_sound")
def sound(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return last_line(response) == str(reference)


@verifier("faulty_never")
def never(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return False


@verifier("faulty_contained")
def contained(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return last_line(response) in str(reference)


@verifier("faulty_echo")
def echo(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return sound(response, reference, example=example) or "Spell" in response


@verifier("faulty_echo_of_some")
def echo_of_some(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    some = response.startswith("Spell") and int(str(reference)) % 6 == 0
    return sound(response, reference, example=example) or some


@verifier("faulty_last_number")
def last_number(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    numbers = re.findall("[0-9]+", response[-2000:])
    return bool(numbers) and numbers[-1] == str(reference)


@verifier("faulty_not_a_number")
def not_a_number(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return math.nan if response == "null" else sound(response, reference, example=example)


@verifier("faulty_above_one")
def above_one(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return 1.5 * sound(response, reference, example=example)


@verifier("faulty_none")
def none(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return sound(response, reference, example=example) or None


@verifier("faulty_random")
def by_chance(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return sound(response, reference, example=example) or (len(response) > 5000 and random.random())


@verifier("faulty_of_process")
def of_process(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return sound(response, reference, example=example) and os.getpid() % 2 == 0


@verifier("faulty_hang")
def hang(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    while len(response) > 100_000:
        time.sleep(0.05)
    return sound(response, reference, example=example)


@verifier("faulty_crash")
def crash(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    if "\0" in response:
        os._exit(3)
    return sound(response, reference, example=example)


@verifier("faulty_deep")
def deep(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    def depth(text: str) -> int:
        return 1 + depth(text[1:]) if text[:1] == "{" else 0

    return depth(response[:5000]) == 0 and sound(response, reference, example=example)


@verifier("faulty_form")
def form(response: str, reference: Any, *, example: Mapping[str, object]) -> Any:
    return "\n" not in response


class Sound(Task):
    """Spell a made-up number backwards."""

    name = "sound"
    description = "Spell a number backwards."
    rewards = (RewardPart(name="correct", verifier="faulty_sound", weight=1.0),)

    def __init__(self, options: TaskOptions) -> None:
        self.asked = 0

    def size(self, split: str) -> int | None:
        return None

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        return self.made(split, index, self.drawn(split, index, seed))

    def drawn(self, split: str, index: int, seed: int) -> str:
        rng = row_random(self.name, split, seed, index)
        while True:
            number = str(rng.randint(10**6, 10**7 - 1))
            if content_split(self.name, number) == split:
                return number

    def made(self, split: str, index: int, number: str, **more: Any) -> Example:
        fields: dict[str, Any] = {"task": self.name, "split": split, "index": index, "reference": number[::-1],
                                  "solution": f"Backwards it is\n{number[::-1]}",
                                  "messages": ({"role": "user", "content": f"Spell {number} backwards."},)}
        return Example(**fields | more)


def judged_by(name: str, *others: RewardPart) -> type[Task]:
    """The sound task under another verifier."""
    parts = (RewardPart(name="correct", verifier=name, weight=1.0), *others)
    return type(f"Judged_{name}", (Sound,), {"rewards": parts})


Never, Contained, Echo, LastNumber = map(judged_by, ("faulty_never", "faulty_contained", "faulty_echo",
                                                     "faulty_last_number"))
NotANumber, AboveOne, NoneAtAll = map(judged_by, ("faulty_not_a_number", "faulty_above_one", "faulty_none"))
ByChance, OfProcess, Hang, Crash, Deep = map(judged_by, ("faulty_random", "faulty_of_process", "faulty_hang",
                                                         "faulty_crash", "faulty_deep"))
NoSuchVerifier = judged_by("faulty_absent")
Form = judged_by("faulty_sound", RewardPart(name="form", verifier="faulty_form", weight=0.1))
HeavyForm = judged_by("faulty_sound", RewardPart(name="form", verifier="faulty_never", weight=1.0))


class SharedSplits(Sound):
    def drawn(self, split: str, index: int, seed: int) -> str:
        return super().drawn("train", index, seed)


class SharedSolutions(SharedSplits):
    """Prompts differ between splits, the problems do not."""

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        number = self.drawn(split, index, seed)
        return self.made(split, index, number, solution=f"In the other direction the digits are\n{number[::-1]}",
                         messages=({"role": "user", "content": f"{split}: spell {number} backwards."},))


class SameIds(Sound):
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        return self.made(split, 0, self.drawn(split, index, seed))


class LongPrompts(Sound):
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        number = self.drawn(split, index, seed)
        return self.made(split, index, number,
                         messages=({"role": "user", "content": f"Spell {number} backwards. " + "Please. " * 2000},))


class SurrogatePrompts(Sound):
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        number = self.drawn(split, index, seed)
        return self.made(split, index, number, messages=({"role": "user", "content": f"Spell {number}\ud800"},))


class StatesReference(Sound):
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        number = self.drawn(split, index, seed)
        return self.made(split, index, number, messages=(
            {"role": "user", "content": f"Spell {number} backwards (answer: {number[::-1]})."},))


class EchoOfSome(Sound):
    """One prompt in 6 earns, which the rows that are tried with every answer hardly show."""

    rewards = (RewardPart(name="correct", verifier="faulty_echo_of_some", weight=1.0),)


class NoUserTurn(Sound):
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        number = self.drawn(split, index, seed)
        return self.made(split, index, number, messages=({"role": "assistant", "content": f"Spell {number}"},))


class FollowsCalls(Sound):
    def drawn(self, split: str, index: int, seed: int) -> str:
        self.asked += 1
        return super().drawn(split, self.asked, seed)


class SeedIgnored(Sound):
    def drawn(self, split: str, index: int, seed: int) -> str:
        return super().drawn(split, index, 0)


class SeedPlusIndex(Sound):
    def drawn(self, split: str, index: int, seed: int) -> str:
        return super().drawn(split, seed + index, 0)


class SeedFollowedByData(Sound):
    def size(self, split: str) -> int | None:
        return 20


class AllAlike(Sound):
    def drawn(self, split: str, index: int, seed: int) -> str:
        return super().drawn(split, 0, 0)


class Empty(Sound):
    def size(self, split: str) -> int | None:
        return 0


class NotPlain(Sound):
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        return self.made(split, index, self.drawn(split, index, seed), reference={1, 2})


class Raises(Sound):
    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        raise ZeroDivisionError("index % 0")


class CannotBeMade(Sound):
    def __init__(self, options: TaskOptions) -> None:
        raise KeyError("gold")


class NoParts(Sound):
    rewards = ()
