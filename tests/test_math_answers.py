"""Where a response states its mathematical answer: what must be found, what must never be taken."""

from __future__ import annotations

import pytest

from reasongym.verifiers.math.answers import final_answers, reference_answers
from reasongym.verifiers.math.formulas import formulas
from reasongym.verifiers.math.turn import after_thinking, final_part


@pytest.mark.parametrize(("response", "answer"), [
    ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"), ("\\fbox{5}", "5"), ("\\boxed 5", "5"), ("$\\boxed{\\{1, 2\\}}.$",
    "\\{1, 2\\}"),
    ("\\boxed{\\left\\{ 1 \\right.}", "\\left\\{ 1 \\right."), ("\\boxed{12 $ and $13 }", "12  and 13"),
    ("\\\\boxed{\\\\left( 3, \\\\pi \\\\right)}", "\\left( 3, \\pi \\right)"), ("#### \\frac{1}{2}", "\\frac{1}{2}"),
    ("#### x+1", "x+1"), ("#### B", "B"), ("#### even", "even"), ("#### Final Answer: $5$", "5"), ("#### .5", ".5"),
    ("<answer>$\\frac12$</answer>", "\\frac12"), ("<answer>x > 5</answer>", "x > 5"),
    ("<answer>We get $x=5$.</answer>", "x=5"),
    ("The answer is $\\frac{1}{2}$, because $x>0$.", "\\frac{1}{2}"),
    ("The answer is: **\\(\\frac34\\)**", "\\frac34"),
    ("Final Answer:\n\n\\[\n\\frac{3}{4}\n\\]", "\\frac{3}{4}"), ("The answer is (1, 2).", "(1, 2)"),
    ("The answer is [0, 1).", "[0, 1)"), ("The answer is x^2 + 1.", "x^2 + 1"), ("The answer is 2 - \\sqrt{3}.",
    "2 - \\sqrt{3}"),
    ("The answer is 10,\\! 080.", "10,\\! 080"), ("The answer is the interval (0, 1).", "(0, 1)"),
    ("The answer is east.", "east"),
    ("The answer is (B).", "(B)"), ("The answer is A", "A"), ("The answer is 5 cm.", "5 cm"),
    ("The answer is ½.", "½"),
    ("The answer is 1/2 (one half).", "1/2"), ("The answer is $5$. Wait, actually $6$.", "6"),
    ("The answer is \\infty.", "\\infty")])
def test_an_announced_answer_is_found_as_it_is_written(response: str, answer: str) -> None:
    assert final_answers(response).answers == (answer,)


@pytest.mark.parametrize("text", [
    "5", "x = 5", "(1, 2)", "28 percent", "east", "\\frac12", "90^\\circ", "2\\cdot 3/4", "5!", ".5",
    "W(x)=1orW(x)=-1", "3:4",
    "\\text{(C)}", "x \\in [-2,7]", "\\{1, 2\\}", "∞"])
def test_an_answer_alone_is_the_answer_in_any_delimiters(text: str) -> None:
    for around in ("{}", "${}$", "$${}$$", "\\({}\\)", "\\[{}\\]", "**{}**", " {}\n", "{}."):
        assert final_answers(around.format(text)).answers == (text,), around


