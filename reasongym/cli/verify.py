"""`reasongym verify`: check answers in a JSONL file with a verifier, in killable workers."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import click

from reasongym.errors import DataError, message

if TYPE_CHECKING:
    from reasongym.scoring import ScoringPool
    from reasongym.tasks import Example
    from reasongym.verifiers import Status, Verdict

__all__ = ["command"]

PART = "answer"
MAX_LINE_BYTES = 64 * 2**20
MAX_DEPTH = 100  # of lists and objects in a line; the JSON module itself gives up somewhere near 1,000
MAX_AHEAD = 1024  # answers read while the first of them is still being checked


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
              help="Seconds one answer, or one batch, may take; its worker is killed after that.")
@click.option("--start-timeout", "start_timeout_s", default=30.0, show_default=True, metavar="S",
              help="Seconds a worker may take to import the verifier.")
@click.option("--batch-size", default=32, type=click.IntRange(min=1), show_default=True, metavar="N",
              help="Answers at most that a verifier of batches is given at once.")
@click.option("--memory-mb", "memory_mib", default=1024, type=click.IntRange(min=1), show_default=True, metavar="M",
              help="MiB a worker may take beyond what it holds when its verifier is loaded.")
def command(name: str, source: str, target: str, workers: int, **limits: float) -> None:
    """Check answers with a verifier.

    One JSON object a line in, with `response`, `reference` and any further fields, which the verifier gets as
    `example`. One a line out, in the same order: `id` (as it came, or null), `score`, `status`, `extracted`,
    `reason`, `seconds`. A verifier that fails on an answer gives it the status `error`; the command still succeeds.

    All lines are read and checked for mistakes (a key that stands twice is one) before the first answer is, then read
    again one by one: memory does not grow with their number. The output must not be the input. Input that can be read
    only once, such as a pipe, is kept in a temporary file for that.

    \b
    reasongym verify --verifier gsm8k --input answers.jsonl --output verdicts.jsonl
    reasongym verify --verifier my_rules.py:even_number --input - < answers.jsonl
    echo '{"id": 1, "response": "#### 72", "reference": "72"}' | reasongym verify --verifier gsm8k --input -
    """
    from reasongym.scoring import ScoringPool
    from reasongym.tasks import RewardPart

    # limits: those of ScoringPool, under the names they have there
    started = time.monotonic()
    part = RewardPart(name=PART, verifier=name, weight=1.0)
    _check_apart(source, target)
    with _reading(source) as stream:
        begin = stream.tell()
        num_cases = sum(1 for _ in _cases(stream, source))
        stream.seek(begin)
        num_workers = min(workers, max(num_cases, 1))
        with ScoringPool([part], workers=num_workers, **limits) as pool:  # type: ignore[arg-type]
            tally = _write(_in_order(pool, _cases(stream, source)), num_cases, target)
    click.echo(tally.summary(time.monotonic() - started), err=True)


def _check_apart(source: str, target: str) -> None:
    """Raises DataError where the verdicts would be written over the answers."""
    if "-" in (source, target) or not (Path(source).is_file() and Path(target).is_file()):
        return
    if os.path.samefile(source, target):
        raise DataError(message(f"the output {target} is the input", got=f"--input {source} --output {target}",
                                expected="two files", remedy="give --output another name"))


def _write(verdicts: Iterator[tuple[object, Verdict]], num_cases: int, target: str) -> _Tally:
    tally = _Tally()
    try:
        with _writing(target) as out, _progress(verdicts, num_cases, target) as shown:
            for id_, verdict in shown:
                out.write(_line(id_, verdict))
                tally.add(verdict)
    except OSError as error:  # full, or gone
        raise _cannot_write(target, error) from error
    return tally


@contextlib.contextmanager
def _reading(source: str) -> Iterator[IO[bytes]]:
    """The input, in a form that can be read twice. Raises DataError."""
    import shutil
    import tempfile

    with contextlib.ExitStack() as stack:
        try:
            stream: IO[bytes] = sys.stdin.buffer if source == "-" else stack.enter_context(Path(source).open("rb"))
            if not stream.seekable():
                kept = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(stream, kept)
                kept.seek(0)
                stream = kept
        except OSError as error:
            raise _cannot_read(source, error) from error
        yield stream


def _cannot_read(source: str, error: OSError) -> DataError:
    return DataError(message(f"cannot read {source}", got=error.strerror, expected="a file of JSON lines",
                             remedy="check --input"))


def _cases(stream: IO[bytes], source: str) -> Iterator[Case]:
    """Raises DataError, naming the line."""
    number = 0
    while True:
        try:
            text = stream.readline(MAX_LINE_BYTES + 1)
        except OSError as error:
            raise _cannot_read(source, error) from error
        number += 1
        if len(text) > MAX_LINE_BYTES:
            raise _bad_line(number, "is too long", f"more than {MAX_LINE_BYTES} bytes")
        if not text:
            return
        if text.strip():
            yield _case(text, number)


def _case(text: bytes, number: int) -> Case:
    from reasongym.tasks import Example

    try:
        row = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_float=_finite,
                         object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise _bad_line(number, f"is not JSON: {error}", text[:400].decode("utf-8", "replace").strip()[:80]) from error
    if not isinstance(row, dict):
        raise _bad_line(number, "is not an object", type(row).__name__)
    if _is_deeper(row, MAX_DEPTH):
        raise _bad_line(number, f"is nested more than {MAX_DEPTH} deep", f"keys {', '.join(row):.80}")
    for key in ("response", "reference"):
        if key not in row:
            raise _bad_line(number, f"has no {key!r}", f"keys {', '.join(row) or '(none)':.80}")
    response, reference, id_ = row.pop("response"), row.pop("reference"), row.pop("id", None)
    if not isinstance(response, str):
        raise _bad_line(number, "has a response that is not text", type(response).__name__)
    # The id stays out of what the verifier sees, so that repeated answers are recognised as such.
    return Case(id_, response, Example(task="verify", split="input", index=number - 1, messages=(),
                                       reference=reference, fields=row))


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return row


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text:.40} is too large for a number; write it as text")
    return value


def _is_deeper(value: object, depth: int) -> bool:
    """Level by level: no recursion, whatever the depth."""
    level = [value]
    for _ in range(depth + 1):
        level = [child for item in level if isinstance(item, dict | list)
                 for child in (item.values() if isinstance(item, dict) else item)]
    return bool(level)


def _bad_line(number: int, what: str, got: str) -> DataError:
    return DataError(message(f"line {number} of the input {what}", got=got,
                             expected='an object such as {"id": 1, "response": "#### 4", "reference": "4"}',
                             remedy="correct the line; nothing was checked or written"))


def _in_order(pool: ScoringPool, cases: Iterator[Case]) -> Iterator[tuple[object, Verdict]]:
    """Ids and verdicts in the order of the cases, while later ones are being checked."""
    waiting: deque[tuple[object, Future[dict[str, Verdict]]]] = deque()
    for case in cases:
        waiting.append((case.id, pool.submit(case.response, case.example)))
        while waiting and (waiting[0][1].done() or len(waiting) >= MAX_AHEAD):
            id_, future = waiting.popleft()
            yield id_, future.result()[PART]
    for id_, future in waiting:
        yield id_, future.result()[PART]


def _line(id_: object, verdict: Verdict) -> str:
    record = {"id": id_, "score": verdict.score, "status": verdict.status.value, "extracted": verdict.extracted,
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
def _progress(verdicts: Iterator[tuple[object, Verdict]], length: int,
              target: str) -> Iterator[Iterator[tuple[object, Verdict]]]:
    """A progress bar on standard error, where a person looks at it and the output does not run across it."""
    if sys.stderr.isatty() and not (target == "-" and sys.stdout.isatty()):
        with click.progressbar(verdicts, length=length, label="checking", file=sys.stderr) as bar:
            yield iter(bar)
    else:
        yield verdicts


class _Tally:
    """Counts of what was written, for the line a person reads at the end."""

    def __init__(self) -> None:
        self._counts: Counter[Status] = Counter()
        self._total_score = 0.0

    def add(self, verdict: Verdict) -> None:
        self._counts[verdict.status] += 1
        self._total_score += verdict.score

    def summary(self, seconds: float) -> str:
        from reasongym.verifiers import Status

        told = ", ".join(f"{status} {self._counts[status]}" for status in Status if self._counts[status])
        errors = self._counts[Status.ERROR]
        num_scored = self._counts.total() - errors
        mean = f"; mean score {self._total_score / num_scored:.4f}" if num_scored else ""
        left_out = " (errors left out)" if num_scored and errors else ""
        return f"{self._counts.total()} answers: {told or 'none'}{mean}{left_out}; {seconds:.1f} s"
