"""Tests of a whole program: one run a test, with the test's input and nothing of its output."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from reasongym.sandbox.backend import Sandbox
from reasongym.sandbox.jobs import Ending, Job, Result
from reasongym.verifiers.code.comparing import Comparison
from reasongym.verifiers.code.judgement import Trial
from reasongym.verifiers.code.limits import MAX_OUTPUT, CodeLimits, out_of_time
from reasongym.verifiers.code.output import difference
from reasongym.verifiers.code.reference import StdioTest

__all__ = ["stdio_trials"]


def stdio_trials(sandbox: Sandbox, code: str, tests: Sequence[StdioTest], by: Comparison,
                 limits: CodeLimits) -> Iterator[Trial]:
    """One a test, in order. Tests beyond the limits in all fail as too slow."""
    deadline, cpu_s = time.monotonic() + limits.total_wall_s, 0.0
    files = {"main.py": code.encode("utf-8", "replace")}
    for test in tests:
        left_cpu_s, left_wall_s = limits.total_cpu_s - cpu_s, deadline - time.monotonic()
        if left_cpu_s <= 0 or left_wall_s <= 0:
            yield Trial(test.shelf, "too slow: the tests before it took all the time there is", timed_out=True)
            continue
        allowed = limits.of_one(left_cpu_s=left_cpu_s, left_wall_s=left_wall_s)
        result = sandbox.run(Job(files=files, stdin=test.given.encode("utf-8", "replace"), limits=allowed))
        cpu_s += result.cpu_s
        yield _trial(test, result, by, allowed.cpu_s)


def _trial(test: StdioTest, result: Result, by: Comparison, limit_s: float) -> Trial:
    if out_of_time(result) or result.cpu_s > limit_s:  # the kernel limits whole seconds
        used = f"{result.cpu_s:.1f} s of CPU time, {result.wall_s:.1f} s in all"
        return Trial(test.shelf, f"stopped after {used}", timed_out=True)
    if result.ending is not Ending.EXITED or result.status != 0:
        how = "ran out of memory" if result.ending is Ending.MEMORY else f"ended with status {result.status}"
        return Trial(test.shelf, how, _last_line(result.stderr))
    if result.cut and len(result.stdout) >= MAX_OUTPUT:  # else it was standard error, which nobody compares
        return Trial(test.shelf, f"wrote more than {MAX_OUTPUT} bytes")
    return Trial(test.shelf, difference(test.expected, result.stdout, by))


def _last_line(stderr: bytes) -> str:
    lines = stderr[-2000:].decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:120] if lines else ""
