"""Kinds of problem about a dictionary from names to scores."""

from __future__ import annotations

import random

from reasongym.tasks.code_synth.problem import Core, kind


@kind("mapping", level=1)
def keys_above(rng: random.Random) -> Core:
    k = rng.randint(-5, 20)
    return Core("list[str]", f"Return the keys whose score is greater than {k}, in alphabetical order.",
                f"return sorted(key for key, value in scores.items() if value > {k})")


@kind("mapping", level=1)
def initial_total(rng: random.Random) -> Core:
    letters = "".join(sorted(rng.sample("bcdfghjklmnprstvw", 6)))
    return Core("int", f"Return the sum of the scores whose key begins with one of the letters {', '.join(letters)}.",
                f'return sum(value for key, value in scores.items() if key[:1] and key[0] in "{letters}")')


@kind("mapping", level=2)
def remainder_counts(rng: random.Random) -> Core:
    k = rng.randint(2, 7)
    return Core("dict[str, int]", f"Return how many scores leave each remainder on division by {k} (never negative), "
                                  "the remainder written as a text; remainders that do not come are left out.",
                f"counts = {{}}\nfor value in scores.values():\n    key = str(value % {k})\n"
                "    counts[key] = counts.get(key, 0) + 1\nreturn counts")


@kind("mapping", level=2)
def top_keys(rng: random.Random) -> Core:
    k, low = rng.randint(2, 4), rng.random() < 0.5
    return Core("list[str]", f"Return the {k} keys with the {'lowest' if low else 'highest'} scores, that one first, "
                             "equal scores in alphabetical order of the keys; fewer where there are fewer.",
                f"return sorted(scores, key=lambda key: ({'' if low else '-'}scores[key], key))[:{k}]")


@kind("mapping", level=3)
def by_length(rng: random.Random) -> Core:
    k = rng.choice((0, 5, 10))
    return Core("dict[str, int]", "Group the keys by their length. Return for each length, written as a text, the "
                                  f"highest score of its keys, leaving out lengths whose highest is below {k}.",
                f"best = {{}}\nfor key, value in scores.items():\n    size = str(len(key))\n"
                "    best[size] = max(value, best.get(size, value))\n"
                f"return {{size: value for size, value in best.items() if value >= {k}}}")
