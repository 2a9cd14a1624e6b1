"""One task, or one verifier with cases, from beginning to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reasongym import registry
from reasongym.checking.answers import Asked, golds, hostile, wrong_answers
from reasongym.checking.findings import Report
from reasongym.checking.floors import check_weights, floor_of, floors_in_words
from reasongym.checking.judging import Judge
from reasongym.checking.prompts import check_echoes, check_stated
from reasongym.checking.references import own_rule
from reasongym.checking.rows import Fits, check_rows
from reasongym.checking.schemas import check_schemas
from reasongym.checking.twice import Limits, score_twice
from reasongym.errors import ReasongymError, UserError
from reasongym.tasks import Example, RewardPart, TaskOptions
from reasongym.verifiers import Status

__all__ = ["Plan", "check_task", "check_verifier"]

_NUM_HOSTILE = 1
"""Rows that hostile texts are tried on: they are large, and their cost does not depend on the row."""


class Plan(NamedTuple):
    """How much is checked, and within what.

    num_rows: rows of each split, or references of a verifier's cases. floor: the most that the first part may give a
    wrong answer. watch: told how many answers are done, of how many.
    """

    num_rows: int
    seed: int
    floor: float
    limits: Limits
    watch: Callable[[int, int], None]


def check_task(name: str, options: TaskOptions, plan: Plan, fits: Fits) -> Report:
    """Every check but `expected`. Raises UserError where the task or its rows cannot be had."""
    report = Report(subject=name)
    try:
        task, again = registry.task(name, options), registry.task(name, options)
    except UserError:
        raise
    except Exception as error:  # boundary: a task is any code, and whatever it raises is its failure
        report.judge("task", False, got=f"{type(error).__name__}: {error}", expected="a task")
        return report
    rows, wide = check_rows(task, again, report, num_rows=plan.num_rows, seed=plan.seed, fits=fits)
    check_schemas(rows, report)
    parts = tuple(task.rewards)
    report.judge("task", bool(parts), got="no reward part", expected="one part or more")
    if parts:
        check_weights(parts, report)
        check_stated(wide, parts[0].verifier, report)
        _score(parts, _answers(rows, parts[0].verifier, report), plan, report)
        if len(rows) and not report.failed.keys() & {"carried", "error", "task", "timeout"}:
            check_echoes(wide, parts, plan.limits, floor_of(parts[0], first=True, blank=False, near=False,
                                                            stated=plan.floor), report)
    return report


def check_verifier(name: str, cases: Sequence[Asked], plan: Plan) -> Report:
    """The cases, each against what it states, and the panels on the first `num_rows` different references of them."""
    report = Report(subject=name)
    rows: dict[str, Example] = {}
    for case in cases:
        if case.stated is not Status.ERROR:  # a reference that cannot be used has no wrong answers either
            rows.setdefault(repr(case.row.reference), case.row)
    judged = [row for row in rows.values() if row.reference is not None]
    if len(judged) < len(rows):
        report.note("a case without a reference is not tried with wrong answers: the verifier's own rule says what is")
    some = judged[:plan.num_rows]
    wrong = [asked for row in some for asked in wrong_answers(row, judged, name)]
    hard = [asked for row in list(rows.values())[:_NUM_HOSTILE] for asked in hostile(row, name)]
    if not some:
        hard = [asked._replace(earns="anything") for asked in hard]
    report.num_rows = len(some)
    _score((RewardPart(name="answer", verifier=name, weight=1.0),), [*cases, *wrong, *hard], plan, report)
    return report


def _answers(rows: Sequence[Example], verifier: str, report: Report) -> list[Asked]:
    asked: list[Asked] = []
    for place, row in enumerate(rows):
        right = list(golds(row, verifier))
        if not right:
            report.note("a row without a solution, whose reference is no answer by itself, has no right answer to try")
        if own_rule(row.reference, verifier):
            report.note("where a row's own rule says what is right, only degenerate answers must be wrong")
        asked += [*right, *wrong_answers(row, [*rows[place + 1:], *rows[:place]], verifier)]
    return asked + [trick for row in rows[:_NUM_HOSTILE] for trick in hostile(row, verifier)]


def _score(parts: Sequence[RewardPart], asked: Sequence[Asked], plan: Plan, report: Report) -> None:
    report.floors = floors_in_words(parts, plan.floor)
    judge = Judge(parts, report, floor=plan.floor)
    try:
        for scored in score_twice(parts, asked, plan.limits, lambda done: plan.watch(done, len(asked))):
            judge.take(scored)
    except ReasongymError as error:
        report.judge("task", False, got=" ".join(str(error).split()), expected="verifiers that load in a worker")
        return
    judge.finish()
    if report.num_answers < len(asked):
        report.note(f"stopped after {report.num_answers} of {len(asked)} answers: the verifier keeps failing")
