"""The figures of an evaluation: what counts, what is left out, how wide the intervals are."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pytest

from reasongym.errors import EngineError, ScoringError
from reasongym.evaluation.progress import Progress
from reasongym.evaluation.run import Evaluated, Limits, Tally, evaluate
from reasongym.evaluation.summary import estimate, summarize
from reasongym.records import Completion, FinishReason, Prompt
from reasongym.rollout.requests import requests_for
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


def completion(text: str, *, tokens: int = 3, cut: bool = False) -> Completion:
    return Completion(token_ids=(1,) * tokens, logprobs=(0.0,) * tokens, mask=(True,) * tokens, versions=(0,) * tokens,
                      text=text, finish_reason=FinishReason.LENGTH if cut else FinishReason.STOP, seed=0)


def prompts(count: int) -> list[Prompt]:
    examples = [Example(task="t", split="test", index=i, messages=(), reference="1") for i in range(count)]
    return [Prompt(example=example, token_ids=(1,), text="") for example in examples]


def evaluated(answers: Sequence[Sequence[str]], *, limit: float = 1.0, keep: Callable[[int], bool] = lambda n: True,
              watch: Callable[[Tally], None] = lambda tally: None) -> Evaluated:
    """`answers`: texts, prompts by samples. They come in reverse order, as completions may."""
    asked, samples = prompts(len(answers)), len(answers[0])
    requests = requests_for(asked, samples=samples, max_new_tokens=8, temperature=1.0, seed=0, step=0)
    stream = [(r, completion(answers[r.key[0]][r.key[1]])) for r in reversed(requests)]
    return evaluate((one for n, one in enumerate(stream) if keep(n)), asked, samples=samples,
                    scoring=Scored(), parts=PARTS, limits=Limits(limit, 1.0), watch=watch)  # type: ignore[arg-type]


def test_answers_that_end_in_another_order_are_not_given_to_other_prompts() -> None:
    groups = evaluated([["right", "wrong"], ["mute", "slow"]]).groups
    assert [[r.completion.text for r in g.rollouts] for g in groups] == [["right", "wrong"], ["mute", "slow"]]


def test_a_verifier_error_is_not_counted_as_a_wrong_answer() -> None:
    found = summarize(evaluated([["right"], ["wrong"], ["mute"], ["broken"]]).groups)
    # 1 right of the 3 that were checked; over all four it would be 0.25
    assert (found.parts["correct"].mean, found.parts["correct"].prompts) == (pytest.approx(1 / 3), 3)
    assert found.shares == {"truncated": 0.0, "unparsable": 0.25, "timeout": 0.0, "error": 0.25}


def test_a_timeout_is_a_wrong_answer_that_is_counted_apart() -> None:
    found = summarize(evaluated([["right"], ["slow"]]).groups)
    assert (found.parts["correct"].mean, found.shares["timeout"], found.timeouts) == (0.5, 0.5, 1)


def test_too_many_verifier_errors_stop_before_the_rest_is_sampled() -> None:
    sampled: list[int] = []
    # limit 0.1 of 20 answers: 2 errors pass, the third stops; the answers come last first
    answers = [["right"]] * 17 + [["broken"]] * 3
    with pytest.raises(ScoringError, match=r"3 of 3 answers without a verdict, the first: boom"):
        evaluated(answers, limit=0.1, watch=lambda tally: sampled.append(tally.sampled))
    assert max(sampled) == 3
    assert summarize(evaluated([*answers[:19], ["right"]], limit=0.1).groups).parts["correct"].mean == 1.0


def test_completions_that_never_came_are_not_passed_over() -> None:
    with pytest.raises(EngineError, match="1 completions"):
        evaluated([["right"], ["wrong"]], keep=lambda n: n == 0)


def test_pass_at_k_is_the_unbiased_estimate_and_leaves_out_prompts_that_lost_samples() -> None:
    found = summarize(evaluated([["right", "wrong", "wrong", "wrong"], ["right", "right", "wrong", "broken"]]).groups)
    # prompt 1: 1 of 4 right, prompt 2: 2 of the 3 checked. k=1: (1/4 + 2/3)/2; k=2: (1/2 + 1)/2 as 1 - C(3,2)/C(4,2) =
    # 1/2 and 1 - C(1,2)/C(3,2) = 1; k=4: the first prompt alone, which has a right answer
    assert {k: e.mean for k, e in found.pass_at_k.items()} == pytest.approx({1: 11 / 24, 2: 0.75, 4: 1.0})
    assert found.pass_at_k[4].prompts == 1
    assert not summarize(evaluated([["right"]]).groups).pass_at_k


def test_samples_of_a_prompt_do_not_narrow_the_interval_as_new_prompts_would() -> None:
    alike, single = estimate([[1.0] * 8, [0.0] * 8] * 10), estimate([[1.0], [0.0]] * 10)
    assert (alike.method, single.method) == ("bootstrap", "wilson")
    # both rest on 20 prompts: widths near 2 x 1.96 x sqrt(0.25/20) = 0.44; 160 samples taken singly would give 0.155
    assert alike.high - alike.low > 0.35
    assert single.high - single.low > 0.35


def test_a_model_that_never_succeeds_still_gets_an_interval_with_a_width() -> None:
    # Wilson, 0 of 20 prompts: high = z^2/n / (1 + z^2/n) = 0.1921 / 1.1921
    assert (0.0, pytest.approx(0.1611, abs=1e-4)) == estimate([[0.0] * 4] * 20)[1:3]


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
