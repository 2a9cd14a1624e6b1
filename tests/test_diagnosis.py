"""What a run that cannot learn is told."""

from __future__ import annotations

import math
from statistics import fmean

import pytest
from conftest import REPO_ROOT
from sample_runs import HOSTILE, group, rollout

from reasongym.records import FinishReason, Group
from reasongym.tracking import Diagnosis
from reasongym.tracking.troubles import OVERFIT, TROUBLES
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


def metrics(groups: list[Group]) -> dict[str, float]:
    """Of a step, as they are written."""
    rollouts = [one for group in groups for one in group.rollouts]
    rewards = [one.reward for one in rollouts if one.reward is not None]
    return {"reward/mean": fmean(rewards) if rewards else math.nan,
            "rollout/flat_group_share": fmean(group.is_flat for group in groups),
            "rollout/truncated_share": fmean(one.completion.finish_reason is FinishReason.LENGTH for one in rollouts),
            **{f"status/{status}": fmean(one.status is status for one in rollouts) for status in Status}}


def said(*steps: list[Group]) -> list[str | None]:
    """The first line of what each step is answered."""
    diagnosis = Diagnosis()
    answers = [diagnosis.observe(number, metrics(groups), groups) for number, groups in enumerate(steps, start=1)]
    return [None if answer is None else answer.splitlines()[0] for answer in answers]


@pytest.mark.parametrize(("groups", "what"), [
    (ZERO, "Every reward is 0"), (UNPARSABLE, "no answer can be parsed"), (TRUNCATED, "cut off"),
    (FLAT, "Nearly all groups"), (SOLVED, "every answer is right"), (TIMEOUTS, "time limit")])
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
    message = [diagnosis.observe(step, metrics(groups), groups) for step, groups in enumerate(steps)][-1]
    assert message is not None
    assert all(character == "\n" or character.isprintable() for character in message)
    assert "\\x1b[31m\\u202e" in message
    assert "characters left out" in message
    assert len(message) < 3000
    assert "answer: correct, score 1, extracted '7'. as numbers" in message  # the one whose verifier did not fail


def test_a_step_that_dynamic_sampling_has_cleaned_is_judged_by_all_it_sampled() -> None:
    diagnosis, flat = Diagnosis(), metrics(FLAT)
    assert "Nearly all groups" in str([diagnosis.observe(step, flat, HEALTHY) for step in range(3)][-1])


def test_a_trouble_of_which_no_answer_is_an_example_is_said_without_one() -> None:
    diagnosis = Diagnosis()
    message = [diagnosis.observe(step, metrics(TIMEOUTS), HEALTHY) for step in range(3)][-1]
    assert message is not None
    assert "One of them" not in message


@pytest.mark.parametrize("page", ["troubleshooting.md", "reading-metrics.md"])
def test_the_documentation_names_every_trouble_as_it_is_said(page: str) -> None:
    text = (REPO_ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [what for what in (*(trouble.what for trouble in TROUBLES), OVERFIT) if f"`{what}`" not in text] == []
