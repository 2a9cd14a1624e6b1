"""`reasongym verify`: check answers in a JSONL file with a verifier, in killable workers."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import click

from reasongym.errors import DataError, message

if TYPE_CHECKING:
    from reasongym.scoring import ScoringPool
    from reasongym.tasks import Example
    from reasongym.verifiers import Verdict

__all__ = ["command"]

PART = "answer"


class Case(NamedTuple):
    """One line of the input. `id` is None where the line has none."""

    id: object
    response: str
    example: Example


@click.command()
@click.option("--verifier", "name", required=True, metavar="NAME", help="A verifier's name, or path/to/file.py:name.")
@click.option("--input", "source", required=True, metavar="FILE", help="JSONL to read; - is standard input.")
@click.option("--output", "target", default="-", show_default=True, metavar="FILE",
              help="JSONL to write; - is standard output.")
@click.option("--workers", default=len(os.sched_getaffinity(0)), type=click.IntRange(min=1),
              show_default="one a CPU", metavar="N", help="Processes that check answers.")
@click.option("--timeout", "timeout_s", default=10.0, show_default=True, metavar="S",
              help="Seconds one answer may take; its worker is killed after that.")
@click.option("--memory-mb", "memory_mib", default=1024, type=click.IntRange(min=1), show_default=True, metavar="M",
              help="MiB a worker may take beyond what it holds when its verifier is loaded.")
def command(name: str, source: str, target: str, workers: int, timeout_s: float, memory_mib: int) -> None:
    """Check answers with a verifier.

    One JSON object a line in, with `response`, `reference` and any further fields, which the verifier gets as
    `example`. One a line out, in the same order: `id` (as it came, or null), `score`, `status`, `extracted`,
    `reason`, `seconds`. A verifier that fails on an answer gives it the status `error`; the command still succeeds.

    \b
    reasongym verify --verifier gsm8k --input answers.jsonl --output verdicts.jsonl
    reasongym verify --verifier my_rules.py:even_number --input - < answers.jsonl
    echo '{"id": 1, "response": "#### 72", "reference": "72"}' | reasongym verify --verifier gsm8k --input -
    """
    from reasongym.scoring import ScoringPool
    from reasongym.tasks import RewardPart

    started = time.monotonic()
    cases = _read(source)
    part = RewardPart(name=PART, verifier=name, weight=1.0)
    verdicts: list[Verdict] = []
    num_workers = min(workers, max(len(cases), 1))
    try:
        with (ScoringPool([part], workers=num_workers, timeout_s=timeout_s, memory_mib=memory_mib) as pool,
              _writing(target) as out, _progress(cases, target) as shown):
            for case, verdict in zip(shown, _in_order(pool, cases), strict=True):
                out.write(_line(case, verdict))
                verdicts.append(verdict)
    except OSError as error:  # of the output: full, or gone
        raise _cannot_write(target, error) from error
    click.echo(_summary(verdicts, time.monotonic() - started), err=True)


def _read(source: str) -> list[Case]:
    """Every line is read and checked before anything is written."""
    try:
        lines = sys.stdin.buffer.readlines() if source == "-" else Path(source).read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(message(f"cannot read {source}", got=error.strerror, expected="a file of JSON lines",
                                remedy="check --input")) from error
    return [_case(text, number) for number, text in enumerate(lines, 1) if text.strip()]


def _case(text: bytes, number: int) -> Case:
    """Raises DataError, naming the line."""
    from reasongym.tasks import Example

    try:
        row = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _bad_line(number, f"is not JSON: {error}", text.decode("utf-8", "replace").strip()[:80]) from error
    if not isinstance(row, dict):
        raise _bad_line(number, "is not an object", type(row).__name__)
    for key in ("response", "reference"):
        if key not in row:
            raise _bad_line(number, f"has no {key!r}", f"keys {', '.join(row) or '(none)'}")
    response, reference, id_ = row.pop("response"), row.pop("reference"), row.pop("id", None)
    if not isinstance(response, str):
        raise _bad_line(number, "has a response that is not text", type(response).__name__)
    # The id stays out of what the verifier sees, so that repeated answers are recognised as such.
    return Case(id_, response, Example(task="verify", split="input", index=number - 1, messages=(),
                                       reference=reference, fields=row))


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _bad_line(number: int, what: str, got: str) -> DataError:
    return DataError(message(f"line {number} of the input {what}", got=got,
                             expected='an object such as {"id": 1, "response": "#### 4", "reference": "4"}',
                             remedy="correct the line; nothing was checked or written"))


def _in_order(pool: ScoringPool, cases: Sequence[Case]) -> Iterator[Verdict]:
    """Verdicts in the order of the cases, while later ones are being checked; the pool's queue bounds how far ahead."""
    waiting: deque[Future[dict[str, Verdict]]] = deque()
    for case in cases:
        waiting.append(pool.submit(case.response, case.example))
        while waiting and waiting[0].done():
            yield waiting.popleft().result()[PART]
    while waiting:
        yield waiting.popleft().result()[PART]


def _line(case: Case, verdict: Verdict) -> str:
    record = {"id": case.id, "score": verdict.score, "status": verdict.status.value, "extracted": verdict.extracted,
              "reason": verdict.reason, "seconds": round(verdict.seconds, 6)}
    return json.dumps(record) + "\n"


@contextlib.contextmanager
def _writing(target: str) -> Iterator[IO[str]]:
    """The output, complete or not at all: written under a temporary name beside it, then renamed.

    Standard output, devices and pipes are written as they are: renaming would put a file in their place.
    """
    path = Path(os.path.realpath(target))
    if target == "-" or (path.exists() and not path.is_file()):
        with contextlib.nullcontext(sys.stdout) if target == "-" else _open(path) as stream:
            yield stream
            stream.flush()
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with _open(partial) as stream:
            yield stream
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _cannot_write(path: str, error: OSError) -> DataError:
    return DataError(message(f"cannot write {path}", got=error.strerror, expected="a place that can be written to",
                             remedy="check --output, and the room on its disk"))


def _open(path: Path) -> IO[str]:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise _cannot_write(str(path), error) from error


@contextlib.contextmanager
def _progress(cases: Sequence[Case], target: str) -> Iterator[Iterator[Case]]:
    """A progress bar on standard error, where a person looks at it and the output does not run across it."""
    if sys.stderr.isatty() and not (target == "-" and sys.stdout.isatty()):
        with click.progressbar(cases, label="checking", file=sys.stderr) as bar:
            yield iter(bar)
    else:
        yield iter(cases)


def _summary(verdicts: Sequence[Verdict], seconds: float) -> str:
    from reasongym.verifiers import Status

    by_status = {status: sum(verdict.status is status for verdict in verdicts) for status in Status}
    told = ", ".join(f"{status} {count}" for status, count in by_status.items() if count)
    scores = [verdict.score for verdict in verdicts if verdict.status is not Status.ERROR]
    mean = f"; mean score {math.fsum(scores) / len(scores):.4f}" if scores else ""
    left_out = " (errors left out)" if scores and by_status[Status.ERROR] else ""
    return f"{len(verdicts)} answers: {told or 'none'}{mean}{left_out}; {seconds:.1f} s"
