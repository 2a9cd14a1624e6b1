"""Arguments to try a function with: the edges of its type first, then drawn ones."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

from reasongym.tasks.code_synth.problem import Shape

__all__ = ["draw_inputs"]

_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we")


def draw_inputs(shape: Shape, rng: random.Random, num_drawn: int) -> list[object]:
    """Edges, then `num_drawn` arguments; no two are equal."""
    found: list[object] = []
    for value in [*_EDGES[shape], *(_DRAWERS[shape](rng) for _ in range(num_drawn))]:
        if value not in found:
            found.append(value)
    return found


def _number(rng: random.Random) -> int:
    return rng.choice((rng.randint(2, 30), rng.randint(30, 300), rng.randint(300, 2000)))


def _ints(rng: random.Random) -> list[int]:
    bound = rng.choice((5, 20, 60))
    values = [rng.randint(-bound, bound) for _ in range(rng.randint(3, 14))]
    return sorted(values) if rng.random() < 0.15 else values


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(1, 3))) + rng.choice(("", "n", "s", "t", ""))


def _words(rng: random.Random) -> list[str]:
    drawn = [_word(rng) for _ in range(rng.randint(2, 9))]
    return drawn + rng.choices(drawn, k=rng.randint(0, 2))


def _text(rng: random.Random) -> str:
    if rng.random() < 0.25:
        return "".join(rng.choices("aabbcdxyz", k=rng.randint(4, 16)))
    if rng.random() < 0.2:
        half = "".join(rng.choices("abcde", k=rng.randint(2, 5)))
        return half + rng.choice(("", "x")) + half[::-1]
    words = [rng.choice((str.lower, str.capitalize, str.upper))(_word(rng)) for _ in range(rng.randint(2, 7))]
    return rng.choice((" ", " ", ", ", "  ", "-")).join(words) + rng.choice(("", ".", "!", " 42", "?"))


def _mapping(rng: random.Random) -> dict[str, int]:
    return {_word(rng): rng.randint(-20, 40) for _ in range(rng.randint(2, 9))}


def _grid(rng: random.Random) -> list[list[int]]:
    width = rng.randint(1, 6)
    return [[rng.randint(-3, 9) for _ in range(width)] for _ in range(rng.randint(1, 6))]


_EDGES: dict[Shape, list[object]] = {
    "number": [0, 1, 2, 10, 97, 1000],
    "ints": [[], [0], [7], [-5, -5], [3, 3, 3, 3], list(range(12)), [9, 7, 5, 3, 1, -1]],
    "text": ["", "a", " ", "Z", "aaa", "Hello, World!", string.ascii_lowercase, "No lemon, no melon"],
    "words": [[], ["a"], ["same", "same"], ["", "x"], ["Bob", "bob", "BOB"]],
    "mapping": [{}, {"a": 0}, {"b": 5, "a": 5}, {"x": -1, "y": 1}],
    "grid": [[], [[0]], [[4]], [[1, 2, 3]], [[1], [2], [3]], [[5, 5], [5, 5]]],
}
_DRAWERS: dict[Shape, Callable[[random.Random], object]] = {
    "number": _number, "ints": _ints, "text": _text, "words": _words, "mapping": _mapping, "grid": _grid}
