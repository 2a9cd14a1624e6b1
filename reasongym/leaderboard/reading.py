"""A result's folder, as `reasongym eval` writes it -> what the store takes. The one place that knows both forms.

The store keeps a record as it was written, with fields that a later release has added: its digest is over these too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reasongym.errors import DataError, message
from reasongym.evaluation.fingerprints import digest_of
from reasongym.evaluation.record import RESULTS, PartRecord, Result, read_record, read_result_samples
from reasongym.evaluation.samples import Sample as Answered
from reasongym.leaderboard.agreeing import check_agrees, check_prompts
from reasongym.leaderboard.entry import Entry, Metric, Sample, Submission
from reasongym.leaderboard.labels import label, variant
from reasongym.leaderboard.published import check_published
from reasongym.leaderboard.storable import one_line

__all__ = ["entry_of", "read_folder", "run_key", "split_rows", "submission"]

NOT_OF_THE_DATA = frozenset({"shots"})
"""Settings of a task that change its prompts and not its problems."""


def read_folder(folder: Path) -> Submission:
    """The result in `folder`. Raises DataError where it is missing, damaged, edited, or of rows that stood in for
    others."""
    written = read_record(folder)
    if "results" in written and "schema_version" not in written:
        raise DataError(message(f"{folder} is an export, and no result", expected="what `reasongym eval` wrote",
                                got="what `reasongym leaderboard export` wrote",
                                remedy=f"reasongym leaderboard import {folder}"))
    result = Result.parse(written, str(folder / RESULTS))
    answered = read_result_samples(folder)
    check_prompts(result, answered)
    return submission(result, (_sample(result, one) for one in answered), written)


def submission(result: Result, samples: Iterable[Sample], written: Mapping[str, Any] | None = None) -> Submission:
    """A record with its samples. written: the record as it was read, where it was.

    Raises DataError where record and samples contradict each other.
    """
    metrics = [Metric(name, found.mean, found.low, found.high, found.method, found.prompts, found.answers)
               for name, found in sorted(result.metrics.items())]
    made = Submission.checked(entry_of(result, written), metrics, samples)
    check_agrees(result, made, [_row(result, index) for index in result.task.rows])
    check_published(made)
    return made


def entry_of(result: Result, written: Mapping[str, Any] | None = None) -> Entry:
    """The columns of a record; written: as it was read. Raises DataError where it has no metric, was judged by nothing,
    holds a number that JSON does not know, or a time that cannot be read."""
    task, count, main = result.task, result.counts, _main_part(result)
    run, step = _of_a_run(result)
    settings = {name: value for name, value in task.settings.items() if name not in NOT_OF_THE_DATA}
    return Entry(
        model=result.model.path, label=label(result), task=task.name, split=task.split,
        settings=json.dumps(settings, sort_keys=True, default=str) if settings else "",
        data_fingerprint=task.fingerprint, verifier=main.verifier, verifier_version=main.fingerprint,
        prompt_hash=result.prompting.prompts_digest, created_at=_utc(result.created), engine=_engine(result),
        commit=str(result.environment.get("commit", "")), prompts=count.get("prompts", 0),
        answers=count.get("answers", 0), truncated=count.get("truncated", 0),
        unparsable=count.get("status_unparsable", 0), timeouts=count.get("timeout", 0),
        errors=count.get("status_error", 0), missing=count.get("missing", 0), tokens=result.tokens.completion,
        seconds=result.seconds.get("total", 0.0), cost=None if result.cost is None else result.cost.total,
        partial=result.partial, headline=_headline(result), substitute_for=_substitute(task.provenance),
        split_rows=split_rows(result), overlap=_overlap(result), variant=variant(result), run=run, step=step,
        record=_as_text(result.model_dump(mode="json") if written is None else written, result.model.path))


def run_key(run_id: str, name: str) -> str:
    """What evaluations of one training run have in common in a store. run_id: of its environment.json. name: of its
    folder, for a copy of a run that goes on under another name is another run."""
    return digest_of([run_id, name])


def _of_a_run(result: Result) -> tuple[str | None, int | None]:
    """Key and step of an evaluation within a training run; None of any other, and of a run that has no id."""
    training, run_id = result.environment.get("training"), result.environment.get("run_id")
    step = training.get("step") if isinstance(training, Mapping) else None
    if type(step) is not int or not isinstance(run_id, str) or not run_id:
        return None, None
    return run_key(run_id, result.model.path.removesuffix(f"@step-{step}")), step


def _main_part(result: Result) -> PartRecord:
    if not result.task.parts:
        raise DataError(message(f"a result of {one_line(result.model.path[:200])} was judged by nothing",
                                got="a record without reward parts", expected="one or more", remedy="evaluate again"))
    return result.task.parts[0]


def _as_text(record: Mapping[str, Any], model: str) -> str:
    """One text for one record, in whatever order it was written."""
    try:
        return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise DataError(message(f"the record of a result of {one_line(model[:200])} is no JSON",
                                got="NaN or an infinite number", expected="finite numbers",
                                remedy="evaluate again")) from error


def _engine(result: Result) -> str:
    engine, versions = result.engine, result.environment.get("versions", {})
    if engine.kind == "endpoint":
        return f"endpoint {engine.server}".strip()
    return f"vllm {versions.get('vllm', '')}".strip() if isinstance(versions, Mapping) else "vllm"


def _headline(result: Result) -> str:
    for name in ("accuracy", "score"):
        if name in result.metrics:
            return name
    raise DataError(message(f"a result of {one_line(result.model.path)} cannot be ranked",
                            got=one_line(str(sorted(result.metrics))),
                            expected="an accuracy or a score", remedy="evaluate again"))


def split_rows(result: Result) -> int | None:
    """Of the split, as a data set's provenance counts them (`train 7473, test 1319`); None of a generator."""
    counts = dict(part.rsplit(" ", 1) for part in result.task.provenance.get("rows", "").split(", ") if " " in part)
    told = counts.get(result.task.split, "")
    return int(told) if told.isdecimal() else None


