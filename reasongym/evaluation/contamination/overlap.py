"""Which evaluation rows stand in training data: n-grams of words, and texts that are the same.

The evaluation rows are hashed and the training rows streamed past them, so memory follows the evaluation alone. An
n-gram has 13 words unless told otherwise: Brown et al. 2020, "Language Models are Few-Shot Learners" (arXiv
2005.14165), appendix C, where one shared n-gram of 8 to 13 words makes a test example dirty. 8 words find more, chance
matches among them. Not covered: a problem told in other words, or in another language; and where fewer than 8
different rows are evaluated, an instruction that they all hold is known as such by its n-grams only.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reasongym.evaluation.contamination.affixes import Affixes, affixes_of
from reasongym.evaluation.contamination.corpus import Document
from reasongym.evaluation.contamination.index import KINDS, Index, Match, Text, whole_of
from reasongym.evaluation.contamination.record import Overlap
from reasongym.evaluation.contamination.words import words_of

__all__ = ["DEFAULT_WORDS", "Compared", "EvalRow", "Pair", "compare_rows"]

DEFAULT_WORDS = 13
LEAST_ANSWER = 40
"""Characters: a shorter answer ("42", "x = 5") is that of many problems."""
_FIRST = 256  # documents that show what a field's texts begin and end with
_WATCHED = 2000  # documents between two calls of `watch`


class EvalRow(NamedTuple):
    """A row of the evaluation: its question, and its worked solution or reference."""

    id: str
    prompt: str
    answer: str


class Pair(NamedTuple):
    """An evaluation row and the training text nearest to it. side: prompt or answer."""

    row: str
    side: str
    match: Match
    text: str


class Compared(NamedTuple):
    """pairs: one for each overlapping row, side and kind, the worst first."""

    overlap: Overlap
    pairs: tuple[Pair, ...]


def compare_rows(rows: Sequence[EvalRow], sources: Mapping[str, Iterable[Document]], *, size: int = DEFAULT_WORDS,
                 until: float | None = None, complete: bool = True,
                 watch: Callable[[int], None] = lambda done: None) -> Compared:
    """sources: name -> its documents. until: a `time.monotonic` at which to stop; the record then says so.

    complete: False where a source gives only some of its rows. watch: called with the documents compared, now and then.
    """
    prompts = Index({number: row.prompt for number, row in enumerate(rows) if row.prompt.strip()}, size=size)
    answers = Index({number: row.answer for number, row in enumerate(rows) if len(row.answer) >= LEAST_ANSWER},
                    size=size)
    done, longest = 0, max(prompts.longest, answers.longest)
    for document, bare in itertools.chain.from_iterable(map(_with_bare, sources.values())):
        for (_, text), stripped in zip(document.texts, bare, strict=True):
            prepared = _prepared(document.place, text, stripped, longest)
            prompts.match(prepared)
            answers.match(prepared)
        done += 1
        if done % _WATCHED == 0:
            watch(done)
        if until is not None and time.monotonic() > until:
            complete = False
            break
    overlapping = [number for number in range(len(rows)) if any(
        number in side.rows and side.rows[number].overlaps for side in (prompts, answers))]
    found = Overlap(training=tuple(sources), training_rows=done, complete=complete, ngram_words=size, rows=len(rows),
                    overlapping=len(overlapping), prompts=prompts.counts(), answers=answers.counts())
    pairs = [*_pairs(rows, "prompt", prompts), *_pairs(rows, "answer", answers)]
    return Compared(found, tuple(sorted(pairs, key=_badness)))


def _with_bare(documents: Iterable[Document]) -> Iterator[tuple[Document, list[str]]]:
    """Each document, and its texts without what the first ones of their field all begin and end with."""
    stream = iter(documents)
    first = list(itertools.islice(stream, _FIRST))
    by_field: dict[str, list[str]] = {}
    for document in first:
        for field, text in document.texts:
            by_field.setdefault(field, []).append(text)
    affixes = {field: affixes_of(texts) for field, texts in by_field.items()}
    none = Affixes()
    for document in itertools.chain(first, stream):
        yield document, [affixes.get(field, none).strip(text) for field, text in document.texts]


def _prepared(place: str, text: str, bare: str, longest: int) -> Text:
    words = words_of(text)
    if len(words) > longest:
        return Text(place, text, words, ())
    wholes = [whole_of(text, words), whole_of(bare, words_of(bare)) if bare != text else None]
    return Text(place, text, words, [whole for whole in wholes if whole])


def _pairs(rows: Sequence[EvalRow], side: str, index: Index) -> Iterator[Pair]:
    for number, state in index.rows.items():
        for kind, match in state.best.items():
            implied = kind in ("normalised", "template") and ("exact" if kind == "normalised" else "normalised")
            if not (implied and implied in state.best):
                yield Pair(rows[number].id, side, match, state.text)


def _badness(pair: Pair) -> tuple[int, float, bool, str]:
    return KINDS.index(pair.match.kind), -pair.match.share, pair.side == "answer", pair.row
