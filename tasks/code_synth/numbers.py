"""Kinds of problem about one whole number, n >= 0."""

from __future__ import annotations

import random

from reasongym.tasks.code_synth.problem import Core, kind


@kind("number", level=1)
def digit_powers(rng: random.Random) -> Core:
    p = rng.randint(1, 4)
    power = ("themselves", "squares", "cubes", "fourth powers")[p - 1]
    says = "Return the sum of the decimal digits of n." if p == 1 else \
        f"Return the sum of the {power} of the decimal digits of n."
    return Core("int", says, f"return sum(int(digit) ** {p} for digit in str(n))")


@kind("number", level=1)
def large_divisors(rng: random.Random) -> Core:
    k = rng.randint(1, 8)
    return Core("int", f"Return how many divisors of n are greater than {k}; 0 where n is 0.",
                f"return sum(1 for d in range({k + 1}, n + 1) if n % d == 0)")


@kind("number", level=1)
def sorted_digits(rng: random.Random) -> Core:
    down = rng.random() < 0.5
    k = rng.randint(0, 9)
    return Core("str", f"Return the decimal digits of n that differ from {k}, sorted from "
                       f"{'largest to smallest' if down else 'smallest to largest'}, as one text.",
                f'return "".join(sorted((d for d in str(n) if d != "{k}"), reverse={down}))')


@kind("number", level=2)
def in_base(rng: random.Random) -> Core:
    b = rng.randint(2, 9)
    return Core("str", f"Return n written in base {b}; the text 0 where n is 0.",
                f'digits = ""\nwhile n:\n    n, digit = divmod(n, {b})\n    digits = str(digit) + digits\n'
                'return digits or "0"')


@kind("number", level=2)
def halving_steps(rng: random.Random) -> Core:
    m, a, cap = rng.choice((3, 5)), rng.choice((1, 3, 5, 7)), rng.randint(20, 60)
    return Core("int", f"Count the moves until n is at most 1: halve n where it is even, else replace it by {m} * n + "
                       f"{a}. Return the count, or {cap} where it takes that many or more.",
                f"moves = 0\nwhile n > 1 and moves < {cap}:\n    n = n // 2 if n % 2 == 0 else {m} * n + {a}\n"
                "    moves += 1\nreturn moves")


@kind("number", level=2)
def primes_with_digit(rng: random.Random) -> Core:
    r = rng.choice((1, 3, 7, 9))
    return Core("int", f"Return how many prime numbers up to and including n end in the digit {r}.",
                f"return sum(1 for p in range(2, n + 1) if p % 10 == {r}\n"
                "           and all(p % d for d in range(2, int(p ** 0.5) + 1)))")


@kind("number", level=3)
def fewest_coins(rng: random.Random) -> Core:
    coins = sorted(rng.sample(range(2, 13), 3))
    return Core("int", f"Return the fewest coins of {coins[0]}, {coins[1]} and {coins[2]}, each as often as needed, "
                       "that make exactly n; -1 where none do.",
                f"best = [0] + [-1] * n\nfor amount in range(1, n + 1):\n"
                f"    found = [best[amount - c] for c in {coins} if c <= amount and best[amount - c] >= 0]\n"
                "    if found:\n        best[amount] = 1 + min(found)\nreturn best[n]")


@kind("number", level=3)
def staircase_ways(rng: random.Random) -> Core:
    sizes = sorted(rng.sample(range(1, 7), rng.randint(2, 3)))
    m = rng.choice((997, 1009, 1013))
    listed = ", ".join(map(str, sizes[:-1])) + f" or {sizes[-1]}"
    return Core("int", f"Return in how many ways a staircase of n steps is climbed in strides of {listed} steps, where "
                       f"the order counts, modulo {m}; 1 where n is 0.",
                f"ways = [1] + [0] * n\nfor i in range(1, n + 1):\n"
                f"    ways[i] = sum(ways[i - s] for s in {sizes} if s <= i) % {m}\nreturn ways[n]")
