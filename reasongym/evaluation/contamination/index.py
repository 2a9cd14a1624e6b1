"""Evaluation texts, hashed: what of them a training text holds. Only this side is kept in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from reasongym.evaluation.contamination.affixes import affixes_of
from reasongym.evaluation.contamination.record import SideOverlap
from reasongym.evaluation.contamination.words import template_of, words_of

__all__ = ["KINDS", "Index", "Kind", "Match", "RowState", "Text", "Whole", "whole_of"]

Kind = Literal["exact", "normalised", "template", "ngram"]
KINDS: tuple[Kind, ...] = ("exact", "normalised", "template", "ngram")
"""Worst first, except that a shared n-gram of a long text says less than a template."""

COMMON = 10
"""An n-gram of more evaluation rows than this is common speech or an instruction, and no sign of any one row. GPT-3's
appendix C takes the same number, of training documents; counted here on the side that is in memory."""
_LEAST_TEMPLATE = 5
"""Words: "what is 0 0" says nothing."""

Ngrams = Mapping[int, tuple[int, ...]]
Rows = dict[str, list[int]]
Probe = tuple[str, str, str, str]


class Match(NamedTuple):
    """Where a training text was found to match a row. share: of the row's n-grams, that this text holds."""

    kind: Kind
    share: float
    place: str
    text: str


class Whole(NamedTuple):
    """A text without white space around it, as words, and as words with 0 for each number."""

    text: str
    normal: str
    template: str


class Text(NamedTuple):
    """A training text. wholes: itself and without its field's affixes, where that may be a row's whole text."""

    place: str
    text: str
    words: Sequence[str]
    wholes: Sequence[Whole]


def whole_of(text: str, words: Sequence[str]) -> Whole | None:
    """None where there are no words."""
    normal = " ".join(words)
    return Whole(text.strip(), normal, template_of(normal)) if normal else None


def _probes(words: Sequence[str], size: int) -> Iterator[Probe]:
    """Four words of each n-gram: most training texts have none of the rows' fours, and are done with."""
    last = size - 1
    return zip(words, words[last // 3:], words[2 * last // 3:], words[last:], strict=False)


@dataclass(slots=True)
class RowState:
    """What is known of one row. num_ngrams: different ones, without the common. best: the worst match of each kind."""

    text: str
    num_ngrams: int = 0
    best: dict[Kind, Match] = field(default_factory=dict)

    @property
    def contained(self) -> bool:
        return "ngram" in self.best and self.best["ngram"].share == 1.0

    @property
    def overlaps(self) -> bool:
        return "normalised" in self.best or "ngram" in self.best


class Index:
    """One side of the rows: prompts or answers. rows: row number -> its state, for those that have a text."""

    def __init__(self, texts: Mapping[int, str], *, size: int) -> None:
        """texts: by row number. size: words of an n-gram."""
        self.size = size
        affixes = affixes_of(list(texts.values()))
        self.rows = {row: RowState(affixes.strip(text).strip()) for row, text in texts.items()}
        self._exact, self._normal, self._template = Rows(), Rows(), Rows()
        self.longest = 0
        for row, text in texts.items():
            self._add_wholes(row, affixes.forms(text))
        self._ngrams = self._hashed()
        self.probes = self._all_probes()

    def match(self, text: Text) -> None:
        """Enter what the training text shares with the rows."""
        for whole in text.wholes:
            self._match_whole(whole, text)
        if not self.probes.isdisjoint(_probes(text.words, self.size)):
            self._match_ngrams(text)

    def _match_whole(self, whole: Whole, text: Text) -> None:
        for row in self._exact.get(whole.text, ()):
            self._keep(row, Match("exact", 1.0, text.place, text.text))
        same = self._normal.get(whole.normal, ())
        for row in same:
            self._keep(row, Match("normalised", 1.0, text.place, text.text))
        for row in self._template.get(whole.template, ()):
            if row not in same:
                self._keep(row, Match("template", 1.0, text.place, text.text))

    def _match_ngrams(self, text: Text) -> None:
        shared: dict[int, set[int]] = {}
        for start, probe in enumerate(_probes(text.words, self.size)):
            if probe in self.probes:
                gram = hash(tuple(text.words[start:start + self.size]))
                for row in self._ngrams.get(gram, ()):
                    shared.setdefault(row, set()).add(gram)
        for row, grams in shared.items():
            self._keep(row, Match("ngram", len(grams) / self.rows[row].num_ngrams, text.place, text.text))

    def _keep(self, row: int, match: Match) -> None:
        best = self.rows[row].best
        if match.kind not in best or best[match.kind].share < match.share:
            best[match.kind] = match._replace(text=match.text[:2000])

    def _add_wholes(self, row: int, forms: Iterable[str]) -> None:
        for form in forms:
            words = words_of(form)
            self.longest = max(self.longest, len(words))
            if whole := whole_of(form, words):
                self._exact.setdefault(whole.text, []).append(row)
                self._normal.setdefault(whole.normal, []).append(row)
                if whole.template != whole.normal and whole.template.count(" ") + 1 >= _LEAST_TEMPLATE:
                    self._template.setdefault(whole.template, []).append(row)

    def _hashed(self) -> Ngrams:
        """Hash of an n-gram -> its rows. Hashes of 64 bits: two n-grams of one hash are not to be expected."""
        found: dict[int, list[int]] = {}
        for row in self.rows:
            for gram in self._grams(row):
                found.setdefault(gram, []).append(row)
        most = min(COMMON, max(1, len(self.rows) // 2))
        kept = {gram: tuple(rows) for gram, rows in found.items() if len(rows) <= most}
        for rows in kept.values():
            for row in rows:
                self.rows[row].num_ngrams += 1
        return kept

    def _all_probes(self) -> set[Probe]:
        found = set[Probe]()
        for row in self.rows:
            words = words_of(self.rows[row].text)
            found.update(probe for start, probe in enumerate(_probes(words, self.size))
                         if hash(tuple(words[start:start + self.size])) in self._ngrams)
        return found

    def _grams(self, row: int) -> set[int]:
        words = words_of(self.rows[row].text)
        return {hash(tuple(words[start:start + self.size])) for start in range(len(words) - self.size + 1)}

    def counts(self) -> SideOverlap:
        """So far."""
        states = self.rows.values()
        return SideOverlap(
            compared=len(states), short=sum(not state.num_ngrams for state in states),
            exact=sum("exact" in state.best for state in states),
            normalised=sum("normalised" in state.best for state in states),
            template=sum("template" in state.best and "normalised" not in state.best for state in states),
            ngram=sum("ngram" in state.best for state in states), contained=sum(state.contained for state in states))
