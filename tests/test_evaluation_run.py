"""The figures of an evaluation: what counts, what is left out, how wide the intervals are."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pytest

from reasongym.errors import EngineError, ScoringError
from reasongym.evaluation.progress import Progress
from reasongym.evaluation.record import Estimate
from reasongym.evaluation.run import Evaluated, Limits, Tally, evaluate
from reasongym.evaluation.samples import Answer
from reasongym.evaluation.summary import estimate, figures
from reasongym.records import Prompt
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Verdict

PARTS = (RewardPart(name="correct", verifier="gsm8k", weight=1.0),)
VERDICTS = {"right": Verdict.correct("1"), "wrong": Verdict.wrong("2"), "mute": Verdict.unparsable(),
            "slow": Verdict.timeout("killed"), "broken": Verdict.error("boom")}


class Scored:
    """A scoring pool that knows its verdict from the answer's text."""

    def submit(self, response: str, example: Example) -> Future[dict[str, Verdict]]:
        future: Future[dict[str, Verdict]] = Future()
        future.set_result({"correct": VERDICTS[response]})
        return future


def prompts(count: int) -> list[Prompt]:
    examples = [Example(task="t", split="test", index=i, messages=(), reference="1") for i in range(count)]
    return [Prompt(example=example, token_ids=(1,), text="") for example in examples]


def evaluated(answers: Sequence[Sequence[str]], *, limit: float = 1.0, keep: Callable[[int], bool] = lambda n: True,
              watch: Callable[[Tally], None] = lambda tally: None) -> Evaluated:
    """`answers`: texts, prompts by samples. They come in reverse order, as completions may."""
    asked, samples = prompts(len(answers)), len(answers[0])
    stream = [((row, sample), Answer(text=answers[row][sample], num_tokens=3))
              for row in reversed(range(len(answers))) for sample in reversed(range(samples))]
    return evaluate((one for n, one in enumerate(stream) if keep(n)), asked, samples=samples,
                    scoring=Scored(), parts=PARTS, limits=Limits(limit, 1.0), watch=watch)  # type: ignore[arg-type]


def interval_of(found: Estimate) -> tuple[float, float]:
    return found.low, found.high


def test_answers_that_end_in_another_order_are_not_given_to_other_prompts() -> None:
    samples = evaluated([["right", "wrong"], ["mute", "slow"]]).samples
    assert [(s.group, s.sample, s.answer.text) for s in samples] == [
        (0, 0, "right"), (0, 1, "wrong"), (1, 0, "mute"), (1, 1, "slow")]


def test_a_verifier_error_is_not_counted_as_a_wrong_answer() -> None:
    found = figures(evaluated([["right"], ["wrong"], ["mute"], ["broken"]]).samples)
    # 1 right of the 3 that were checked; over all four it would be 0.25
    assert (found.metrics["accuracy"].mean, found.metrics["accuracy"].prompts) == (pytest.approx(1 / 3), 3)
    assert found.shares == {"truncated": 0.0, "unparsable": 0.25, "timeout": 0.0, "error": 0.25, "missing": 0.0}


def test_a_timeout_is_a_wrong_answer_that_is_counted_apart() -> None:
    found = figures(evaluated([["right"], ["slow"]]).samples)
    assert (found.metrics["accuracy"].mean, found.shares["timeout"], found.counts["timeout"]) == (0.5, 0.5, 1)


def test_too_many_verifier_errors_stop_before_the_rest_is_sampled() -> None:
    sampled: list[int] = []
    # limit 0.1 of 20 answers: 2 errors pass, the third stops; the answers come last first
    answers = [["right"]] * 17 + [["broken"]] * 3
    with pytest.raises(ScoringError, match=r"3 of 3 answers without a verdict, the first: boom"):
        evaluated(answers, limit=0.1, watch=lambda tally: sampled.append(tally.sampled))
    assert max(sampled) == 3
    assert figures(evaluated([*answers[:19], ["right"]], limit=0.1).samples).metrics["accuracy"].mean == 1.0


def test_an_answer_that_never_came_is_missing_and_not_wrong() -> None:
    found = evaluated([["right"], ["wrong"]], keep=lambda n: n == 1)  # of the first prompt, as the last come first
    assert (found.missing, [bool(s.answer.error) for s in found.samples]) == (1, [False, True])
    shown = figures(found.samples)
    assert (shown.metrics["accuracy"].mean, shown.shares["missing"], shown.counts["status_wrong"]) == (1.0, 0.5, 0)
    with pytest.raises(EngineError, match="not one answer came"):
        evaluated([["right"], ["wrong"]], keep=lambda n: False)