def _overlap(result: Result) -> float | None:
    """The share that the record holds; of an evaluation within a training run, what the run's record holds, except of
    a generator, whose rows share their wording by design."""
    if result.overlap is not None:
        return result.overlap.share
    found = result.environment.get("overlap")
    share = found.get("share") if isinstance(found, Mapping) and not found.get("generated") else None
    return float(share) if isinstance(share, int | float) and 0 <= share <= 1 else None


def _substitute(provenance: Mapping[str, str]) -> str:
    return str(provenance.get("substitute_for", ""))


def _utc(text: str) -> str:
    """ISO 8601 in one form, to the second: as text it then sorts by time."""
    try:
        time = datetime.fromisoformat(text)
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        raise DataError(message("a result does not say when it was made", got=repr(text)[:60],
                                expected="a time in ISO 8601", remedy="evaluate again")) from error


def _sample(result: Result, answered: Answered) -> Sample:
    example, answer, verdict = answered.prompt.example, answered.answer, answered.main
    scored = verdict is not None and answered.reward is not None
    return Sample(
        row=_row(result, example.index), number=answered.sample, prompt=answered.prompt.text or _spoken(answered),
        reasoning=answer.reasoning, completion=answer.text,
        reference=json.dumps(example.reference, ensure_ascii=False, default=str)
        if not isinstance(example.reference, str) else example.reference,
        extracted=None if verdict is None else verdict.extracted,
        status="missing" if answered.status is None else str(answered.status),
        score=verdict.score if verdict is not None and scored else None,
        reason=answer.error if verdict is None else verdict.reason, parts=_parts(answered),
        finish_reason=answer.finish_reason, tokens=answer.num_tokens, seconds=answer.seconds)


def _row(result: Result, index: int) -> str:
    """A data set's rows have their number; a generator makes other rows of the same number from another seed."""
    return str(index) if "rows" in result.task.provenance else f"{result.decoding.seed}/{index}"


def _spoken(answered: Answered) -> str:
    """The turns of a conversation as text, where an endpoint applied the template."""
    return "\n\n".join(f"[{turn['role']}]\n{turn['content']}" for turn in answered.prompt.example.messages)


def _parts(answered: Answered) -> str:
    if len(answered.verdicts) < 2:
        return ""
    return json.dumps(dict(_verdicts(answered)), ensure_ascii=False)


def _verdicts(answered: Answered) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, verdict in answered.verdicts.items():
        yield name, {"status": str(verdict.status), "score": verdict.score, "extracted": verdict.extracted,
                     "reason": verdict.reason}
