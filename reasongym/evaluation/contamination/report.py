"""A comparison for people, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from reasongym.evaluation.contamination.overlap import Compared, Pair
from reasongym.evaluation.contamination.record import Overlap, SideOverlap
from reasongym.printable import printable

__all__ = ["FORMAT", "as_json", "sentence", "table"]

FORMAT = "reasongym contamination 1"
_SHOWN = 160  # characters of a text on the terminal
_LINES = {"exact": "the same text", "normalised": "the same words", "template": "the same but for numbers",
          "ngram": "share an n-gram", "contained": "all n-grams in one row"}


def table(compared: Compared, evaluation: str, *, pairs: int) -> str:
    """Shares of both sides, and the worst `pairs`. evaluation: what was compared, in words."""
    found = compared.overlap
    complete = "" if found.complete else ", not all of them"
    lines = [f"{evaluation}: {found.rows:,} rows against {found.training_rows:,} training rows{complete} "
             f"({printable(', '.join(found.training))}), n-grams of {found.ngram_words} words", "",
             *_sides(found), "", sentence(found)]
    for pair in compared.pairs[:pairs]:
        lines += ["", *_pair(pair)]
    if (left := len(compared.pairs) - pairs) > 0:
        lines += ["", f"and {left:,} more, all of them with --output FILE"]
    return "\n".join(lines)


def sentence(found: Overlap) -> str:
    """`overlap: 6 of 1,319 rows (0.5 %) ...`"""
    return (f"overlap: {found.overlapping:,} of {found.rows:,} rows ({100 * found.share:.1f} %) share "
            f"{found.ngram_words} words in a row, or a whole text, with a training row")


def as_json(compared: Compared, evaluation: str) -> str:
    """All pairs, texts of up to 2,000 characters."""
    found = compared.overlap
    pairs = [{"row": pair.row, "side": pair.side, "kind": pair.match.kind, "share_of_ngrams": pair.match.share,
              "training_row": pair.match.place, "evaluation_text": pair.text[:2000], "training_text": pair.match.text}
             for pair in compared.pairs]
    return json.dumps({"format": FORMAT, "evaluation": evaluation, "share": found.share,
                       **found.model_dump(mode="json"), "pairs": pairs}, indent=1) + "\n"


def _sides(found: Overlap) -> Iterator[str]:
    sides = (found.prompts, found.answers)

    def line(label: str, cells: Iterable[str]) -> str:
        return f"{label:<26}" + "".join(f"{cell:>18}" for cell in cells)

    def share(side: SideOverlap, name: str) -> str:
        count = int(getattr(side, name))
        return f"{count:,} ({100 * count / side.compared if side.compared else 0:.1f} %)"

    yield line("", ("prompts", "answers"))
    yield line("compared", (f"{side.compared:,}" for side in sides))
    yield line("without an n-gram", (f"{side.short:,}" for side in sides))
    for name, label in _LINES.items():
        yield line(label, (share(side, name) for side in sides))


def _pair(pair: Pair) -> Iterator[str]:
    words = {"exact": "the same text", "normalised": "the same words", "template": "the same but for its numbers",
             "ngram": f"{100 * pair.match.share:.0f} % of its n-grams"}[pair.match.kind]
    yield f"{printable(pair.row)}, {pair.side}: {words}, in {printable(pair.match.place)}"
    yield f"  evaluation  {_line(pair.text)}"
    yield f"  training    {_line(pair.match.text)}"


def _line(text: str) -> str:
    line = printable(" ".join(text[:10 * _SHOWN].split()))
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
