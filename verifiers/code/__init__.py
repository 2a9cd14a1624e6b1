"""Code judged by tests that it can neither see nor forge.

The candidate's program runs in one sandbox, which never holds an expected value, a test or a verdict. It is called with
plain data, and what it returns is rebuilt as exact plain types before anything is compared: here for tests by calls, in
a second sandbox for assertions of a data set. docs/verifiers/code.md describes the references and their policies.

What is not covered: timing as a side channel; a candidate that answers right for the tests' arguments alone (that is
what hidden tests are for); tests that ask a helper of the candidate's for the truth. Known false positives: functions
that change an argument or keep a state where their contract forbids it, since each call has copies and a process of its
own. Known false negatives: generators, coroutines and instances of other classes, also where a test would have accepted
them; functions that answer through a changed argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from reasongym.sandbox.backend import Sandbox
from reasongym.sandbox.jobs import SandboxError
from reasongym.verifiers.code.answers import Answer, Kind
from reasongym.verifiers.code.candidate import Candidate
from reasongym.verifiers.code.check_tests import Examination, check_trials
from reasongym.verifiers.code.extraction import choices, is_head
from reasongym.verifiers.code.function_tests import call_trials
from reasongym.verifiers.code.inside.values import NotPlain
from reasongym.verifiers.code.judgement import Judgement, TestsBroken, judge, legible
from reasongym.verifiers.code.reference import Calls, Check, Reference, ReferenceProblem, Runs, read_reference
from reasongym.verifiers.code.sandboxes import PAIRS, SANDBOXES
from reasongym.verifiers.code.stdio_tests import stdio_trials
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Status, Verdict

__all__ = ["code"]

_ATTEMPTS = 2


@verifier("code", prepare=lambda: SANDBOXES.get(None))
def code(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 when every test passes, else 0; with the reference's "partial" the share of the tests that count.

    example: `prompt`, the head of the function where the row has one (HumanEval); `sandbox`, the backend.
    ERROR for a reference that cannot be used, tests that fail by themselves, and a sandbox that failed twice.
    """
    try:
        asked = read_reference(reference)
    except ReferenceProblem as error:
        return Verdict.error(f"reference: {error}")
    prompt, backend = (str(example.get(key) or "") for key in ("prompt", "sandbox"))
    if asked.entry_point is None or not is_head(prompt, asked.entry_point):
        prompt = ""
    found = choices(response, asked.entry_point, prompt)
    if not found.sources:
        return Verdict.unparsable(found.problem)
    verdict = _attempted(asked, found.sources, prompt, backend or None)
    return replace(verdict, reason=legible(verdict.reason))


def _attempted(asked: Reference, sources: tuple[str, ...], prompt: str, backend: str | None) -> Verdict:
    failure = ""
    for _ in range(_ATTEMPTS):
        try:
            return _judged(SANDBOXES.get(backend), asked, sources, prompt)
        except SandboxError as error:  # the sandbox, not the candidate
            failure = str(error)
        except (TestsBroken, NotPlain) as error:
            return Verdict.error(f"tests: {error}")
    return Verdict.error(f"sandbox: {failure}")


def _judged(sandbox: Sandbox, asked: Reference, sources: tuple[str, ...], prompt: str) -> Verdict:
    if isinstance(asked.tests, Runs):
        return _of_program(sandbox, asked, asked.tests, sources)
    assert asked.entry_point is not None
    return _of_function(sandbox, asked, asked.entry_point, sources, prompt)


def _of_program(sandbox: Sandbox, asked: Reference, runs: Runs, sources: tuple[str, ...]) -> Verdict:
    with Candidate(sandbox, asked.limits) as candidate:
        loaded = candidate.load(sources, None)
    if loaded.kind is not Kind.VALUE:
        return _not_loaded(loaded, "")
    source = sources[_index(loaded)]
    trials = stdio_trials(sandbox, source, runs.tests, runs.comparison, asked.limits)
    return judge(trials, len(runs.tests), partial=asked.partial).verdict(source)


def _of_function(sandbox: Sandbox, asked: Reference, name: str, sources: tuple[str, ...], prompt: str) -> Verdict:
    with ExitStack() as stack:
        with PAIRS:
            candidate = stack.enter_context(Candidate(sandbox, asked.limits))
            tests: Examination | None = None
            if isinstance(asked.tests, Check):
                tests = Examination(sandbox, asked.limits)
                stack.callback(tests.close)
        loaded = candidate.load(sources, name, prompt)
        if loaded.kind is Kind.VALUE:
            verdict = _judgement(asked, candidate, tests, name, prompt).verdict(sources[_index(loaded)])
        else:
            verdict = _not_loaded(loaded, sources[0])
    return verdict


def _judgement(asked: Reference, candidate: Candidate, tests: Examination | None, name: str, prompt: str) -> Judgement:
    if tests is not None:
        assert isinstance(asked.tests, Check)
        found = check_trials(tests, candidate, name, asked.tests, prompt, partial=asked.partial)
        return judge(found, len(found), partial=asked.partial)
    assert isinstance(asked.tests, Calls)
    trials = call_trials(candidate, name, asked.tests.tests, asked.tests.comparison)
    return judge(trials, len(asked.tests.tests), partial=asked.partial)


def _index(loaded: Answer) -> int:
    assert isinstance(loaded.value, int)
    return loaded.value


def _not_loaded(answer: Answer, source: str) -> Verdict:
    if answer.kind is Kind.NONE:
        return Verdict.unparsable(answer.text)
    if answer.kind is Kind.TIMEOUT:
        return Verdict.timeout(f"while it was loaded: {answer.described}")
    return Verdict(score=0.0, status=Status.WRONG, extracted=source, reason=f"while it was loaded: {answer.described}")
