"""Calculus, and what no decimal places decide: right and wrong, and the process that SymPy runs in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from processes import below, has_ended
from scoring_pools import check, is_alive, row, wait_until

from reasongym.scoring import ScoringPool
from reasongym.tasks import RewardPart
from reasongym.verifiers import Status
from reasongym.verifiers.math import symbolic, symbolic_process
from reasongym.verifiers.math.calculus import BOUND
from reasongym.verifiers.math.compare import compare
from reasongym.verifiers.math.lexer import Unreadable
from reasongym.verifiers.math.nodes import Node, key, walk
from reasongym.verifiers.math.normalise import normalise
from reasongym.verifiers.math.reader import read
from reasongym.verifiers.math.symbolic_tree import Refused, Writer

EQUAL = (
    (r"\int_0^1 x\,dx", r"\frac12"), (r"\int_{0}^{\pi}\sin x\,\mathrm{d}x", "2"), (r"\int_1^e \frac{dx}{x}", "1"),
    (r"\int_0^1\int_0^2 xy\,dx\,dy", "1"), (r"\int_0^\infty e^{-x^2}dx", r"\frac{\sqrt\pi}{2}"), ("∫₀¹ 2x dx", "1"),
    (r"\int_0^x t\,dt", "x^2/2"), (r"\int_1^\infty\frac{dx}{x}", r"\infty"), (r"\int_0^1 dx/(1+x^2)", r"\frac\pi4"),
    (r"\int_0^1 f(x)\,dx", r"\int_0^1 f(t)\,dt"), (r"\int_0^1 x\,dx = 1/2", "0.5"), ("x=\\int_0^1 2t dt", "1"),
    (r"\{\int_0^1 x\,dx, 3\}", r"\{3, 0.5\}"), (r"\int_0^1\int_0^1 xydxdy", "1/4"),
    (r"\int 2x\,dx + C", "x^2+C"), (r"\int 2x\,dx", "x^2+C"), (r"\int\frac1x\,dx", r"\ln|x|+C"),
    (r"\int 2x\,dx", r"2\int x\,dx"), (r"\int\frac1x\,dx+C", r"\ln|x|+C_1"),
    (r"\int\cos^2 x\,dx+C", r"\frac x2+\frac{\sin 2x}{4}+7+C"), (r"\int 2x\,dx = x^2+C", "x^2+C"),
    (r"\frac{d}{dx}x^3", "3x^2"), (r"\frac{d^2}{dx^2}x^3", "6x"), (r"\frac{\partial}{\partial x}x^2y", "2xy"),
    ("d/dx(x^2)", "2x"), (r"\frac{d(x^2)}{dx}", "2x"), (r"\frac{dy}{dx}", "dy/dx"),
    (r"\lim_{x\to0}\frac{\sin x}{x}", "1"), (r"\lim_{n\to\infty}(1+\frac1n)^n", "e"), (r"\lim_{x->2}x^2+x", "6"),
    (r"\lim_{x\to0^+}\frac1x", r"\infty"), (r"\lim_{x\to0^{-}}\frac1x", r"-\infty"),
    (r"\lim_{h\to0}\frac{(x+h)^2-x^2}{h}", "2x"), (r"2\lim_{x\rightarrow2} x+1", "5"),
    (r"\sum_{n=1}^\infty\frac{1}{n^2}", r"\frac{\pi^2}{6}"), (r"\sum_{k=1}^\infty\frac1{2^k}", "1"),
    (r"\sum_{n=0}^\infty x^n", r"\frac{1}{1-x}"), (r"\sum_{n=0}^\infty\frac1{n!}", "e"),
    (r"\sum_{k=1}^3\sqrt k", r"1+\sqrt2+\sqrt3"), (r"\sum_{k=1}^n\sqrt k", r"\sum_{j=1}^n\sqrt j"),
    (r"\frac12!", r"\frac{\sqrt\pi}{2}"), (r"(x+\frac12)!", r"(x+\frac12)(x-\frac12)!"),
)
DIFFERENT = (
    (r"\int_0^1 x\,dx", r"\frac13"), (r"\int_0^1 x\,dx", r"\int_1^0 x\,dx"), (r"\int_0^1 x\,dx", r"\int_0^2 x\,dx"),
    (r"\int_0^1 x\,dx", r"-\frac12"), (r"\int_{-1}^1\frac{dx}{x}", "0"), (r"\int_{-1}^1\frac{dx}{x^2}", "-2"),
    (r"\int_0^1 x\,dx", r"\infty"), (r"\int_0^1 f\,dx", "f"), (r"\int_0^1 f(x)dx=3", r"\int_0^2 f(x)dx=3"),
    (r"\int_0^1 y'\,dx", "y'"), (r"\int_0^1\frac{dx}{x-x}", "0"), (r"\int_0^1 0^0\,dx", "1"),
    (r"\int 2x\,dx+C", "x^2"), (r"\int 2x\,dx", "x^2"), (r"\int 2x\,dx", "x^2+1"), (r"\int 2x\,dx", "x^3+C"),
    (r"\int 2x\,dx+C", "x^3+C"), (r"\int 2x\,dx", "-x^2"),
    (r"\int 2x\,dx", r"\int 2y\,dy"), (r"x\int 2x\,dx", "x^3"), (r"e^{\int 2x\,dx}", "e^{x^2}"),
    (r"\int 2x\,dx+C", "Cx^2"), (r"\frac{d}{dx}x^2", "x^2"), (r"\frac{d}{dx}x^2", "2y"), ("d/dx(x^2)", "1/x^3"),
    (r"\frac{\partial f}{\partial x}", r"\frac fx"), ("dy/dx", "y/x"), (r"\frac{d^2y}{dx^2}", r"\frac{dy}{x^2}"),
    (r"\lim_{x\to0}\frac1x", r"\infty"), (r"\lim_{x\to0}\frac{|x|}{x}", "1"), (r"\lim_{x\to0^+}\frac1x", r"-\infty"),
    (r"\lim_{n\to\infty}a_n", "a_n"), (r"\lim_{x\to0}f(x)", "f(0)"), (r"\lim_{x\to\infty}\sin x", "0"),
    (r"\sum_{n=1}^\infty\frac1{n^2}", r"\frac{\pi^2}{8}"), (r"\sum_{n=1}^\infty a_n", "a_n"),
    (r"\sum_{n=1}^\infty\frac1{n^2}", r"\sum_{n=2}^\infty\frac1{n^2}"), (r"\sum_{n=1}^\infty\frac1n", "5"),
    (r"\sum_{k=1}^3\sqrt k", r"1+\sqrt2+\sqrt5"), (r"\frac12!", r"\frac{\sqrt\pi}{3}"),
    (r"\frac12!", r"\frac12!+1/\ln 0"), (r"\frac12", r"\int_0^1 x+1/\ln 0\,dx"),
)
HOSTILE = (
    r"\int_0^1 9^{9^{9^9}}dx", r"\int_0^1(10^8)!dx", r"\int_0^{10^{10^{10}}}x dx", r"\int_0^1((x+1)^{60})^{60}dx",
    r"\int_0^1 x^{100000}dx", r"\int_0^1 e^{e^{e^{e^x}}}dx", r"\int" * 25 + "x" + " dx" * 25, r"\int" * 400,
    r"\int_0^1" * 12 + "x" + "".join(f" d{name}" for name in "abcghjklmnpq"), r"\int_0^1\frac{dx}{x-x}",
    r"\int_0^1 " + "+".join(rf"\sin({n}x)^{n}" for n in range(1, 30)) + " dx", r"\int_0^1 0^0dx", r"\int_0^1", r"\int_",
    r"\int_0^1\frac{dx}{" + "".join(f"(x+{n})" for n in range(1, 40)) + "}", r"\lim_{x\to", r"\lim_{x\to0}" * 25 + "x",
    r"\lim_{x\to0^+}" * 25 + "x+x", r"\lim_{x\to\infty}" + "(1+1/" * 8 + "x" + ")^x" * 8, r"\lim_{n\to\infty}(-1)^n",
    r"\sum_{n=1}^\infty n^{n^{n^n}}", r"\sum_{k=1}^{200}9^{9^k}\sqrt2", r"\sum_{n=-\infty}^\infty 2^{n^2}",
    r"\sum_{n=1}^\infty" * 8 + r"\frac1{n^2}", r"\frac{d}{dx}" * 25 + "x^{x^{x^x}}",
    r"\frac{d" * 25 + "x" + "}{dx}" * 25,
    r"\frac{d^{99}}{dx^{99}}x", r"\frac{d^9}{dx^9}" + r"\sin(" * 12 + "x^x" + ")" * 12,
    r"1\frac{" * 25 + "x}{2" + "}" * 24, "\\int_0^1 x\x00y dx", "\\int_0^1 \ud800 dx", r"\binom{x/3}{1/7}!",
    r"\int_0^1" + "{" * 40 + "x" + "}" * 40 + "dx")


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """These tests are about what is answered, not how fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symbolic_process, "LIMIT_S", 20.0)
        patch.setattr(symbolic, "SPENT_S", 60.0)
        patch.setattr(symbolic, "WALL_S", 100.0)
        yield
    symbolic_process.close()


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No child, nothing remembered, before the test and after it."""
    symbolic_process.close()
    symbolic._KNOWN.clear()
    yield monkeypatch
    symbolic_process.close()
    symbolic._KNOWN.clear()


def tree_of(text: str) -> Node:
    return read(normalise(text).text)


@pytest.mark.parametrize(("reference", "given"), EQUAL)
def test_what_algebra_makes_the_same_is_equal_from_either_side(reference: str, given: str) -> None:
    assert compare(reference, given).status == "equal"
    assert compare(given, reference).status == "equal"


@pytest.mark.parametrize(("reference", "given"), DIFFERENT)
def test_a_wrong_limit_constant_sign_or_kind_is_not_equal(reference: str, given: str) -> None:
    assert compare(reference, given).status in ("different", "unreadable", "reference")
    assert compare(given, reference).status in ("different", "unreadable", "reference")


@pytest.mark.parametrize("text", [
    r"\int x", r"\int_0^1 f", r"\int_0 x dx", r"\int dx\,x^2", r"\int x+\frac{dx}{x}",
    r"\int_0^1\int_0^2\frac{dx}{x}dy",
    r"\frac{d}{dx}", r"\lim x", r"\lim_{x}x", r"\lim_{n\to\infty}a_n", r"\int_0^1 x_t\,dt", r"\int_0^1 x,dx"])
def test_calculus_whose_extent_is_in_doubt_is_not_read(text: str) -> None:
    with pytest.raises(Unreadable):
        tree_of(text)


def test_an_inner_variable_is_not_taken_for_the_outer_one() -> None:
    tree = tree_of(r"\int_0^x \int_0^y yx \,dx dy")
    assert key(tree) == key(tree_of(r"\int_0^x \int_0^u ut dt du"))
    assert key(tree) != key(tree_of(r"\int_0^x \int_0^x yx dx dy"))
    assert {BOUND + "1", BOUND + "2", "x"} == {one.name for one in walk(tree) if hasattr(one, "name")}


@pytest.mark.parametrize("text", [
    "9^{65}", "((x+1)^9)^9", "9^{9^9}", "201!", r"\binom{201}{x}", r"\sqrt[65]{x}", r"\sum_{k=1}^{202}k", "g(x)",
    "+".join("abcjklmnopq"), "+".join(["x"] * 120), "2" + "0" * 80, r"\int_0^1 f\,dx", r"\sum_{k=1}^{\infty}a_k"])
def test_what_could_grow_is_refused_before_it_is_asked(text: str) -> None:
    with pytest.raises(Refused):
        Writer().written(tree_of(text))


def test_no_text_of_an_answer_reaches_the_other_process() -> None:
    assert "import" not in str(Writer().written(tree_of(r"x_{import} + \int_0^1 t\,dt")))


def test_hostile_calculus_equals_nothing_and_leaves_no_process(fresh: pytest.MonkeyPatch) -> None:
    assert len(HOSTILE) >= 30
    before = set(below(os.getpid()))
    assert compare(r"\int_0^1 x\,dx", "1/2").status == "equal"
    symbolic_process.close()
    fresh.setattr(symbolic_process, "LIMIT_S", 0.1)
    for answer in HOSTILE:
        assert compare("5", answer).status in ("different", "unreadable", "timeout"), answer
        assert len(set(below(os.getpid())) - before) <= 1, answer
    symbolic_process.close()
    assert not set(below(os.getpid())) - before  # an earlier test's may end meanwhile


def test_a_question_that_hangs_is_killed_and_the_next_is_answered(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(symbolic_process, "LIMIT_S", 0.2)
    outcome = compare("5", r"\sum_{k=1}^{200}9^{9^k}\sqrt2")
    assert (outcome.status, outcome.reason) == ("timeout", "SymPy took too long")
    known = symbolic_process.pid()
    assert known is not None
    assert below(known) == []
    assert compare(r"\frac{d}{dx}x^3", "3x^2").status == "equal"
    assert symbolic_process.pid() == known


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_child_that_no_longer_answers_is_replaced(fresh: pytest.MonkeyPatch, number: signal.Signals) -> None:
    assert compare(r"\frac{d}{dx}x^3", "3x^2").status == "equal"
    first = symbolic_process.pid()
    assert first is not None
    os.kill(first, number)
    fresh.setattr(symbolic, "WALL_S", 0.1)
    fresh.setattr(symbolic_process, "GRACE_S", 0.1)
    if number == signal.SIGSTOP:
        assert compare(r"\frac{d}{dx}x^4", "4x^3").status == "timeout"
        assert not is_alive(first)
    fresh.setattr(symbolic, "WALL_S", 100.0)
    assert compare(r"\frac{d}{dx}x^5", "5x^4").status == "equal"
    assert symbolic_process.pid() not in (None, first)


def test_the_verdict_depends_on_processor_time_and_not_on_the_wall(fresh: pytest.MonkeyPatch) -> None:
    question = {"kind": "values", "trees": [Writer().written(tree_of(r"\int_0^1 x\,dx"))]}
    fresh.setattr(symbolic_process, "LIMIT_S", 0.001)
    with pytest.raises(symbolic_process.Overtime):
        symbolic_process.answer_to(question, time.monotonic() + 100.0)
    fresh.setattr(symbolic_process, "LIMIT_S", 20.0)
    answer = symbolic_process.answer_to(question, time.monotonic() + 100.0)
    assert answer is not None
    assert answer["trees"] == [["number", "1", "2"]]
    assert 0 < answer["cpu_s"] < 20


def test_a_child_still_loading_is_waited_for_and_not_begun_again(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(symbolic, "WALL_S", 0.0)
    assert compare(r"\frac{d}{dx}x^3", "3x^2").status == "timeout"
    loading = symbolic_process.pid()
    assert loading is not None
    fresh.setattr(symbolic, "WALL_S", 100.0)
    assert compare(r"\frac{d}{dx}x^3", "3x^2").status == "equal"
    assert symbolic_process.pid() == loading


def test_four_threads_ask_at_once_and_outlive_the_one_that_started_the_child(fresh: pytest.MonkeyPatch) -> None:
    found = dict[int, str]()

    def ask(n: int) -> None:
        found[n] = compare(rf"\frac{{d}}{{dx}}x^{{{n}}}", rf"{n}x^{{{n - 1}}}").status

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask(6)
    assert found == dict.fromkeys(range(2, 7), "equal")


def test_a_fork_does_not_speak_to_its_parents_child(fresh: pytest.MonkeyPatch) -> None:
    assert compare(r"\frac{d}{dx}x^3", "3x^2").status == "equal"
    before = symbolic_process.pid()
    forked = os.fork()
    if forked == 0:
        forgotten = symbolic_process.pid() is None
        equal = compare(r"\frac{d}{dx}x^4", "4x^3").status == "equal"
        own = symbolic_process.pid()
        symbolic_process.close()
        os._exit(0 if forgotten and equal and own not in (None, before) else 1)
    assert os.waitpid(forked, 0)[1] == 0
    assert compare(r"\frac{d}{dx}x^5", "5x^4").status == "equal"
    assert symbolic_process.pid() == before


def test_without_sympy_calculus_is_different_and_no_process_is_started(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(symbolic_process, "is_installed", lambda: False)
    assert compare(r"\int_0^1 x\,dx", "1/2").status == "different"
    assert symbolic_process.pid() is None


def test_a_comparison_asks_a_few_questions_and_no_more(fresh: pytest.MonkeyPatch) -> None:
    asked = list[Mapping[str, object]]()
    fresh.setattr(symbolic, "answer_to", lambda question, deadline: asked.append(question))
    items = [rf"\sqrt{{{n}}}!" for n in (2, 3, 5, 7, 11)]
    assert compare(", ".join(items), ", ".join(f"{item}+1" for item in items)).status == "different"
    assert len(asked) == symbolic.MAX_QUESTIONS


def test_sympy_is_never_loaded_where_the_comparison_runs(repo_root: Path) -> None:
    script = ("import sys; from reasongym.verifiers.math import symbolic_process, symbolic; symbolic.WALL_S = 60\n"
              "from reasongym.verifiers.math.compare import compare; early = symbolic_process.pid()\n"
              "status = compare(r'\\int_0^1 x dx', '1/2').status\n"
              "print(early, status, *sorted({'sympy', 'mpmath'} & sys.modules.keys()))")
    done = subprocess.run([sys.executable, "-c", script], cwd=repo_root, capture_output=True, text=True)
    assert done.stdout.split() in (["None", "equal"], ["None", "timeout"]), done.stderr


def test_a_pools_worker_asks_too_and_takes_its_child_with_it() -> None:
    part = RewardPart(name="right", verifier="math", weight=1.0)
    with ScoringPool([part], workers=1, timeout_s=60, memory_mib=2048) as pool:
        verdict = check(pool, r"\boxed{\frac12}", row(r"\int_0^1 x\,dx"))
        for _ in range(20):  # the first answers come while SymPy is loaded
            if verdict.status is not Status.TIMEOUT:
                break
            verdict = check(pool, r"\boxed{\frac12}", row(r"\int_0^1 x\,dx"))
        assert verdict.status is Status.CORRECT
        (worker,) = pool.pids
        (child,) = below(worker)
        os.kill(child, signal.SIGSTOP)  # so that it cannot end of itself, at the end of its input
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: has_ended(child))


def test_a_comparison_that_has_waited_asks_no_more(fresh: pytest.MonkeyPatch) -> None:
    asked = list[Mapping[str, object]]()
    fresh.setattr(symbolic, "answer_to", lambda question, deadline: asked.append(question))
    fresh.setattr(symbolic, "SPENT_S", -1.0)  # as if the first question had used it all
    assert compare(r"\int_0^1 x\,dx", "1/2").status == "timeout"
    assert asked == []
