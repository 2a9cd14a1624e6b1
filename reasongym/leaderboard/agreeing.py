"""A record held against its own answers: a figure that was edited in one of the two files shows here.

Not covered: who made a result, and whether the model gave these answers. Whoever writes both files in agreement is
believed, except for the verdicts, which `leaderboard add --verify` judges anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reasongym.errors import DataError, message
from reasongym.evaluation.prompting import prompts_digest
from reasongym.evaluation.record import Result
from reasongym.evaluation.samples import Sample as Answered
from reasongym.evaluation.statistics import wilson_interval
from reasongym.leaderboard.entry import Submission
from reasongym.leaderboard.storable import one_line

__all__ = ["check_agrees", "check_prompts"]

TOLERANCE = 1e-6


def check_agrees(result: Result, made: Submission, rows: Sequence[str]) -> None:
    """rows: keys of the rows that the record says were asked. Raises DataError at the first contradiction.

    Nothing is checked of a result that came without its answers: a board marks it.
    """
    if not made.samples:
        return
    statuses = Counter(sample.status for sample in made.samples)
    entry = made.entry
    counted = {"rows": (len(set(rows)), len({sample.row for sample in made.samples} & set(rows))),
               "prompts": (entry.prompts, len({sample.row for sample in made.samples})),
               "answers": (entry.answers, len(made.samples)),
               "answers to a row": (result.decoding.samples, len(made.samples) / max(1, len(set(rows)))),
               "missing answers": (entry.missing, statuses["missing"]),
               "answers that a verifier failed on": (entry.errors, statuses["error"]),
               "unparsable answers": (entry.unparsable, statuses["unparsable"]),
               "partial": (entry.partial, statuses["missing"] > 0)}
    for what, (told, found) in counted.items():
        if told != found:
            raise _contradiction(made, what, told, found)
    _check_interval(made)


def check_prompts(result: Result, answered: Sequence[Answered]) -> None:
    """Whether the answers are to the prompts of the record, and not another result's. Raises DataError."""
    prompts = {sample.group: sample.prompt for sample in answered}
    if prompts_digest([prompts[group] for group in sorted(prompts)]) != result.prompting.prompts_digest:
        raise DataError(message(f"the answers in a result of {one_line(result.model.path[:200])} are to other prompts",
                                got="prompts whose digest is not the record's", expected="the answers of this result",
                                remedy="evaluate again, or name the folder as it was written"))


def _check_interval(made: Submission) -> None:
    """Wilson's, which follows from the mean; a bootstrap's is drawn."""
    main = made.main
    if main.method != "wilson":
        return
    means = made.row_means()
    low, high = wilson_interval(round(sum(means.values())), len(means)) if means else (main.low, main.high)
    if abs(main.low - low) > TOLERANCE or abs(main.high - high) > TOLERANCE or main.prompts != len(means):
        told, found = (main.low, main.high, main.prompts), (low, high, len(means))
        raise _contradiction(made, f"interval of {main.name} and its rows", told, found)


def _contradiction(made: Submission, what: str, told: object, found: object) -> DataError:
    return DataError(message(f"the record of a result of {made.entry.named} contradicts its answers",
                             got=f"{what}: {told}", expected=f"{found}, as its answers give it",
                             remedy="`reasongym rescore` its folder, and add what that writes"))
