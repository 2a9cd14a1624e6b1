"""Right and wrong verdicts on the public cases in ../shared/data, ours and Math-Verify's where it can be imported.

Each grader sees whole responses. `table()` is the Markdown of docs/verifiers/math.md. Seconds are of this process
alone, so that other work on the machine does not count. Rows whose source states no result are left out.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reasongym import registry

DATA = Path(__file__).parent.parent / "../shared/data"
FILES = ("math_verify_part", "trl_open_r1", "rasbt_ch03", "hendrycks_is_equiv", "gsm8k_answer_formats")


class Case(NamedTuple):
    """right: what the source says. targets: the kinds of text that Math-Verify's own tests let it read."""

    response: str
    reference: str
    right: bool
    targets: tuple[str, ...] = ("latex", "expr")


class Result(NamedTuple):
    """seconds: of every case, sorted."""

    cases: int
    false_positives: int
    false_negatives: int
    seconds: list[float]

    @property
    def wrong(self) -> int:
        return self.false_positives + self.false_negatives


Grader = Callable[[Case], bool]


def measure() -> dict[str, float]:
    """Prints the table; wrong verdicts and answers a second of each grader, over all files that it grades."""
    found = {name: list(cases) for name, cases in _sets()}
    if not found:
        print("graders: nothing to grade, ../shared/data is absent")
        return {}
    results = {(name, grader): _graded(cases, grade) for name, cases in found.items()
               for grader, grade in _graders(name).items()}
    print(table(results))
    figures: dict[str, float] = {}
    for grader in sorted({grader for _, grader in results}):
        own = [result for (_, name), result in results.items() if name == grader]
        figures[f"{grader}_wrong"] = sum(result.wrong for result in own)
        figures[f"{grader}_per_second"] = sum(r.cases for r in own) / sum(sum(r.seconds) for r in own)
    return figures


def table(results: dict[tuple[str, str], Result]) -> str:
    """A row a file and grader."""
    heads = ("cases", "grader", "rows", "right", "false positives", "false negatives", "seconds", "rows/s", "p99, ms")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for (name, grader), result in results.items():
        total = sum(result.seconds)
        p99 = 1000 * result.seconds[int(0.99 * (result.cases - 1))]
        cells = (name, grader, result.cases, result.cases - result.wrong, result.false_positives,
                 result.false_negatives, f"{total:.2f}", f"{result.cases / total:,.0f}", f"{p99:.2f}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _graded(cases: list[Case], grade: Grader) -> Result:
    grade(cases[0])  # what is loaded at the first call is not the answer's cost
    positives = negatives = 0
    seconds = []
    for case in cases:
        started = time.process_time()
        accepted = grade(case)
        seconds.append(time.process_time() - started)
        positives += accepted and not case.right
        negatives += case.right and not accepted
    return Result(len(cases), positives, negatives, sorted(seconds))


def _sets() -> Iterator[tuple[str, Iterator[Case]]]:
    for name in FILES:
        path = DATA / "grader_cases" / f"{name}.jsonl"
        if path.is_file():
            yield name, (Case(row["response"] or "", row["reference"] or "", bool(row["expected"]),
                              tuple(row.get("extraction") or ("latex", "expr")))
                         for row in _rows(path) if row["expected"] is not None)
    math500 = DATA / "math500" / "test.jsonl"
    if math500.is_file():
        rows = list(_rows(math500))
        boxed = [f"We conclude that the answer is $\\boxed{{{row['answer']}}}$." for row in rows]
        yield "MATH-500 answers", (Case(text, row["answer"], True) for text, row in zip(boxed, rows, strict=True))
        yield "MATH-500 solutions", (Case(row["solution"], row["answer"], True) for row in rows)
        yield "MATH-500, the next row's answer", (
            Case(text, row["answer"], _value(row["answer"]) == _value(after["answer"]))
            for text, row, after in zip([*boxed[1:], boxed[0]], rows, [*rows[1:], rows[0]], strict=True))
    gsm8k = DATA / "gsm8k" / "test.jsonl"
    if gsm8k.is_file():
        yield "GSM8K solutions", (Case(row["answer"], row["answer"], True) for row in _rows(gsm8k))


def _value(answer: str) -> str:
    """`5` of `x=5`: those two stand side by side in MATH-500, and a grader may well take one for the other."""
    return answer.removeprefix("x=")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text().splitlines())


def _graders(name: str) -> dict[str, Grader]:
    ours = "gsm8k" if "gsm8k" in name.lower() else "math"
    verify = registry.verifier(ours)
    graders: dict[str, Grader] = {
        ours: lambda case: verify(case.response, case.reference, example={}).score == 1}  # type: ignore[union-attr]
    if importlib.util.find_spec("math_verify") is not None:
        graders["Math-Verify"] = _math_verify()
    return graders


def _math_verify() -> Grader:
    """As its README calls it, both texts with the same targets; a reference without delimiters is put into `$...$`."""
    from math_verify import (  # type: ignore[import-not-found,unused-ignore]
        ExprExtractionConfig,
        LatexExtractionConfig,
        parse,
        verify,
    )

    def grade(case: Case) -> bool:
        targets = [LatexExtractionConfig() if target == "latex" else ExprExtractionConfig() for target in case.targets]
        reference = case.reference.rsplit("####", 1)[-1].strip()
        is_bare = "latex" in case.targets and not any(mark in reference for mark in ("$", "\\(", "\\[", "boxed"))
        gold = parse(f"${reference}$" if is_bare else reference, targets)
        return bool(verify(gold, parse(case.response, targets)))

    return grade
