"""Kinds of problem about a text, and about a list of words."""

from __future__ import annotations

import random

from reasongym.tasks.code_synth.problem import Core, kind


@kind("text", level=1)
def count_letters(rng: random.Random) -> Core:
    letters = "".join(sorted(rng.sample("abcdehilmnorstu", 3)))
    a, b, c = tuple(letters)
    return Core("int", f"Return how many characters of the text are {a}, {b} or {c}, in either case.",
                f'return sum(1 for c in text.lower() if c in "{letters}")')


@kind("text", level=1)
def long_words(rng: random.Random) -> Core:
    k = rng.randint(2, 6)
    return Core("int", f"The words of the text are what stands between white space. Return how many have more than {k} "
                       "characters.",
                f"return sum(1 for word in text.split() if len(word) > {k})")


@kind("text", level=1)
def every_other(rng: random.Random) -> Core:
    k, start = rng.randint(2, 4), rng.randint(0, 1)
    return Core("str", f"Return the characters at positions {start}, {start + k}, {start + 2 * k} and so on, in upper "
                       "case.", f"return text[{start}::{k}].upper()")


@kind("text", level=2)
def shift_letters(rng: random.Random) -> Core:
    k = rng.randint(1, 25)
    return Core("str", f"Replace every letter from a to z and A to Z by the one {k} places further in the alphabet, "
                       "from z on to a, keeping its case; leave other characters. Return the text.",
                f'out = []\nfor c in text:\n    if "a" <= c <= "z" or "A" <= c <= "Z":\n'
                f'        base = ord("a") if c >= "a" else ord("A")\n'
                f"        c = chr((ord(c) - base + {k}) % 26 + base)\n    out.append(c)\n" 'return "".join(out)')


@kind("text", level=2)
def run_lengths(rng: random.Random) -> Core:
    sign, least = rng.choice("*:#="), rng.randint(1, 3)
    only = "" if least == 1 else f" A run of fewer than {least} is left out."
    return Core("str", f"Replace every run of equal characters by the character, {sign!r} and the length of the run, "
                       f"and return the text.{only}",
                f'out, i = "", 0\nwhile i < len(text):\n    j = i\n    while j < len(text) and text[j] == text[i]:\n'
                f'        j += 1\n    if j - i >= {least}:\n        out += f"{{text[i]}}{sign}{{j - i}}"\n    i = j\n'
                "return out")


@kind("text", level=2)
def almost_palindrome(rng: random.Random) -> Core:
    k = rng.randint(0, 3)
    return Core("bool", "Look at the letters and digits of the text alone, in lower case. Return whether at most "
                        f"{k} of the pairs (first and last, second and last but one, and so on) differ.",
                f"kept = [c for c in text.lower() if c.isalnum()]\n"
                f"return sum(1 for i in range(len(kept) // 2) if kept[i] != kept[-1 - i]) <= {k}")


@kind("text", level=3)
def distinct_stretch(rng: random.Random) -> Core:
    k = rng.randint(1, 3)
    often = {1: "once", 2: "twice", 3: "three times"}[k]
    return Core("int", f"Return the length of the longest part of the text in which no character comes more than "
                       f"{often}.",
                f"best = start = 0\nfor end in range(len(text)):\n"
                f"    while text[start:end + 1].count(text[end]) > {k}:\n        start += 1\n"
                "    best = max(best, end - start + 1)\nreturn best")


@kind("text", level=3)
def most_common(rng: random.Random) -> Core:
    left_out, k = "".join(sorted(rng.sample("aeiotns", 2))), rng.randint(2, 3)
    return Core("str", f"Count the letters of the text in lower case, leaving out {left_out[0]} and {left_out[1]}. "
                       f"Return the {k} most common as one text, the commonest first, equally common ones in "
                       "alphabetical order; fewer where there are fewer.",
                f'letters = [c for c in text.lower() if "a" <= c <= "z" and c not in "{left_out}"]\n'
                f"ordered = sorted(set(letters), key=lambda c: (-letters.count(c), c))\n"
                f'return "".join(ordered[:{k}])')


@kind("words", level=1)
def short_words(rng: random.Random) -> Core:
    k = rng.randint(3, 6)
    return Core("list[str]", f"Return the words of at most {k} letters in alphabetical order (as Python sorts), each "
                             "as often as it comes.", f"return sorted(word for word in words if len(word) <= {k})")


@kind("words", level=1)
def joined_words(rng: random.Random) -> Core:
    sign, k = rng.choice(("-", "/", "+", "_")), rng.randint(1, 3)
    return Core("str", f"Return the first {k} characters of every word, joined by {sign!r}.",
                f'return "{sign}".join(word[:{k}] for word in words)')


@kind("words", level=2)
def first_letters(rng: random.Random) -> Core:
    k = rng.randint(1, 4)
    return Core("dict[str, int]", f"Return how often each letter, in lower case, begins a word of {k} letters or more.",
                f"counts = {{}}\nfor word in words:\n    if len(word) >= {k}:\n        letter = word[0].lower()\n"
                "        counts[letter] = counts.get(letter, 0) + 1\nreturn counts")


@kind("words", level=2)
def sorted_words(rng: random.Random) -> Core:
    down, letter = rng.random() < 0.5, rng.choice("aeios")
    return Core("list[str]", f"Sort the words by how often they contain {letter!r}, {'most' if down else 'least'} "
                             "often first; words with the same count keep their order. Return them.",
                f'return sorted(words, key=lambda word: {"-" if down else ""}word.count("{letter}"))')


@kind("words", level=3)
def longest_chain(rng: random.Random) -> Core:
    k = rng.randint(1, 2)
    what = "letter" if k == 1 else "two letters"
    return Core("int", f"A chain is a run of neighbouring words, each of at least {k} letters, in which every word but "
                       f"the first begins with the same {what} as the one before it or has its length. Return the "
                       "number of words in the longest chain.",
                f'best = run = 0\nbefore = ""\nfor word in words:\n    if len(word) < {k}:\n        run = 0\n'
                f"    elif run and (word[:{k}] == before[:{k}] or len(word) == len(before)):\n        run += 1\n"
                "    else:\n        run = 1\n    before = word\n    best = max(best, run)\nreturn best")
