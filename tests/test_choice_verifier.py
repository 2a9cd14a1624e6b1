"""The verifier choice: which option a response states, and what must never be credited."""

from __future__ import annotations

import pytest

from reasongym import registry
from reasongym.verifiers import Status, Verdict, as_verdict

CITIES = ["Berlin", "Paris", "London", "Rome"]


def chosen(response: str, reference: object = "B", choices: object = CITIES) -> Verdict:
    return as_verdict(registry.verifier("choice")(response, reference, example={"choices": choices}))


@pytest.mark.parametrize("response", [
    "B", "(b)", "b", "B.", "**B**", "`B`", "\uff22", "[B]", "\\boxed{B}", "\\text{(B)}", "$\\boxed{\\text{(B)}}$",
    "<answer>B</answer>", "#### B", "Answer: B) Paris", "Answer: b", "Answer:\nB", "**Answer:** B", "Answer: <B>",
    "The answer is Paris", "The answer is paris, since it is the capital", "Paris", "B) Paris", "B: Paris", "B - Paris",
    "Final answer: **B. Paris**", "The correct option is B.", "I choose B", "I would choose option (B).", "Option B",
    "So the answer is (B), because Paris is the capital.", "The answer is B because A is in Germany.", "B is correct.",
    "The best answer is option B: Paris", "Therefore it must be (B).", "The answer is B, not C.", '{"answer": "B"}',
    "A is wrong.\nC too.\nB", "Answer: A. Wait.\n\nAnswer: B", "Answer: A\nActually, B", "\\boxed{A} no. \\boxed{B}",
    "<think>Answer: A</think>B", "Answer: B\n\nQuestion: And of Spain?\nAnswer: C",
    "B\n\nQuestion: What is right?\nAnswer: C", "Question: Which city?\nAnswer: B",
    "Not A, but B", "The answer is not A; it is B.", "It's B.", "That's B", "Therefore, B.", "B is more likely than C",
    "B\n\nExplanation: Paris is the capital. A, C and D are wrong.", "\u7b54\u6848\uff1aB", "Respuesta: B",
    "Die Antwort ist B", "B is Paris", "B, if I'm not mistaken", "It's not A. The answer is B", "B (C is wrong)",
    "A is not right so the answer is B", "A is wrong\nThe answer is B", "> B", "- B"])
def test_a_chosen_option_is_not_missed(response: str) -> None:
    assert chosen(response).score == 1, chosen(response)


@pytest.mark.parametrize("response", [
    "", "A", "Answer: C", "Answer: E", "Answer: A or B", "A, B, C, D", "A B C D", "Answer: ABCD", "Answer: B/C",
    "A and B", "either A or B", "Answer: b or c", "\\boxed{A} \\boxed{B}", "\\boxed{A, B}", "Answer: B) London",
    "(A)(B)", "B. C.",
    "C\n\nQuestion: What is the right answer?\nAnswer: B",
    "A) Berlin\nB) Paris\nC) London\nD) Rome", "A) Berlin\nB) Paris", "The answer is not B", "The answer isn't B",
    "B is wrong", "Answer: B\nActually, C", "The answer is B. The answer is C.", "The answer is Paris or London",
    "Answer: Paris, London", "<think>B", "<think>B</think>", "Beautiful", "B52", "not (B)", "Is it (B)?", "\x00\ud800",
    "Option A or option B", "B (or C)", "B -> C", "B \u2192 C", "B vs C", "B maybe C", "Paris or option C",
    "A or option B",
    "The answer is B if Paris is the capital, otherwise C", "B unless it is C", "B, otherwise C",
    "The answer is Paris if in France, otherwise London", "I doubt that the answer is B", "If the answer is B",
    "I don't think the answer is B", "B is less likely than C", "Paris is less likely than London", "B is tempting",
    "Not B, but C", "not A but not B", "The answer is not B; it is C."])
def test_no_choice_or_several_never_count(response: str) -> None:
    assert chosen(response).score == 0
    assert chosen(response).status in (Status.WRONG, Status.UNPARSABLE)


@pytest.mark.parametrize(("response", "letter"), [
    # what is denied names nothing, and what the next clause names counts
    ("A) Berlin is wrong, B) Paris is right", "B"), ("A is wrong, B is right", "B"),
    ("Berlin is wrong, Paris is right", "B"),
    ("A is wrong, B is wrong, C is right", "C"), ("A is wrong, B is wrong", ""), ("A: no, B: yes", "B"),
    # one that is taken back does not count, whatever form the next one has
    ("A) Berlin. Actually, B) Paris", "B"), ("Answer: A. Actually, B", "B"), ("A) Berlin. Wait, no: B) Paris", "B"),
    ("Actually, Paris", "B"), ("The answer is A. No, I am sure.", "A"), ("Answer: A. Hmm, B)", "B"),
    # another option that is denied or part of a reason is no second answer
    ("B, not A, C or D", "B"), ("B (A, C and D are wrong)", "B"), ("B rather than A", "B"),
    ("B, because C is in England", "B"),
    ("B. A, C and D are wrong.", "B"), ("The answer is B, which is better than C.", "B"),
    ("Answer: B. C is in England.", "B"),
    ("B. Option A is a distractor", "B"), ("Answer: B) Paris, unlike A) Berlin", "B"), ("B, definitely not C", "B")])
