"""Penalties on the form of a response: too long, or repeating itself. Each gives a share from 0 (none) to 1 (full).

`Composite` subtracts a penalty's weight times its share. Lengths are in characters or in words, as white space divides
them: a verifier sees no tokens, and a model's tokens are about 4 characters of English. Text without spaces between
words (Chinese, Japanese) is one word: measure it in characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["LengthPenalty", "Penalty", "RepetitionPenalty", "Unit", "soft_overlong"]

Penalty = Callable[[str], float]
"""Response -> share of the full penalty, in [0, 1]."""

Unit = Literal["characters", "words"]

_LOOKED_AT = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthPenalty:
    """0 up to a length of `free`, then linearly up to 1 at `full` and beyond, both in `unit`s.

    Raises ValueError unless 0 <= free < full.
    """

    free: int
    full: int
    unit: Unit

    def __post_init__(self) -> None:
        _check_unit(self.unit)
        if not 0 <= self.free < self.full:
            raise ValueError(f"a length penalty begins before it is full: 0 <= free < full, got free={self.free}, "
                             f"full={self.full}; give `full` as the length at which all of it counts")

    def __call__(self, response: str) -> float:
        length = len(response) if self.unit == "characters" else len(response.split())
        return min(max((length - self.free) / (self.full - self.free), 0.0), 1.0)


def soft_overlong(*, longest: int, buffer: int, unit: Unit) -> LengthPenalty:
    """DAPO's soft overlong punishment (arXiv 2503.14476, equation 13), with `longest` for L_max, `buffer` for L_cache.

    There, |y| being the length of a response:  R(y) = 0 for |y| <= L_max - L_cache,
    ((L_max - L_cache) - |y|) / L_cache up to |y| = L_max, and -1 beyond. This is -R(y). Departures:
    1. The paper's rewards are -1 and 1, where -1 is half of the way between them: weight 0.5 is its strength here.
    2. Scores end at 0: a wrong answer is not punished further for its length.
    3. Lengths are in characters or words, not in tokens.
    """
    return LengthPenalty(free=longest - buffer, full=longest, unit=unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionPenalty:
    """The share of n-grams that occurred before in the response, above the share `free`, scaled to reach 1.

    With d different ones among t n-grams of `unit`s the share repeated is r = 1 - d/t, and the penalty is
    (r - free) / (1 - free), at least 0. Responses with fewer than `size` units have none. The first 200,000 characters
    are looked at. Raises ValueError unless size >= 1 and 0 <= free < 1.
    """

    size: int = 4
    free: float = 0.2
    unit: Unit = "words"

    def __post_init__(self) -> None:
        _check_unit(self.unit)
        if not (1 <= self.size <= 100 and 0.0 <= self.free < 1.0):
            raise ValueError(f"a repetition penalty has a size from 1 to 100 and 0 <= free < 1, got size={self.size}, "
                             f"free={self.free}; the defaults are 4 and 0.2")

    def __call__(self, response: str) -> float:
        text = response[:_LOOKED_AT]
        units: Sequence[str] = text if self.unit == "characters" else text.lower().split()
        total = len(units) - self.size + 1
        if total < 1:
            return 0.0
        different = len({tuple(units[i:i + self.size]) for i in range(total)})
        return max((1 - different / total - self.free) / (1 - self.free), 0.0)


def _check_unit(unit: str) -> None:
    if unit not in ("characters", "words"):
        raise ValueError(f"lengths are in 'characters' or 'words', got {unit!r}; a verifier sees no tokens")
