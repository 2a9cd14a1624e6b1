"""From verdicts to failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from reasongym.checking.findings import Report
from reasongym.checking.floors import floor_of
from reasongym.checking.twice import Scored
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status, Verdict

__all__ = ["Judge", "told"]

_CHANCE = 0.25
"""Share of the rows on which an answer may be right by chance. A prompt holds its answer as its last number on some
rows of any data set of word problems; a verifier that pays for the prompt does so on most."""


class Judge:
    """Takes scored answers one by one; `finish` settles what several of them decide together."""

    def __init__(self, parts: Sequence[RewardPart], report: Report, *, floor: float) -> None:
        self._parts, self._report, self._floor = parts, report, floor
        self._bare: dict[str, list[Scored]] = {}
        self._by_chance: dict[str, list[Scored]] = {}

    def take(self, scored: Scored) -> None:
        self._report.num_answers += 1
        asked = scored.asked
        if asked.earns == "stated":
            self._check_repeat(scored)
            self._check_stated(scored)
            return
        if not self._has_verdicts(scored):
            return
        self._check_repeat(scored)
        if asked.earns == "all":
            wrong = [part.name for part in self._parts if not _is_best(part, scored.verdicts[part.name])]
            self._judge(scored, not wrong, f"{_best(self._parts):g}, the whole reward ({asked.trick})")
        elif asked.earns == "first":
            self._bare.setdefault(asked.row.id, []).append(scored)
        elif asked.by_chance:
            self._by_chance.setdefault(asked.trick, []).append(scored)
        elif asked.earns == "nothing":
            self._judge(scored, not self._above_floor(scored), f"the floor: {asked.trick}")

    def finish(self) -> None:
        first = self._parts[0]
        for forms in self._bare.values():
            holds = any(_is_best(first, scored.verdicts[first.name]) for scored in forms)
            self._judge(forms[0], holds, f"1 for {first.name} ({forms[0].asked.trick})")
        for trick, answers in self._by_chance.items():
            earning = [scored for scored in answers if self._above_floor(scored)]
            self._judge((earning or answers)[0], len(earning) <= _CHANCE * len(answers),
                        f"the floor: {trick}, which earns on {len(earning)} of {len(answers)} rows")

    def _has_verdicts(self, scored: Scored) -> bool:
        """Judged once an answer, whichever process failed."""
        gravest = {verdict.status: verdict for verdicts in scored[1:] for verdict in verdicts.values()}
        for check, status in (("error", Status.ERROR), ("timeout", Status.TIMEOUT)):
            holds = status not in gravest
            self._report.judge(check, holds, row=scored.asked.row.id, answer=scored.asked.response,
                               got=gravest[status].reason if not holds else "",
                               expected="a verdict with a score from 0 to 1" if check == "error" else
                               "a verdict within the limit")
        return not gravest.keys() & {Status.ERROR, Status.TIMEOUT}

    def _check_repeat(self, scored: Scored) -> None:
        one, two = (told(verdicts, scores_only=True) for verdicts in scored[1:])
        self._report.judge("repeat", one == two, row=scored.asked.row.id, answer=scored.asked.response,
                           got=f"{one}, then {two}", expected="the same verdict in each process")

    def _check_stated(self, scored: Scored) -> None:
        verdict, stated = scored.verdicts[self._parts[0].name], scored.asked.stated
        holds = verdict.status is stated if isinstance(stated, Status) else \
            verdict.status is not Status.ERROR and math.isclose(verdict.score, stated, abs_tol=1e-9)
        self._judge(scored, holds, str(stated) if isinstance(stated, Status) else f"score {stated:g}")

    def _judge(self, scored: Scored, holds: bool, expected: str) -> None:
        self._report.judge(scored.asked.check, holds, row=scored.asked.row.id, answer=scored.asked.response,
                           got=told(scored.verdicts), expected=expected)

    def _above_floor(self, scored: Scored) -> bool:
        asked = scored.asked
        return any(scored.verdicts[part.name].score > floor_of(part, first=part is self._parts[0], blank=asked.blank,
                                                               near=asked.near, stated=self._floor)
                   for part in self._parts)


def told(verdicts: Mapping[str, Verdict], *, scores_only: bool = False) -> str:
    """`correct 1 (correct), format 0 (wrong: no line)`; the only part's name is left out."""
    texts = []
    for name, verdict in verdicts.items():
        reason = "" if scores_only or not verdict.reason else f": {verdict.reason[:100]}"
        texts.append(f"{name if len(verdicts) > 1 else ''} {verdict.score:g} ({verdict.status}{reason})".strip())
    return ", ".join(texts)


def _is_best(part: RewardPart, verdict: Verdict) -> bool:
    return verdict.score == (0.0 if part.weight < 0 else 1.0)


def _best(parts: Sequence[RewardPart]) -> float:
    return sum(part.weight for part in parts if part.weight > 0)
