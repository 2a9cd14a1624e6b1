"""The verifier of the tasks `rg:<name>`: the generator's own scorer, fenced in.

The final answer is what stands in the last <answer>...</answer> after any reasoning, else the whole rest of the
response; an empty one is never credited. What the package's scorers get wrong is caught by kind:
- A score below 1 is wrong, unless the row's `partial` asks for it, and then it counts only above what an answer of
  nonsense gets: many give 0.01 or 0.05 to any text.
- Many scorers take the gold answer with something beside it, a constant ("nan" earns everything of
  `complex_arithmetic`), or any text at all. So an answer that a scorer takes is right only if it is the gold answer
  (the same number, JSON value, or text up to case, white space and stops behind words), or has the form in which
  another one may be right, and then only if nonsense earns less: `reasoning_gym_forms`.
- Nine scorers evaluate the answer as Python or by SymPy's parser, which does so too. What is not plainly a list of
  literals, or an expression of numbers, single letters and known functions, never reaches them.
- A scorer that raises on an answer calls it unparsable; one that raises on its own gold answer is an ERROR.
Time and memory are bounded by the scoring worker.

Known false positives: what the package's scorers accept too widely within such a form: a rounded number, a premise
itself as the conclusion of `propositional_logic`. Known false negatives: an answer in another notation than the
question asks for, words around it.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

from reasongym.tasks.reasoning_gym_forms import json_values, may_differ
from reasongym.tasks.tagged_json import from_tagged
from reasongym.verifiers import Status, Verdict, verifier
from reasongym.verifiers.gsm8k import reference_number

__all__ = ["reasoning_gym"]

_LONGEST = 20_000
_STOPS = re.compile(r"[.,;](?=\s|$)")
_COMMAS = re.compile(r"\s?,\s{0,9}")
_UNIT = re.compile(r"(?P<number>[^A-Za-z]{1,60}) (?P<word>[a-z]{2,20})")
_NONSENSE = "?!"
_NUMBER = 80
"""Characters of a text that may be a number."""

_EVALUATED_LISTS = {"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"}
_EVALUATED_EXPRESSIONS = {"countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24",
                          "simple_integration"}
_LIST = re.compile(r"[\[\]\s,'\"A-Za-z0-9_.+-]*")
_KEYWORD = re.compile(r"\b(?:for|if|else|lambda|in|is|not|and|or|await|yield)\b|[_A-Za-z\])'\"]\s?\.|\.\s?[_A-Za-z]")
_WORD = re.compile(r"[A-Za-z]+")
_FUNCTIONS = {"sin", "cos", "tan", "exp", "log", "ln", "sqrt", "asin", "acos", "atan", "sinh", "cosh", "tanh", "pi"}
_EXPRESSION = re.compile(
    r"(?:(?<![0-9.])[0-9]{1,12}(?:\.[0-9]{1,12})?(?![0-9.])|[A-Za-z]{1,5}(?![A-Za-z])|[-+()\s]|/(?!/)"
    r"|\*(?!\*)|\*\*\s?(?:[0-9]{1,2}|\(-?[0-9]{1,2}(?:/[0-9]{1,2})?\))(?![0-9.]|\s*\*\*))*+")


def _load() -> ModuleType | None:
    try:
        import reasoning_gym.factory
    except ImportError:
        return None
    return reasoning_gym.factory  # type: ignore[no-any-return]


_FACTORY = _load()  # here: loading takes seconds, which would count against the first answer that a worker scores


@verifier("reasoning_gym")
def reasoning_gym(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """1 where the generator's scorer gives 1, within the policy at the head of this file.

    example: `generator`, `config`, `entry` (see `tagged_json`) and `partial` as the task writes them. The reference is
    not read: the entry holds it.
    """
    try:
        scorer = _Scorer(example)
    except Exception as error:  # boundary: whatever a damaged row makes the package raise is a failure of ours
        return Verdict.error(f"the row cannot be scored: {type(error).__name__}: {error}"[:300])
    answer = _final(response)
    if not answer.strip():
        return Verdict.unparsable("no answer")
    if len(answer) > _LONGEST:
        return Verdict.unparsable(f"an answer of more than {_LONGEST} characters")
    if not _may_be_scored(scorer.generator, answer):
        return Verdict.unparsable("not the plain list or expression that is asked for")
    return scorer.verdict(answer)


class _ScorerFailed(Exception):
    """A scorer raised, or gave something that is no number."""


class _Scorer:
    """The generator's scorer for one row."""

    def __init__(self, example: Mapping[str, object]) -> None:
        if _FACTORY is None:
            raise ImportError('no package reasoning-gym; install it: pip install "reasongym[procedural]"')
        self.generator = str(example["generator"])
        entry = from_tagged(example["entry"])
        assert isinstance(entry, dict)
        self._entry = entry
        self._gold = entry["answer"]
        self._partial = example.get("partial") is True
        self._dataset = _dataset(self.generator, json.dumps(example.get("config") or {"dict": []}))

    def verdict(self, answer: str) -> Verdict:
        shown = answer.strip()[:200]
        try:
            # Most scorers want no space around the answer; a board may begin with an empty square.
            score = max(self._score(answer.strip()), self._score(answer.strip("\r\n")))
        except _ScorerFailed as failure:
            return self._blame(failure)
        if score >= 1.0:
            return Verdict.correct(shown) if self._is_right(answer) else \
                Verdict.wrong(shown, "the scorer takes it, and takes what is wrong too")
        if self._partial and self._score(_NONSENSE, failing=0.0) < score:
            return Verdict(score=score, status=Status.PARTIAL, extracted=shown)
        return Verdict.wrong(shown, "the scorer does not accept it")

    def _score(self, answer: str, *, failing: float | None = None) -> float:
        """In [0, 1]. Raises _ScorerFailed where the scorer raises or gives no number, or answers `failing`."""
        try:
            # A copy, for a scorer may change what it compares with.
            score = float(self._dataset.score_answer(answer, copy.deepcopy(self._entry)))
        except Exception as error:  # boundary: scorers raise whatever a text that they did not foresee leads to
            if failing is not None:
                return failing
            raise _ScorerFailed(f"{type(error).__name__}: {error}"[:200]) from error
        return min(score, 1.0) if score > 0 else 0.0

    def _blame(self, failure: _ScorerFailed) -> Verdict:
        """The answer's fault, unless the scorer fails on its own gold too."""
        try:
            if isinstance(self._gold, str):
                self._score(self._gold)
        except _ScorerFailed:
            return Verdict.error(f"the scorer fails on its own gold answer: {failure}")
        return Verdict.unparsable(f"the scorer cannot read it: {failure}")

    def _is_right(self, answer: str) -> bool:
        """Whether an answer that the scorer takes is one that it may decide."""
        if self._is_gold(answer):
            return True
        return may_differ(self.generator, answer, self._entry) and self._score(_NONSENSE, failing=0.0) < 1.0

    def _is_gold(self, answer: str) -> bool:
        """The same text up to case, white space and stops behind words, the same number, or the same JSON value."""
        if not isinstance(self._gold, str):
            return False
        given, gold = (" ".join(_STOPS.sub("", _COMMAS.sub(", ", text)).casefold().split())
                       for text in (answer, self._gold))
        return given == gold or self._is_gold_number(answer.strip(), self._gold) or _same_json(answer, self._gold)

    def _is_gold_number(self, given: str, gold: str) -> bool:
        """Words beside the number may deny it ("162 wrong"); one that the question has is taken for its unit."""
        unit = _UNIT.fullmatch(given)
        if unit is not None and \
                unit["word"] in re.findall("[a-z]+", str(self._entry.get("question")).casefold()):
            given = unit["number"]
        if len(given) > _NUMBER or len(gold) > _NUMBER or re.search(r"[^\W\d_]{2}|[?#=\n]", given.replace("frac", "")):
            return False
        number = reference_number(gold)
        return number is not None and reference_number(given) == number


@lru_cache(maxsize=64)
def _dataset(generator: str, config: str) -> Any:
    """The generator with the configuration that made the row; scorers read its limits."""
    settings = from_tagged(json.loads(config))
    assert isinstance(settings, dict)
    assert _FACTORY is not None
    return _FACTORY.create_dataset(generator, seed=0, size=1, **settings)


def _same_json(answer: str, gold: str) -> bool:
    if not gold.lstrip().startswith(("[", "{")):
        return False
    try:
        return json_values(answer) == json_values(gold)
    except (ValueError, RecursionError):
        return False


def _final(response: str) -> str:
    rest = response.rpartition("</think>")[2].partition("<think>")[0]
    inside, closed, _ = rest.rpartition("</answer>")
    return inside.rpartition("<answer>")[2] if closed and "<answer>" in inside else rest


def _may_be_scored(generator: str, answer: str) -> bool:
    if generator in _EVALUATED_LISTS:
        return bool(_LIST.fullmatch(answer)) and not _KEYWORD.search(answer)
    if generator in _EVALUATED_EXPRESSIONS:
        words = _WORD.findall(answer)
        return bool(_EXPRESSION.fullmatch(answer)) and all(len(word) == 1 or word in _FUNCTIONS for word in words)
    return True
