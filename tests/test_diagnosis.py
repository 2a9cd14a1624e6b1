"""What a run that cannot learn is told."""

from __future__ import annotations

import pytest
from sample_runs import HOSTILE, group, rollout

from reasongym.records import Group
from reasongym.tracking import Diagnosis
from reasongym.verifiers import Status

WRONG = Status.WRONG
HEALTHY = [group(rollout(1.0), rollout(0.0, status=WRONG))]
ZERO = [group(rollout(0.0, status=WRONG), rollout(0.0, status=WRONG))]
UNPARSABLE = [group(rollout(0.1, status=Status.UNPARSABLE), rollout(0.0, status=Status.UNPARSABLE))]
TRUNCATED = [group(rollout(0.0, status=WRONG, cut=True), rollout(1.0, cut=True))]
FLAT = [group(rollout(1.0), rollout(1.0)), group(rollout(0.0, status=WRONG), rollout(0.0, status=WRONG))]
SOLVED = [group(rollout(1.0), rollout(1.0))]
TIMEOUTS = [group(rollout(0.0, status=Status.TIMEOUT), rollout(0.0, status=Status.TIMEOUT), rollout(1.0))]
HALF_TIMEOUTS = [group(rollout(0.0, status=Status.TIMEOUT), rollout(1.0))]


def said(*steps: list[Group]) -> list[str | None]:
    """The first line of what each step is answered."""
    diagnosis = Diagnosis()
    answers = [diagnosis.observe(number, groups) for number, groups in enumerate(steps, start=1)]
    return [None if answer is None else answer.splitlines()[0] for answer in answers]


@pytest.mark.parametrize(("groups", "what"), [
    (ZERO, "Every reward was 0"), (UNPARSABLE, "No answer could be parsed"), (TRUNCATED, "cut off"),
    (FLAT, "Within every group"), (SOLVED, "Every answer of every prompt"), (TIMEOUTS, "time limit")])
def test_a_trouble_is_said_at_its_third_step_and_not_before(groups: list[Group], what: str) -> None:
    first, second, third, fourth = said(groups, groups, groups, groups)
    assert (first, second, fourth) == (None, None, None)
    assert third is not None
    assert what in third
    assert third.endswith("for 3 steps up to step 3.")


@pytest.mark.parametrize("groups", [HEALTHY, HALF_TIMEOUTS])
def test_a_healthy_run_is_left_alone(groups: list[Group]) -> None:
    assert said(*[groups] * 6) == [None] * 6


def test_two_bad_steps_and_a_good_one_are_no_trouble() -> None:
    assert said(ZERO, ZERO, HEALTHY, ZERO, ZERO) == [None] * 5


def test_after_it_recovers_it_is_said_again() -> None:
    answers = said(*[ZERO] * 4, HEALTHY, *[ZERO] * 4)
    assert [i for i, answer in enumerate(answers) if answer] == [2, 7]


def test_the_cause_is_named_before_its_effect() -> None:
    # cut off, hence unparsable, hence 0: only the first is said; the second once the first is cured
    all_three = [group(rollout(0.0, status=Status.UNPARSABLE, cut=True))]
    parsed_not = [group(rollout(0.0, status=Status.UNPARSABLE))]
    answers = said(*[all_three] * 4, parsed_not)
    assert [bool(answer) for answer in answers] == [False, False, True, False, True]
    assert "cut off" in str(answers[2])
    assert "parsed" in str(answers[4])


def test_steps_whose_verifiers_all_failed_say_nothing_about_the_policy() -> None:
    failed = [group(rollout(None, status=Status.ERROR))]
    assert said(failed, failed, failed, failed) == [None] * 4
    assert said(ZERO, ZERO, failed, ZERO)[3] is not None


def test_the_message_shows_an_example_that_cannot_reach_the_terminal() -> None:
    culprit = rollout(text=HOSTILE + "x" * 5000, prompt=HOSTILE)
    diagnosis, steps = Diagnosis(), [[group(rollout(None, status=Status.ERROR, prompt=HOSTILE), culprit)]] * 3
    message = [diagnosis.observe(step, groups) for step, groups in enumerate(steps)][-1]
    assert message is not None
    assert all(character == "\n" or character.isprintable() for character in message)
    assert "\\x1b[31m\\u202e" in message
    assert "characters left out" in message
    assert len(message) < 3000
    assert "answer: correct, score 1, extracted '7'. as numbers" in message  # the one whose verifier did not fail