def test_what_is_denied_or_taken_back_does_not_count(response: str, letter: str) -> None:
    assert {each: chosen(response, each).score for each in "ABCD"} == {each: each == letter for each in "ABCD"}


@pytest.mark.parametrize("response", [
    "A is correct, and so is B", "A as well as B", "A-B", "A = B", "A: 0.6, B: 0.4",
    "A with probability 0.5, B with 0.5",
    "Answer: A. Or B.", "B if France, A otherwise", "A? B!", "The answer is A, I mean B", "Berlin as well as Paris",
    "Berlin = Paris", "Berlin is right, and so is Paris", "Answer: A. Perhaps B.", "A (also B)", "A+B", "A, if not B",
    "A: maybe, B: maybe", "A. B is also possible", "The answer: A. Alternatively, B.", "A, B equally", "A; B", "A... B",
    "A:B", "A>B", "A|B", "\\boxed{A}, \\boxed{B}?", "\\boxed{A}?", "Answer: A?", "Answer: B?", "<answer>A</answer>?"])
def test_a_second_option_in_any_words_or_a_question_earns_nothing(response: str) -> None:
    for choices in (CITIES, None) if "Paris" not in response else (CITIES,):
        assert [chosen(response, each, choices).score for each in "ABCD"] == [0, 0, 0, 0]


@pytest.mark.parametrize("response", ["B) Vitamin C", "B. Plan A", "Answer: B (hepatitis A)", "B) 20 C",
                                      "B) Washington, D.C."])
def test_a_letter_of_an_options_own_text_is_no_second_option(response: str) -> None:
    assert chosen(response, "B", None).score == 1
    assert chosen(response, "B", ["one", "two", "three", "four"]).score == 1


@pytest.mark.parametrize("response", [
    "20.5", "-20", "\u221220", "20,000", "20.000", "20:30", "20, 30", "20; 30", "20 or 30", "20, or 30", ".20", "20/3",
    ">20", "\u00b120", "20 (30)", "-$20$", "-\\text{20}", "\\boxed{-20}", "Answer: -20", "Answer: - 20"])
def test_an_option_is_not_the_beginning_of_another_value(response: str) -> None:
    assert chosen(response, "B", ["10", "20"]).score == 0


@pytest.mark.parametrize(("response", "letter", "options"), [
    ("-20", "A", ["-20", "20"]), ("\u221220", "A", ["-20", "20"]), ("A) -20", "A", ["-20", "20"]), ("20", "B", ["-20",
    "20"]),
    ("B) -20", "", ["-20", "20"]), ("- 20", "", ["-20", "20"]), ("- 20", "B", ["10", "20"]), ("20.", "B", ["10", "20"]),
    ("20, because", "B", ["10", "20"]), ("-x^2", "", ["x", "x^2"]), ("x^2, x^3", "", ["x", "x^2"]),
    ("x^2 + 1", "", ["x", "x^2"]), ("x", "A", ["x", "x^2"]), ("x^2, since it grows", "B", ["x", "x^2"])])
def test_a_sign_tells_two_options_apart(response: str, letter: str, options: list[str]) -> None:
    assert {each: chosen(response, each, options).score for each in "AB"} == {each: each == letter for each in "AB"}


@pytest.mark.parametrize("choices", [5, "abcd", {"text": "pq"}, {"text": None}, [], {"x": "y"}, {"A": 1, "C": 2},
    [[1], [2]]])
def test_options_of_an_unknown_form_are_our_error(choices: object) -> None:
    assert chosen("B", "B", choices).status is Status.ERROR


@pytest.mark.parametrize("response", ["A dog", "A dog ran.", "I think so", "I am unsure", "The answer is I think B",
                                      "A", "I"])
def test_an_article_or_a_pronoun_is_no_letter(response: str) -> None:
    ten = [f"item {n}" for n in range(10)]
    right = {letter: chosen(response, letter, ten).score for letter in "AI"}
    assert right == {letter: float(response == letter) for letter in "AI"}


@pytest.mark.parametrize(("response", "reference", "choices"), [
    ("J", 9, [str(n) * 3 for n in range(10)]), ("Z", "Z", [str(n) * 3 for n in range(26)]), ("C", "C", None),
    ("B", 1, CITIES), ("B", "Paris", CITIES), ("Paris", "(B)", CITIES), ("The answer is a dog", "dog", ["cat", "dog"]),
    ("\\boxed{7}", "B", ["4", "7"]), ("New York City", "A", ["New York City", "New York"]), ("aa", "B", ["Aa", "aa"]),
    ("B", "B", {"text": CITIES}), ("B", "B", {"A": "x", "B": "y"}), ("x^2", "A", ["x^2", "x_2"]),
    ("A", "A", ["same", "same"]), ("B", "A", ["same", "same"])])
def test_references_and_options_of_every_form(response: str, reference: object, choices: object) -> None:
    assert chosen(response, reference, choices).score == 1


@pytest.mark.parametrize(("reference", "choices"), [
    ("E", CITIES), (4, CITIES), (True, CITIES), (None, CITIES), ("Madrid", CITIES), ("A", ["B", "A"]), ("", CITIES),
    ("A or B", CITIES), (-1, CITIES)])
def test_a_reference_that_is_no_single_option_is_our_error(reference: object, choices: object) -> None:
    assert chosen("B", reference, choices).status is Status.ERROR
