"""Several verifiers made one: shares, gates, penalties, and that no wrong answer ever passes a right one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reasongym.scoring import ScoringPool
from reasongym.tasks import Example, RewardPart
from reasongym.verifiers import Status, Verdict
from reasongym.verifiers.composite import Composite, Part, Weighted
from reasongym.verifiers.penalties import LengthPenalty, RepetitionPenalty, Unit, soft_overlong


def says(name: str) -> Part:
    """A part that scores what the row's field of its name says."""
    def check(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict | float:
        told = example[name]
        return Verdict(score=0.0, status=Status(told), reason="told") if isinstance(told, str) else float(str(told))

    return Part(name, check, 1.0)


RIGHT, FORM = says("right"), says("form")._replace(weight=0.25)
TWO = Composite([RIGHT, FORM])
GATED = Composite([RIGHT, FORM._replace(needs="right")])


def scored(made: Composite, response: str = "", **fields: object) -> Verdict:
    return made(response, None, example=fields)


def test_weights_are_shares_of_their_sum() -> None:
    # 1 / 1.25 = 0.8 and 0.25 / 1.25 = 0.2
    assert scored(TWO, right=1, form=1) == Verdict(score=1.0, status=Status.CORRECT, reason="right 1, form 1")
    assert scored(TWO, right=1, form=0).score == pytest.approx(0.8)
    assert scored(TWO, right=0, form=1).score == pytest.approx(0.2)
    assert scored(TWO, right=0.5, form=0.5).score == pytest.approx(0.5)
    assert scored(TWO, right=1, form=0).status is Status.PARTIAL
    assert scored(TWO, right="unparsable", form=0).status is Status.UNPARSABLE


def test_a_gated_part_pays_nothing_for_a_wrong_answer_and_is_not_run() -> None:
    assert scored(GATED, right=0, form=1).score == 0
    assert scored(GATED, right=0.9, form=1).score == pytest.approx(0.72)
    assert scored(GATED, right=0, form="error").status is Status.WRONG
    assert scored(GATED, right=1, form=1).score == 1


@pytest.mark.parametrize(("right", "form", "status"), [
    ("error", 1, Status.ERROR), (1, "error", Status.ERROR), (1, "timeout", Status.TIMEOUT),
    ("timeout", "error", Status.ERROR)])
def test_a_part_that_failed_is_no_reward(right: object, form: object, status: Status) -> None:
    verdict = scored(TWO, right=right, form=form)
    assert (verdict.status, verdict.score) == (status, 0)
    assert "told" in verdict.reason


def test_many_right_parts_make_exactly_one() -> None:
    """Ten shares of 1/10 add up to 0.9999999999999999 one by one."""
    ten = [says(f"p{n}") for n in range(10)]
    gated = [ten[0], *(part._replace(needs="p0") for part in ten[1:])]
    assert scored(Composite(gated), **{f"p{n}": 1 for n in range(10)}).status is Status.CORRECT
    assert scored(Composite(gated), **{f"p{n}": int(n != 9) for n in range(10)}).status is Status.PARTIAL


def test_no_wrong_answer_passes_a_right_one_and_no_penalty_raises_a_score() -> None:
    penalties = [Weighted("long", LengthPenalty(free=0, full=4, unit="words"), 0.3),
                 Weighted("repeats", RepetitionPenalty(size=1, free=0.0), 0.2)]
    made = Composite([RIGHT, FORM], penalties=penalties)
    bare = Composite([RIGHT, FORM])
    scores: dict[float, list[float]] = {0.0: [], 1.0: []}
    for response, right, form in itertools.product(("", "a", "a a", "a a a a a a"), (0.0, 1.0), (0.0, 0.5, 1.0)):
        score = scored(made, response, right=right, form=form).score
        assert 0 <= score <= scored(bare, response, right=right, form=form).score
        scores[right].append(score)
    assert max(scores[0.0]) < min(scores[1.0])
    # 0.8 + 0.2 - 0.3 x 1 - 0.2 x 5/6: six words of which five repeat
    assert scored(made, "a a a a a a", right=1, form=1).score == pytest.approx(0.7 - 0.2 * 5 / 6)


def test_an_answer_that_is_right_in_part_stays_below_a_right_one() -> None:
    """0.6 x 0.9 + 0.4 = 0.94 would pass the 0.6 of a right answer without the form; with the penalty, its 0.6 - 0.1."""
    penalty = Weighted("long", LengthPenalty(free=0, full=1, unit="words"), 0.1)
    parts = [RIGHT._replace(weight=0.6), FORM._replace(weight=0.4)]
    for made, least in ((Composite(parts), 0.6), (Composite(parts, penalties=[penalty]), 0.5)):
        assert scored(made, "a b", right=1, form=0).score == pytest.approx(least)
        assert scored(made, "", right=0.9, form=1).score < least
        assert scored(made, "", right=0.1, form=0.5).score == pytest.approx(0.26)  # 0.06 + 0.2


@pytest.mark.parametrize("part", [Part("a", "gsm8k", 1.0), Part("a", None, 1.0)])  # type: ignore[arg-type]
def test_a_name_in_place_of_a_verifier_is_refused_when_it_is_made(part: Part) -> None:
    with pytest.raises(ValueError, match="has to be a function"):
        Composite([part])
    with pytest.raises(ValueError, match="has to be a function"):
        Composite([RIGHT], penalties=[Weighted("long", "short", 0.1)])  # type: ignore[arg-type]


@pytest.mark.parametrize(("parts", "weights"), [
    ([RIGHT, FORM._replace(weight=1.0)], []), ([RIGHT, FORM], [0.6]), ([RIGHT], [1.0]), ([RIGHT], [0.5, 0.5]),
    ([RIGHT, FORM._replace(weight=9.0, needs="right")], []), ([], []), ([RIGHT, RIGHT], []), ([RIGHT], [0.0]),
    ([RIGHT], [float("nan")]), ([RIGHT, FORM._replace(weight=-0.1)], []), ([RIGHT, FORM._replace(needs="none")], []),
    ([RIGHT, FORM._replace(needs="form")], [])])
def test_weights_that_let_a_wrong_answer_pass_are_refused(parts: list[Part], weights: list[float]) -> None:
    penalties = [Weighted(f"long{n}", soft_overlong(longest=9, buffer=3, unit="words"), weight)
                 for n, weight in enumerate(weights)]
    if parts[1:] and parts[1].weight == 9.0:  # gated: a large weight takes nothing from the order
        assert scored(Composite(parts), right=1, form=0).score == pytest.approx(0.1)
        return
    with pytest.raises(ValueError, match=r"got|could score"):
        Composite(parts, penalties=penalties)


def test_a_coroutine_function_is_no_part() -> None:
    async def later(response: str, reference: object, *, example: Mapping[str, object]) -> bool:
        return True

    with pytest.raises(ValueError, match="await"):
        Composite([Part("later", later, 1.0)])  # type: ignore[arg-type]


def overlong_of_the_paper(length: int, longest: int, buffer: int) -> Fraction:
    """arXiv 2503.14476, equation 13, word for word."""
    if length <= longest - buffer:
        return Fraction(0)
    if length <= longest:
        return Fraction((longest - buffer) - length, buffer)
    return Fraction(-1)


@pytest.mark.parametrize("unit", ["characters", "words"])
def test_soft_overlong_is_the_papers(unit: Unit) -> None:
    penalty = soft_overlong(longest=20, buffer=8, unit=unit)
    for length in range(40):
        response = "x" * length if unit == "characters" else " ".join("x" * length)
        assert penalty(response) == float(-overlong_of_the_paper(length, 20, 8)), length


def test_dapos_strength_is_weight_one_half() -> None:
    """The paper's r + R over [-1, 1], mapped to (r + R + 1) / 2: 1 - p/2 where right, and 0 at least where wrong."""
    overlong = soft_overlong(longest=4, buffer=4, unit="words")
    made = Composite([RIGHT], penalties=[Weighted("long", overlong, 0.5 - 1e-6)])
    for length in range(7):
        response = " ".join("x" * length)
        expected = (1 + overlong_of_the_paper(length, 4, 4) + 1) / 2
        assert scored(made, response, right=1).score == pytest.approx(float(expected), abs=1e-5)
        assert scored(made, response, right=0).score == 0


@pytest.mark.parametrize(("response", "share"), [
    ("", 0), ("a", 0), ("a b c d", 0), ("a b a b a b", 1 - 2 / 5),  # ab ba ab ba ab: 2 different of 5
    ("a a a a a a a a a a a", 1 - 1 / 10), ("A a A a", 1 - 1 / 3), ("\ud800 \x00", 0)])
def test_repetition_is_the_share_of_ngrams_seen_before(response: str, share: float) -> None:
    assert RepetitionPenalty(size=2, free=0.0)(response) == pytest.approx(share)
    assert RepetitionPenalty(size=2, free=0.5)(response) == pytest.approx(max(2 * (share - 0.5), 0))


def test_repetition_of_a_long_text_is_bounded() -> None:
    assert RepetitionPenalty(unit="characters")("ab" * 5_000_000) > 0.99
    assert RepetitionPenalty()("word " * 2_000_000) > 0.99


@pytest.mark.parametrize("make", [
    lambda: LengthPenalty(free=5, full=5, unit="words"), lambda: LengthPenalty(free=-1, full=5, unit="words"),
    lambda: LengthPenalty(free=1, full=5, unit="tokens"), lambda: soft_overlong(longest=5, buffer=0, unit="words"),
    lambda: soft_overlong(longest=5, buffer=6, unit="words"), lambda: RepetitionPenalty(size=0),
    lambda: RepetitionPenalty(free=1.0), lambda: RepetitionPenalty(unit="tokens")])
def test_a_penalty_that_cannot_be_is_refused(make: object) -> None:
    with pytest.raises(ValueError, match="got"):
        make()  # type: ignore[operator]


def test_the_composite_of_the_docs_is_a_verifier_of_a_file(tmp_path: Path, repo_root: Path) -> None:
    page = (repo_root / "docs/verifiers/composite.md").read_text()
    file = tmp_path / "short_and_right.py"
    file.write_text(page.partition("```python\n")[2].partition("```")[0])
    example = Example(task="t", split="test", index=0, messages=(), reference="72")
    with ScoringPool([RewardPart(name="reward", verifier=f"{file}:short_and_right", weight=1.0)], workers=1,
                     timeout_s=30, memory_mib=256) as pool:
        different = " ".join(map(chr, range(97, 123)))  # 26 words: none of them four in a row again
        answers = ("#### 72", "so 72", "#### 71", "", f"{different} {different.upper()[::-1]}\n#### 72")
        scores = [pool.submit(answer, example).result(60)["reward"].score for answer in answers]
    assert scores == pytest.approx([1, 0.9, 0, 0, 0.7])


def test_parts_are_prepared_in_their_order_and_one_that_fails_keeps_none_from_it() -> None:
    opened: list[str] = []

    def opening(name: str, *, fails: bool = False) -> Any:
        def check(response: str, reference: object, *, example: Mapping[str, object]) -> float:
            return 1.0

        def prepare() -> None:
            opened.append(name)
            if fails:
                raise OSError(f"{name} cannot be opened")

        check.prepare = prepare  # type: ignore[attr-defined]
        return check

    def plain(response: str, reference: object, *, example: Mapping[str, object]) -> float:
        return 1.0

    both = Composite([Part("code", opening("code", fails=True), 3.0), Part("words", plain, 1.0),
                      Part("judge", opening("judge"), 1.0)])
    with pytest.raises(OSError, match="code cannot be opened"):
        both.prepare()
    assert opened == ["code", "judge"]
