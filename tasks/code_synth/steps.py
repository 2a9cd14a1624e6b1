"""Steps that come before what a kind returns. Each leaves an argument of its shape, an empty one too."""

from __future__ import annotations

import random

from reasongym.tasks.code_synth.problem import Step, step

# --- number: stays at 0 or above, and small ---


@step("number")
def _add(rng: random.Random) -> Step:
    k = rng.randint(2, 50)
    return Step(f"add {k} to n", f"n += {k}")


@step("number")
def _times(rng: random.Random) -> Step:
    k = rng.randint(2, 5)
    return Step(f"multiply n by {k}", f"n *= {k}")


@step("number")
def _remainder(rng: random.Random) -> Step:
    k = rng.choice((97, 128, 250, 333, 500))
    return Step(f"replace n by its remainder on division by {k}", f"n %= {k}")


@step("number")
def _reverse_digits(rng: random.Random) -> Step:
    return Step("reverse the decimal digits of n (120 becomes 21)", "n = int(str(n)[::-1])")


@step("number")
def _halve(rng: random.Random) -> Step:
    k = rng.randint(2, 4)
    return Step(f"divide n by {k}, rounding down", f"n //= {k}")


# --- ints ---


@step("ints")
def _keep_multiples(rng: random.Random) -> Step:
    k = rng.randint(2, 4)
    return Step(f"drop the numbers divisible by {k}", f"values = [v for v in values if v % {k} != 0]")


@step("ints")
def _scale(rng: random.Random) -> Step:
    k, shift = rng.randint(2, 5), rng.randint(1, 9)
    return Step(f"multiply every number by {k} and subtract {shift}", f"values = [{k} * v - {shift} for v in values]")


@step("ints")
def _clamp(rng: random.Random) -> Step:
    low, high = -rng.randint(2, 15), rng.randint(4, 25)
    return Step(f"raise numbers below {low} to {low} and lower numbers above {high} to {high}",
                f"values = [min(max(v, {low}), {high}) for v in values]")


@step("ints")
def _rotate(rng: random.Random) -> Step:
    k = rng.randint(1, 3)
    return Step(f"move the first {k} numbers to the end, in their order (all of them where there are fewer)",
                f"values = values[{k}:] + values[:{k}]")


@step("ints")
def _running(rng: random.Random) -> Step:
    return Step("replace every number by the sum of all up to and including it",
                "total, sums = 0, []\nfor v in values:\n    total += v\n    sums.append(total)\nvalues = sums")


@step("ints")
def _every(rng: random.Random) -> Step:
    k = rng.randint(2, 3)
    return Step(f"keep the numbers at positions 0, {k}, {2 * k} and so on", f"values = values[::{k}]")


@step("ints")
def _differences(rng: random.Random) -> Step:
    return Step("replace the list by the differences of neighbours, each minus the one before it",
                "values = [b - a for a, b in zip(values, values[1:])]")


# --- text ---


@step("text")
def _backwards(rng: random.Random) -> Step:
    k = rng.randint(1, 3)
    return Step(f"drop the first {k} characters and reverse the rest", f"text = text[{k}:][::-1]")


@step("text")
def _replace(rng: random.Random) -> Step:
    a, b = rng.sample("aeioust", 2)
    return Step(f"replace every {a!r} by {b!r}", f"text = text.replace({a!r}, {b!r})")


@step("text")
def _letters_alone(rng: random.Random) -> Step:
    return Step("swap the case of every letter and drop the spaces", 'text = text.swapcase().replace(" ", "")')


@step("text")
def _twice(rng: random.Random) -> Step:
    k = rng.randint(2, 6)
    return Step(f"append the first {k} characters to the end", f"text = text + text[:{k}]")


# --- words ---


@step("words")
def _reverse_each(rng: random.Random) -> Step:
    return Step("reverse every word", "words = [word[::-1] for word in words]")


@step("words")
def _at_least(rng: random.Random) -> Step:
    k = rng.randint(3, 6)
    return Step(f"drop the words of more than {k} letters", f"words = [word for word in words if len(word) <= {k}]")


@step("words")
def _once(rng: random.Random) -> Step:
    return Step("drop every word that came before in the list", "words = list(dict.fromkeys(words))")


@step("words")
def _ending(rng: random.Random) -> Step:
    ending = rng.choice(("er", "o", "ing", "a"))
    return Step(f"append {ending!r} to every word", f"words = [word + {ending!r} for word in words]")


# --- mapping ---


@step("mapping")
def _raise_scores(rng: random.Random) -> Step:
    k = rng.randint(2, 12)
    return Step(f"subtract {k} from every score", f"scores = {{key: value - {k} for key, value in scores.items()}}")


@step("mapping")
def _absolute(rng: random.Random) -> Step:
    return Step("replace every score by its absolute value",
                "scores = {key: abs(value) for key, value in scores.items()}")


@step("mapping")
def _drop_long(rng: random.Random) -> Step:
    k = rng.randint(2, 5)
    return Step(f"drop the keys of more than {k} letters",
                f"scores = {{key: value for key, value in scores.items() if len(key) <= {k}}}")


@step("mapping")
def _drop_multiples(rng: random.Random) -> Step:
    k = rng.randint(2, 4)
    return Step(f"drop the keys whose score is divisible by {k}",
                f"scores = {{key: value for key, value in scores.items() if value % {k} != 0}}")


# --- grid ---


@step("grid")
def _transpose(rng: random.Random) -> Step:
    return Step("turn rows into columns (the first row becomes the first column)",
                "grid = [list(column) for column in zip(*grid)]")


@step("grid")
def _add_position(rng: random.Random) -> Step:
    k = rng.randint(1, 3)
    return Step(f"add {k} times its row's index, counted from 0, to every cell",
                f"grid = [[cell + {k} * i for cell in row] for i, row in enumerate(grid)]")


@step("grid")
def _drop_row(rng: random.Random) -> Step:
    return Step("drop the last row", "grid = grid[:-1]")


@step("grid")
def _mirror(rng: random.Random) -> Step:
    k = rng.randint(3, 7)
    return Step(f"reverse every row and replace each cell by its remainder on division by {k} (never negative)",
                f"grid = [[cell % {k} for cell in row[::-1]] for row in grid]")
