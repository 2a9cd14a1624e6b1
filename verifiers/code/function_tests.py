"""Tests by calls: the candidate is called inside its sandbox, and what it returned is compared here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasongym.verifiers.code.answers import Kind
from reasongym.verifiers.code.candidate import Candidate
from reasongym.verifiers.code.comparing import Comparison, same, shown
from reasongym.verifiers.code.judgement import Trial
from reasongym.verifiers.code.reference import CallTest

__all__ = ["call_trials"]


def call_trials(candidate: Candidate, name: str, tests: Sequence[CallTest], by: Comparison) -> Iterator[Trial]:
    """One a test, in order; each is called with arguments of its own, rebuilt from bytes."""
    for test in tests:
        answer = candidate.call(name, test.args, test.kwargs)
        called = f"{name}({_arguments(test)})"
        if answer.kind is not Kind.VALUE:
            yield Trial.failed(test.shelf, answer, called)
        elif same(test.expected, answer.value, by):
            yield Trial(test.shelf)
        else:
            yield Trial(test.shelf, f"returned {shown(answer.value)}", f"{called}, expected {shown(test.expected)}")


def _arguments(test: CallTest) -> str:
    return ", ".join([*map(shown, test.args), *(f"{key}={shown(value)}" for key, value in test.kwargs.items())])[:160]