@pytest.mark.parametrize(("response", "answer"), [
    ("Therefore $x \\geq 5$ is the solution.", "x \\geq 5"), ("Thus $x \\ge 5$ for all $n$.", "x \\ge 5"),
    ("Hence the area is $4\\pi$, where $r = 2$.", "4\\pi"), ("Since $x>0$, we get $y=2$.", "y=2"),
    ("We get\n\\[ x = 5 \\]", "x = 5"),
    ("We get\n$$\nx = 5\n$$\nLet me know if $n=3$ helps!", "x = 5"), ("It is $5$. Would you like to see $x=6$?", "5"),
    ("So x^2+1 = (x+i)(x-i)", "(x+i)(x-i)"), ("The volume is 5r^2.", "5r^2"),
    ("So the probability is \\frac{63}{400}.", "\\frac{63}{400}"),
    ("The point is (1, 2).", "(1, 2)"), ("There are 12 sequences that meet the three conditions.", "12"),
    ("Soucis : 2,74 $ a..", "137/50"), ("It costs $10 and $20 in total, so 30.", "30"), ("$m = 5$, so n = 6", "n = 6"),
    ("The solutions are x = 1 and x = 2.", "x = 1 and x = 2"), ("The ratio is 3:4.", "3:4"), ("$x+2=7$\n$x=5$", "x=5"),
    ("\\begin{align*}x &= 2+3 \\\\ &= 5\\end{align*}", "5"), ("So it's 1,000.99m²", "100099/100")])
def test_the_last_sentence_states_the_answer_where_none_is_announced(response: str, answer: str) -> None:
    assert final_answers(response).answers == (answer,)


@pytest.mark.parametrize(("response", "answers"), [
    ("\\boxed{5}, \\boxed{7}", ("5", "7")), ("\\boxed{(2, 2)} \\quad \\text{and} \\quad \\boxed{(6, 2)}", ("(2, 2)",
    "(6, 2)")),
    ("\\boxed{1} papers and \\boxed{2} bins", ("1", "2")), ("\\boxed{5}\n#### 7", ("5", "7")), ("$x=1$ or $x=2$",
    ("x=1, x=2",)),
    ("The roots are $1$ and $2$.", ("1", "2")), ("The answer is $1$, $2$ or $3$.", ("1, 2, 3",)), ("70\n71\n72",
    ("71", "72")),
    ("It is $1$.\n$2$\n$3$", ("2", "3")), ("They are 5 and 7.", ("5", "7"))])
def test_joined_answers_are_all_stated(response: str, answers: tuple[str, ...]) -> None:
    assert final_answers(response).answers == answers


@pytest.mark.parametrize(("response", "answer"), [
    ("\\boxed{5} is not right. \\boxed{7}", "7"), ("\\boxed{5}, no, wait, \\boxed{7}", "7"),
    ("#### 5\nActually\n#### 7", "7"),
    ("\\boxed{5}. The answer is correct.", "5"), ("\\boxed{5}\nWe may check our answer: 3 + 2 = 5", "5"),
    ("The answer is 5.\n\\boxed{7}", "7"), ("\\boxed{5}\n\nQuestion: 3?\n\\boxed{7}", "5"),
    ("\\boxed{7}. Also \\boxed{8", "7"),
    ("<think>\\boxed{5}</think>\\boxed{7}", "7"), ("#### Step 2: add\n\\boxed{7}", "7"),
    ("\\boxed{7} <!-- \\boxed{5} -->", "7"),
    ("The answer is $\\boxed{7}$, so $x = 5$", "7"), ("#### Conclusion\nThe value is $7$.", "7"),
    ("Put it in \\boxed{}: $7$", "7")])
def test_the_last_statement_stands_alone(response: str, answer: str) -> None:
    assert final_answers(response).answers == (answer,)


@pytest.mark.parametrize("response", [
    "", " ", "?", "$", "\\boxed", "\\boxed{}", "\\boxed{5", "The answer is \\boxed{5", "#### \\boxed{5",
    "<think>\\boxed{5}",
    "<think>5</think>", "I do not know what to do", "The answer is correct.", "The set is empty.",
    "y = 2x + 3 is the line",
    "Correct answer \\frac{63}{400} but no reasoning was given", "\x00", "\ud800", "<answer></answer>", "<answer>5",
    "#### Step 2: do"])
def test_nothing_is_taken_where_no_answer_is_stated(response: str) -> None:
    stated = final_answers(response)
    assert stated.answers == ()
    assert stated.problem