def test_a_failure_of_the_endpoint_is_never_verified_as_a_text() -> None:
    stream = [((0, 0), Answer(text="right")), ((1, 0), Answer(text="wrong", error="status 500"))]
    found = evaluate(stream, prompts(2), samples=1, scoring=Scored(), parts=PARTS,  # type: ignore[arg-type]
                     limits=Limits(1.0, 1.0))
    assert (found.missing, found.samples[1].verdicts, found.samples[1].reward) == (1, {}, None)
    assert figures(found.samples).metrics["accuracy"].mean == 1.0
    with pytest.raises(EngineError, match="status 500"):
        evaluate(stream[1:], prompts(2), samples=1, scoring=Scored(), parts=PARTS,  # type: ignore[arg-type]
                 limits=Limits(1.0, 1.0))


def test_answers_of_an_earlier_session_are_scored_and_not_counted_as_speed() -> None:
    tallies: list[Tally] = []
    known = {(0, 0): Answer(text="right", num_tokens=100)}
    found = evaluate([((1, 0), Answer(text="wrong", num_tokens=7))], prompts(2), samples=1, parts=PARTS, known=known,
                     scoring=Scored(), limits=Limits(1.0, 1.0), watch=tallies.append)  # type: ignore[arg-type]
    assert (figures(found.samples).metrics["accuracy"].mean, tallies[-1].tokens, tallies[-1].known) == (0.5, 7, 1)


def test_pass_at_k_is_the_unbiased_estimate_and_leaves_out_prompts_that_lost_samples() -> None:
    found = figures(evaluated([["right", "wrong", "wrong", "wrong"], ["right", "right", "wrong", "broken"]]).samples)
    # prompt 1: 1 of 4 right, prompt 2: 2 of the 3 checked. k=1: (1/4 + 2/3)/2; k=2: (1/2 + 1)/2 as 1 - C(3,2)/C(4,2) =
    # 1/2 and 1 - C(1,2)/C(3,2) = 1; k=4: the first prompt alone, which has a right answer
    shown = {name: e.mean for name, e in found.metrics.items() if name.startswith("pass@")}
    assert shown == pytest.approx({"pass@1": 11 / 24, "pass@2": 0.75, "pass@4": 1.0})
    assert (found.metrics["pass@4"].prompts, found.metrics["avg@4"].mean) == (1, 0.25)
    assert list(figures(evaluated([["right"]]).samples).metrics) == ["accuracy"]


def test_maj_at_k_counts_votes_for_what_was_extracted() -> None:
    # of the whole draw of 3: two votes for the right "1" against one for "2"; then one vote each: a tie, half a point
    found = figures(evaluated([["right", "right", "wrong"], ["right", "wrong", "mute"]]).samples)
    assert found.metrics["maj@3"].mean == (1.0 + 0.5) / 2


def test_there_is_no_majority_where_a_right_answer_cannot_be_voted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERDICTS, "right", Verdict.correct())  # as of a verifier of programs
    assert "maj@2" not in figures(evaluated([["right", "wrong"]]).samples).metrics


def test_samples_of_a_prompt_do_not_narrow_the_interval_as_new_prompts_would() -> None:
    alike, single = estimate([[1.0] * 8, [0.0] * 8] * 10), estimate([[1.0], [0.0]] * 10)
    assert (alike.method, single.method) == ("bootstrap", "wilson")
    # both rest on 20 prompts: widths near 2 x 1.96 x sqrt(0.25/20) = 0.44; 160 samples taken singly would give 0.155
    assert alike.high - alike.low > 0.35
    assert single.high - single.low > 0.35


def test_a_model_that_never_succeeds_still_gets_an_interval_with_a_width() -> None:
    # Wilson, 0 of 20 prompts: high = z^2/n / (1 + z^2/n) = 0.1921 / 1.1921
    assert (0.0, pytest.approx(0.1611, abs=1e-4)) == interval_of(estimate([[0.0] * 4] * 20))


def test_the_running_interval_counts_prompts_not_samples() -> None:
    tally = Tally(total=8)
    for sample in range(4):
        tally.take((0, sample), {"correct": VERDICTS["right"]})
    # Wilson, 1 of 1 prompt: low = 1/(1 + z^2) = 0.2065; as 4 of 4 it would be 0.51
    assert tally.interval == (pytest.approx(0.2065, abs=1e-4), 1.0)


def test_progress_shows_score_interval_and_time_left() -> None:
    stream, now = io.StringIO(), iter([0.0, 0.0, 20.0, 20.0, 20.0, 20.0])
    with Progress("correct", plain=True, stream=stream, clock=lambda: next(now)) as progress:
        tally = Tally(total=4, sampled=1, tokens=100)
        tally.take((0, 0), {"correct": VERDICTS["right"]})
        progress.show(tally)
    # 1 of 4 after 20 s: 60 s for the other three; 100 tokens in 20 s
    assert stream.getvalue() == "sampled 1/4 · scored 1 · correct 1.000 [0.207, 1.000] · 5 tokens/s · 1 min 00 s left\n"
