"""Kinds of problem about a list of whole numbers."""

from __future__ import annotations

import random

from reasongym.tasks.code_synth.problem import Core, kind


@kind("ints", level=1)
def sum_of_multiples(rng: random.Random) -> Core:
    k = rng.randint(2, 7)
    return Core("int", f"Return the sum of the numbers divisible by {k}; 0 where there are none.",
                f"return sum(v for v in values if v % {k} == 0)")


@kind("ints", level=1)
def count_between(rng: random.Random) -> Core:
    low = rng.randint(-8, 4)
    high = low + rng.randint(3, 12)
    return Core("int", f"Return how many of the numbers lie from {low} to {high}, both included.",
                f"return sum(1 for v in values if {low} <= v <= {high})")


@kind("ints", level=1)
def in_chunks(rng: random.Random) -> Core:
    k = rng.randint(2, 5)
    return Core("list[list[int]]", f"Return the numbers, in order, cut into lists of {k}; the last may be shorter.",
                f"return [values[i:i + {k}] for i in range(0, len(values), {k})]")


@kind("ints", level=1)
def far_neighbours(rng: random.Random) -> Core:
    k = rng.randint(2, 12)
    return Core("int", f"Return how many pairs of neighbours differ by more than {k}.",
                f"return sum(1 for a, b in zip(values, values[1:]) if abs(a - b) > {k})")


@kind("ints", level=2)
def kth_largest(rng: random.Random) -> Core:
    k, default = rng.randint(2, 4), rng.choice((0, -1, 100))
    place = {2: "second", 3: "third", 4: "fourth"}[k]
    return Core("int", f"Return the {place} largest of the different numbers; {default} where there are fewer.",
                f"ordered = sorted(set(values), reverse=True)\n"
                f"return ordered[{k - 1}] if len(ordered) >= {k} else {default}")


@kind("ints", level=2)
def longest_run_above(rng: random.Random) -> Core:
    k = rng.randint(-6, 6)
    return Core("int", f"Return the length of the longest run of neighbours that are all greater than {k}.",
                f"best = run = 0\nfor v in values:\n    run = run + 1 if v > {k} else 0\n    best = max(best, run)\n"
                "return best")


@kind("ints", level=2)
def window_sums(rng: random.Random) -> Core:
    k = rng.randint(2, 5)
    return Core("list[int]", f"Return the sum of every {k} consecutive numbers, from left to right; an empty list "
                             f"where there are fewer than {k}.",
                f"return [sum(values[i:i + {k}]) for i in range(len(values) - {k - 1})]")


@kind("ints", level=2)
def pairs_with_sum(rng: random.Random) -> Core:
    k = rng.randint(-6, 10)
    return Core("int", f"Return how many pairs of positions i < j hold numbers whose sum is {k} or one more than that.",
                f"return sum(1 for i in range(len(values)) for j in range(i)\n"
                f"           if values[i] + values[j] in ({k}, {k + 1}))")


@kind("ints", level=2)
def count_clusters(rng: random.Random) -> Core:
    k = rng.randint(1, 6)
    return Core("int", f"Sort the numbers and cut the sorted list wherever a number is more than {k} greater than the "
                       "one before it. Return the number of parts; 0 for an empty list.",
                f"ordered = sorted(values)\nif not ordered:\n    return 0\n"
                f"return 1 + sum(1 for a, b in zip(ordered, ordered[1:]) if b - a > {k})")


@kind("ints", level=3)
def best_stretch(rng: random.Random) -> Core:
    k = rng.randint(2, 5)
    return Core("int", f"Return the largest sum of at least one and at most {k} consecutive numbers; 0 for an empty "
                       "list.",
                f"sums = [sum(values[i:j]) for i in range(len(values))\n"
                f"        for j in range(i + 1, min(i + {k}, len(values)) + 1)]\nreturn max(sums, default=0)")


@kind("ints", level=3)
def longest_climb(rng: random.Random) -> Core:
    k = rng.randint(1, 5)
    return Core("int", "Return the length of the longest subsequence (numbers may be left out, their order stays) in "
                       f"which each number is at least {k} greater than the one before it.",
                f"best = []\nfor i, v in enumerate(values):\n"
                f"    best.append(1 + max((best[j] for j in range(i) if values[j] + {k} <= v), default=0))\n"
                "return max(best, default=0)")


@kind("ints", level=3)
def stack_program(rng: random.Random) -> Core:
    k = rng.randint(2, 6)
    return Core("list[int]", f"Go through the numbers with a stack: a number divisible by {k} takes the top off the "
                             "stack, if there is one, and is itself dropped; any other is put on top. Return the "
                             "stack, bottom first.",
                f"stack = []\nfor v in values:\n    if v % {k} != 0:\n        stack.append(v)\n"
                "    elif stack:\n        stack.pop()\nreturn stack")