@pytest.mark.parametrize(("reference", "answers"), [
    ("\\frac12", ("\\frac12",)), ("$\\frac12$", ("\\frac12",)), ("\\boxed{5}", ("5",)), (5, ("5",)), (0.1, ("0.1",)),
    ("We add 2 and 3. So $2+3=\\boxed{5}$. Done.", ("5",)), ("\\boxed{5}, or \\boxed{10/2}", ("5", "10/2")),
    ("\\boxed{5} no no no no \\boxed{2}", ("2",)), ("\\boxed{W(n) = 1", ("W(n) = 1",)), ("2+3=5\n#### 5", ("5",)),
    ("$1$ and $2$", ("1", "2")), ("$\\\\left(\\\\frac{4}{5}, 1\\\\right)$", ("\\left(\\frac{4}{5}, 1\\right)",)),
    ("so long " * 50 + "that $x = 5$.", ("x = 5",)), ("5 or 6", ("5 or 6",)), ("", ()), (None, ()), (True, ()), ([5],
    ())])
def test_a_reference_is_an_answer_or_a_solution(reference: object, answers: tuple[str, ...]) -> None:
    assert reference_answers(reference) == answers


@pytest.mark.parametrize(("text", "contents"), [
    ("$a$ and \\(b\\), \\[c\\] $$d$$", ["a", "b", "c", "d"]), ("It costs $5 and I have $6 left now", []),
    ("$a\n$", ["a"]),
    ("\\$5 and $x$", ["x"]), ("$\\frac{1}{2} \\$ = 3$", ["\\frac{1}{2} \\$ = 3"]), ("$ $", []), ("$a", []),
    ("\\[a", []),
    ("$10 a kilo, $x$", ["x"]), ("\\begin{align}a &= b\\\\ &= \\begin{pmatrix}1 & 2\\end{pmatrix}\\end{align}",
                                 ["a &= b\\\\ &= \\begin{pmatrix}1 & 2\\end{pmatrix}"])])
def test_formulas_are_told_from_prices(text: str, contents: list[str]) -> None:
    assert [formula.content for formula in formulas(text)] == contents


@pytest.mark.parametrize(("response", "rest"), [
    ("a</think>b", "b"), ("<think>a</think>b<think>c", "b"), ("<THINK>a</Think>b", "b"),
    ("<reasoning>a</reasoning>b", "b"),
    ("a<think>b", "a"), ("<think>a", ""), ("a < b", "a < b"), ("</think>a</think>b", "b")])
def test_only_what_follows_the_reasoning_counts(response: str, rest: str) -> None:
    assert after_thinking(response) == rest


@pytest.mark.parametrize(("response", "kept"), [
    ("5\n\nQuestion: 6", "5"), ("Question: 6\n5", "Question: 6\n5"), ("Question: 5\n\nQuestion: 6", "Question: 5"),
    ("5\n### Instruction:\n6", "5"), ("5<|im_end|>6", "5"), ("5\n[INST] 6", "5"), ("5\nUser: 6", "5"), ("a quiz: 5",
    "a quiz: 5"),
    ("5 <!-- 6 --> 7", "5   7"), ("5 <!-- 6", "5  "), ("5 \\phantom{6}", "5  "), ("5\nNext problem 2: 6", "5")])
def test_an_invented_next_turn_and_hidden_text_are_cut(response: str, kept: str) -> None:
    assert final_part(response) == kept


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [
    "$", "$$", "$1$", "$1$ ", "\\[", "\\(1", "\\(1\\)", "\\begin{align}", "\\\\", "\\", "(", ". ", "? ", "=", "x=",
    "$a b c ",
    "\\boxed{\\boxed{", "\\boxed", "{", "\n", "5\n", "a ", "Answer: ", "answer ", "no, ", "\\text{", "and ",
    "\ud800", "\\frac{1}{", "1 "])
def test_a_megabyte_of_one_pattern_does_not_hang(piece: str) -> None:
    for before in ("", "#### 5\n", "\\boxed{"):
        assert isinstance(final_answers(before + piece * (1_000_000 // len(piece))).answers, tuple)
