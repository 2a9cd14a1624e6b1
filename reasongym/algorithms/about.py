"""What tells one algorithm from another, in the phrases of `reasongym algorithms`."""

from typing import Literal, NamedTuple

__all__ = ["About", "Kind"]

Kind = Literal["group", "batch", "critic", "pairs", "labels", "solutions"]
"""What an algorithm learns from.

group      verified completions of one prompt, compared with one another
batch      verified completions, each token's return, compared over the whole step
critic     verified completions and a learned value of every token
pairs      a better and a worse completion of one prompt
labels     single completions, each wanted or unwanted
solutions  completions to imitate
"""


class About(NamedTuple):
    """One row of the table. paper: with its arXiv id where it has one; the other texts are short phrases."""

    title: str
    paper: str
    kind: Kind
    advantage: str
    ratio: str
    clip: str
    aggregation: str
    kl: str
