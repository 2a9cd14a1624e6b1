"""One task from its questions to its result: asked, judged, written."""

from __future__ import annotations

import contextlib
from pathlib import Path

from reasongym.evaluation.answering import Source
from reasongym.evaluation.job import Job
from reasongym.evaluation.journal import Journal
from reasongym.evaluation.judging import open_judges
from reasongym.evaluation.progress import Progress
from reasongym.evaluation.record import Result, write_result
from reasongym.evaluation.run import Limits, evaluate

__all__ = ["carry_out"]


def carry_out(job: Job, folder: Path, source: Source) -> Result:
    """Ask what the folder's journal does not know, judge all of it, and write the result. The journal goes when the
    result is whole; until then the same call goes on where this one ended.

    Raises ScoringError, EngineError, ResourceError, ConfigError (another process writes there) and DataError.
    """
    limits = job.config.scoring
    with Journal(folder, job.plan_digest) as journal, open_judges(job.parts, limits) as judges:
        # Closed at once when scoring fails: requests in flight would go on, and write to a closed journal.
        with Progress(job.parts[0].name) as progress, contextlib.closing(source.answers(job, journal)) as answers:
            evaluated = evaluate(answers, job.prompts, samples=job.decoding.samples, scoring=judges.pool,
                                 parts=job.parts, known=journal.known, watch=progress.show,
                                 limits=Limits(limits.max_error_share, limits.timeout_s))
        judges.check_unchanged()
        result = job.result(evaluated, judges.records, engine=source.record(job), served=source.served,
                            earlier_s=journal.seconds)
        write_result(folder, result, evaluated.samples)
        if not result.partial:
            journal.remove()
    return result
