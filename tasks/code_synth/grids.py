"""Kinds of problem about a grid: rows of equal length, perhaps none."""

from __future__ import annotations

import random

from reasongym.tasks.code_synth.problem import Core, kind


@kind("grid", level=1)
def row_sums(rng: random.Random) -> Core:
    k = rng.randint(3, 12)
    return Core("list[int]", f"Return for every row the sum of its cells that are below {k - 3}.",
                f"return [sum(cell for cell in row if cell < {k - 3}) for row in grid]")


@kind("grid", level=1)
def cells_equal(rng: random.Random) -> Core:
    a, b = sorted(rng.sample(range(-2, 10), 2))
    return Core("int", f"Return how many cells of the grid hold {a} or {b}.",
                f"return sum(1 for row in grid for cell in row if cell in ({a}, {b}))")


@kind("grid", level=2)
def turned_grid(rng: random.Random) -> Core:
    turns = rng.randint(1, 3)
    often = {1: "by 90 degrees", 2: "by 180 degrees", 3: "by 270 degrees"}[turns]
    k = rng.randint(1, 4)
    return Core("list[list[int]]", f"Turn the grid clockwise {often}, add {k} to every cell, and return it.",
                f"for _ in range({turns}):\n    grid = [list(row) for row in zip(*grid[::-1])]\n"
                f"return [[cell + {k} for cell in row] for row in grid]")


@kind("grid", level=2)
def border_sum(rng: random.Random) -> Core:
    k = rng.randint(2, 5)
    return Core("int", f"Return the sum of the cells on the border of the grid, less {k} times the sum of the others.",
                f"total = 0\nfor i, row in enumerate(grid):\n    for j, cell in enumerate(row):\n"
                "        border = i in (0, len(grid) - 1) or j in (0, len(row) - 1)\n"
                f"        total += cell if border else -{k} * cell\nreturn total")


@kind("grid", level=3)
def count_peaks(rng: random.Random) -> Core:
    k, diagonal = rng.randint(0, 2), rng.random() < 0.5
    which = "left, right, above, below and diagonally" if diagonal else "left, right, above and below"
    more = "greater than" if k == 0 else f"more than {k} greater than"
    near = "abs(x - i) <= 1 and abs(y - j) <= 1" if diagonal else "abs(x - i) + abs(y - j) == 1"
    return Core("int", f"Return how many cells are {more} each of their neighbours {which}.",
                "cells = {(i, j): cell for i, row in enumerate(grid) for j, cell in enumerate(row)}\n"
                f"return sum(1 for (i, j), cell in cells.items()\n           if all(cell > other + {k}\n"
                f"                  for (x, y), other in cells.items() if (x, y) != (i, j) and {near}))")


@kind("grid", level=3)
def count_islands(rng: random.Random) -> Core:
    k = rng.randint(0, 5)
    return Core("int", f"Cells greater than {k} are land, and land joins left, right, above and below. Return how many "
                       "separate pieces of land there are.",
                f"land = {{(i, j) for i, row in enumerate(grid) for j, cell in enumerate(row) if cell > {k}}}\n"
                "pieces = 0\nwhile land:\n    pieces += 1\n    pending = [land.pop()]\n    while pending:\n"
                "        i, j = pending.pop()\n"
                "        for near in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):\n"
                "            if near in land:\n                land.remove(near)\n"
                "                pending.append(near)\nreturn pieces")


@kind("grid", level=3)
def cheapest_path(rng: random.Random) -> Core:
    k = rng.randint(0, 4)
    extra = "" if k == 0 else f" A step down costs {k} more."
    return Core("int", "Walk from the top left cell to the bottom right one, a step right or down at a time, and add "
                       f"up all cells on the way.{extra} Return the lowest sum; 0 for an empty grid.",
                "if not grid or not grid[0]:\n    return 0\nbest = {}\nfor i, row in enumerate(grid):\n"
                "    for j, cell in enumerate(row):\n"
                f"        ways = [best[i - 1, j] + {k}] if i else []\n"
                "        ways += [best[i, j - 1]] if j else []\n"
                "        best[i, j] = cell + min(ways, default=0)\nreturn best[len(grid) - 1, len(grid[0]) - 1]")
