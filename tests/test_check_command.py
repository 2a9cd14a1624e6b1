"""`reasongym check`: every kind of fault is found and named, sound tasks pass, misuse is told apart from failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reasongym import registry
from reasongym.checking import CHECKS, Skipped
from reasongym.checking.answers import golds, hostile, wrong_answers
from reasongym.checking.floors import floor_of
from reasongym.checking.panels import PANELS, Filling, Trick, fill, panel
from reasongym.checking.references import as_asked, forms, near_misses, same_answer
from reasongym.cli import check as check_command
from reasongym.errors import DataError, UnknownNameError
from reasongym.tasks import Example, RewardPart

FAULTY = Path(__file__).with_name("faulty_tasks.py")
CANARIES = Path(__file__).with_name("adversarial")
SLOW = ("--timeout", "60")  # other work may hold the machine while hostile text is read


def check(*arguments: str) -> Result:
    return CliRunner().invoke(check_command.command, list(arguments))


def failures(name: str, *more: str) -> dict[str, dict[str, str]]:
    """Check -> its first failure, for one of the faulty tasks."""
    result = check("--task", f"{FAULTY}:{name}", "--json", *more)
    record = json.loads(result.stdout)
    assert result.exit_code == (1 if record["failures"] else 0), result.output
    return {failure["check"]: failure for failure in reversed(record["failures"])}


def row(reference: object, *, prompt: str = "Say it.", solution: str | None = None, **fields: object) -> Example:
    return Example(task="t", split="test", index=0, messages=({"role": "user", "content": prompt},),
                   reference=reference, solution=solution, fields=fields)


def test_a_sound_task_fails_nothing_and_every_check_has_looked_at_something() -> None:
    result = check("--task", f"{FAULTY}:Sound", "--rows", "4", "--json")
    record = json.loads(result.stdout)
    assert (result.exit_code, record["result"], record["failures"]) == (0, "passed", [])
    assert record["looked_at"].keys() == CHECKS.keys() - {"expected", "schema"}
    assert record["rows"] == 8  # 4 of each of 2 splits


@pytest.mark.parametrize(("name", "kind"), [
    ("Never", "gold"), ("Contained", "floor"), ("Echo", "floor"), ("LastNumber", "hack"), ("NotANumber", "error"),
    ("AboveOne", "error"), ("NoneAtAll", "error"), ("ByChance", "repeat"), ("Crash", "error"), ("Deep", "error"),
    ("Form", "floor"), ("HeavyForm", "weights"), ("CannotBeMade", "task"), ("NoParts", "task"),
    ("NoSuchVerifier", "task"), ("EchoOfSome", "echo"),
])
def test_a_fault_of_the_reward_is_found_and_named(name: str, kind: str) -> None:
    assert kind in failures(name, "--rows", "2")


@pytest.mark.parametrize(("name", "kind"), [
    ("SharedSplits", "splits"), ("SharedSolutions", "splits"), ("SameIds", "ids"), ("LongPrompts", "prompt"),
    ("SurrogatePrompts", "prompt"), ("NoUserTurn", "prompt"), ("FollowsCalls", "order"), ("SeedIgnored", "seed"),
    ("SeedPlusIndex", "seed"), ("SeedFollowedByData", "seed"), ("AllAlike", "rows"), ("Empty", "rows"),
    ("NotPlain", "carried"), ("Raises", "rows"), ("StatesReference", "stated"),
])
def test_a_fault_of_the_rows_is_found_and_named(name: str, kind: str) -> None:
    assert kind in failures(name, "--rows", "4")


def test_a_failure_says_row_answer_got_and_expected() -> None:
    failure = failures("AboveOne", "--rows", "2")["error"]
    assert failure["row"] == "sound/train/0"
    assert failure["answer"].startswith("'Backwards it is\\n")
    assert "[0, 1], got 1.5" in failure["got"]
    assert failure["expected"] == "a verdict with a score from 0 to 1"


def test_a_verifier_that_keeps_failing_is_not_asked_on_and_on() -> None:
    """1,000 answers of 10 s each would take hours."""
    result = check("--task", f"{FAULTY}:NoneAtAll", "--rows", "4", "--json")
    record = json.loads(result.stdout)
    assert record["answers"] == 8  # one batch, of which more than 5 failed
    assert "keeps failing" in record["notes"][0]


def test_a_verifier_that_hangs_is_killed_and_named() -> None:
    assert "timeout" in failures("Hang", "--rows", "1", "--timeout", "0.3")


def test_a_part_of_form_may_pay_a_wrong_answer_and_never_a_blank_one() -> None:
    part = RewardPart(name="form", verifier="v", weight=0.1)
    asked = {"near": False, "stated": 0.0}
    assert floor_of(part, first=False, blank=False, **asked) == 1.0
    assert floor_of(part, first=False, blank=True, **asked) == 0.0
    assert floor_of(part, first=True, blank=False, **asked) == 0.0


def test_the_table_and_the_failures_are_for_people() -> None:
    result = check("--task", f"{FAULTY}:Never", "--rows", "2")
    assert result.exit_code == 1
    assert "gold failed 8 of 8 times" in result.stdout  # 2 rows of 2 splits, each by solution and by bare reference
    assert result.stdout.count("row:") == check_command.SHOWN_FAILURES
    assert "failed: gold (8)" in result.stdout


@pytest.mark.parametrize("arguments", [
    ("--verifier", "gsm8k"), ("--input", "cases.jsonl"), ("--data", "rows.jsonl"), ("--set", "levels=2"),
    ("--verifier", "gsm8k", "--input", "cases.jsonl", "--task", "arithmetic"), ("--rows", "0"), ("--floor", "1"),
    ("--task", "arithmetic", "--task", "word_problems", "--set", "levels=2"), ("--sing",),
])
def test_misuse_exits_with_2(arguments: tuple[str, ...]) -> None:
    assert check(*arguments).exit_code == 2


def test_a_named_task_that_is_not_there_is_misuse() -> None:
    error = check("--task", "arithmetics").exception
    assert isinstance(error, UnknownNameError)
    assert error.exit_status == 2


def test_of_all_tasks_those_without_rows_here_are_passed_over_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REASONGYM_DATA", raising=False)
    monkeypatch.setattr(registry, "task_names", lambda: ["gsm8k", f"{FAULTY}:Sound"])
    result = check("--rows", "1", "--json")
    passed_over, looked_at = map(json.loads, result.stdout.splitlines())
    assert (passed_over["result"], looked_at["result"], result.exit_code) == ("skipped", "passed", 0)
    assert "the rows of gsm8k were not found" in passed_over["why"]


def test_prompts_are_measured_in_the_models_own_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tokenizer:
        chat_template = "is there"

        def apply_chat_template(self, messages: list[dict[str, str]], **options: object) -> str:
            return "".join(turn["content"] for turn in messages)

        def __call__(self, text: str, **options: object) -> dict[str, list[int]]:
            return {"input_ids": list(text.encode())}

    monkeypatch.setattr("reasongym.models.load_tokenizer", lambda path: Tokenizer())
    monkeypatch.setattr("reasongym.models.model_folder", lambda path: path)
    # "Spell 1234567 backwards." has 24 bytes.
    assert failures("Sound", "--rows", "1", "--model", "m", "--max-prompt-tokens", "23")["prompt"]["got"] == "24 tokens"
    assert not failures("Sound", "--rows", "1", "--model", "m", "--max-prompt-tokens", "24")


# --- the answers that are tried ---


@pytest.mark.parametrize("name", PANELS)
def test_every_line_of_a_panel_can_be_filled_and_says_why(name: str) -> None:
    filling = Filling(reference="72", other="71", other_as_asked="#### 71", prompt="How many?")
    tricks = panel(name)
    assert len({trick.name for trick in tricks}) == len(tricks) > 15
    assert all(trick.why and fill(trick, filling) is not None for trick in tricks)


def test_a_prompt_that_looks_like_a_template_is_left_as_it_is() -> None:
    echo = Trick(name="echo", why="", text="@prompt@")
    assert fill(echo, Filling(prompt="mail me @other@", other="71")) == "mail me @other@"
    assert fill(echo, Filling(other="71")) is None


@pytest.mark.parametrize(("prompt", "answer"), [
    ("Reason.\nEnd with one last line of this form:\n#### <number>", "#### 72"),
    ("End with: Answer: <letter>", "Answer: 72"),
    ("Put it in <answer> and </answer> tags.", "<answer>72</answer>"),
    (r"Put it in \boxed{}.", r"\boxed{72}"),
    (r"Write \boxed{<number>} at the end.", r"\boxed{72}"),
    ("The last line begins with ####.", "#### 72"),
    ("Is 3 < 5 or 5 > 3? Reply with the number only.", "72"),
])
def test_a_reference_is_written_as_the_prompt_asks(prompt: str, answer: str) -> None:
    assert as_asked(prompt, "72") == answer


@pytest.mark.parametrize(("reference", "verifier", "written"), [
    ("72", "", ("72",)), (72, "", ("72",)), (True, "", ("True", "true")), ([1, [2]], "", ("[1, [2]]",)),
    ({"value": 3, "rel_tol": 0.1}, "", ("3",)), ({"schema": {}, "value": "a"}, "", ('"a"',)),
    ({"schema": {}, "value": None}, "", ("null",)), ({"schema": {}}, "", ()), ({"tests": []}, "code", ()),
    ("a+", "regex", ()), (None, "", ()),
])
def test_a_reference_that_is_no_answer_is_not_taken_for_one(reference: object, verifier: str,
                                                             written: tuple[str, ...]) -> None:
    assert forms(reference, verifier) == written


def test_near_misses_are_wrong_numbers() -> None:
    assert list(near_misses("72")) == ["172", "721", "-72"]
    assert list(near_misses("-1,000")) == ["-11000", "-10001", "1,000"]
    assert list(near_misses("0")) == ["10", "01"]  # -0 is 0
    assert list(near_misses("3.5")) == ["13.5", "-3.5"]  # 3.51 may be within a tolerance
    assert list(near_misses("x = 3")) == []


def test_a_text_that_happens_to_be_right_is_no_hack() -> None:
    tried = {asked.response for asked in wrong_answers(row("True"), [row("False")], "exact")}
    assert "True" not in tried
    assert "None" in tried


def test_a_hack_that_states_a_rows_reference_by_chance_is_tried_on_other_rows_alone() -> None:
    """98 - 98 = 0, and a verdict as JSON ends with `"seconds": 0.0`: a verifier that reads it so is not deceived."""
    def tricks(reference: str) -> set[str]:
        return {asked.trick for asked in wrong_answers(row(reference), [row("17")], "gsm8k") if asked.check == "hack"}

    zero, other = tricks("0"), tricks("4")
    assert other - zero >= {"whole verdict as JSON", "verdict in the answer's frame",
                            "names the reference in a template"}
    assert not zero - other
    assert {"every number, a line each", "every number as a last line", "two last lines", "every option"} <= zero


def test_hostile_text_may_earn_where_it_states_the_reference_by_chance() -> None:
    earns = {asked.trick: asked.earns for asked in hostile(row("10"), "gsm8k")}
    assert (earns["power tower as a last line"], earns["power tower"]) == ("anything", "nothing")


def test_a_wrong_answer_of_another_row_is_never_the_same_number() -> None:
    for other in ("1,000.00", " 1000", "$1000$", "2000/2"):
        assert same_answer(other, "1000")
    for one, other in (("\\frac12", "0.5"), ("\\frac{1}{2}", "\\dfrac12"), ("-1/2", "-0.50"), ("(A)", "(a)")):
        assert same_answer(one, other)
    for one, other in (("100", "1000"), ("\\frac{1}{23}", "\\frac{12}{3}"), ("1/0", "1"), ("x", "y")):
        assert not same_answer(one, other)
    answers = [asked for asked in wrong_answers(row("1000"), [row("1,000"), row("7")], "gsm8k") if asked.near]
    assert "7" in {asked.response for asked in answers}
    assert "1,000" not in {asked.response for asked in answers}


def test_where_the_rows_own_rule_decides_no_text_is_wrong_elsewhere() -> None:
    """Any object is right for {"type": "object"}, another row's reference for the same pattern."""
    for reference, verifier in (({"schema": {"type": "object"}}, "json_schema"), ("[0-9]+", "regex")):
        tried = list(wrong_answers(row(reference), [row("other")], verifier))
        assert {asked.check for asked in tried} == {"floor"}
        assert not [asked for asked in tried if asked.near]


def test_both_the_solution_and_the_bare_reference_are_tried() -> None:
    tried = list(golds(row("72", prompt="#### <number>", solution="70 + 2 = 72\n#### 72"), "gsm8k"))
    assert [(asked.response, asked.earns) for asked in tried] == [("70 + 2 = 72\n#### 72", "all"), ("#### 72", "first")]


def test_a_skipped_task_is_no_failure() -> None:
    assert not check_command.failed(Skipped("t", "no rows"))


# --- one verifier with cases ---


def cases(folder: Path, *rows: dict[str, object]) -> str:
    file = folder / "cases.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return str(file)


@pytest.mark.parametrize("verifier", sorted(
    file.stem for file in CANARIES.glob("*.jsonl") if file.stem in registry.BUILT_IN_VERIFIERS))
def test_the_canaries_get_the_verdicts_they_must_and_the_panels_earn_nothing(verifier: str) -> None:
    result = check("--verifier", verifier, "--input", str(CANARIES / f"{verifier}.jsonl"), "--rows", "1", "--json",
                   *SLOW)
    assert (result.exit_code, json.loads(result.stdout)["failures"]) == (0, [])


def test_a_verdict_that_differs_from_what_a_case_expects_fails(tmp_path: Path) -> None:
    given = cases(tmp_path, {"response": "#### 4", "reference": "4", "expected": "wrong", "id": "a"},
                  {"response": "#### 5", "reference": "4", "expected": True},
                  {"response": "#### 4", "reference": "4", "expected": 1}, {"response": "", "reference": "4"})
    result = check("--verifier", "gsm8k", "--input", given, "--json")
    record = json.loads(result.stdout)
    assert result.exit_code == 1
    assert [(one["check"], one["row"], one["expected"]) for one in record["failures"]] == \
        [("expected", "case/a/1", "wrong"), ("expected", "case/2/2", "score 1")]


def test_a_verifier_is_tried_with_the_panels_on_its_cases_references(tmp_path: Path) -> None:
    given = cases(tmp_path, {"response": "4", "reference": "4", "expected": 1}, {"response": "7", "reference": "5"})
    result = check("--verifier", f"{FAULTY}:faulty_last_number", "--input", given, "--json")
    assert {failure["check"] for failure in json.loads(result.stdout)["failures"]} >= {"hack"}


def test_a_verifier_without_references_is_not_told_what_is_wrong(tmp_path: Path) -> None:
    """Even numbers are right: a list that ends in 1000 is, too."""
    rules = tmp_path / "rules.py"
    rules.write_text("def even(response, reference, *, example):\n    return response[-1:] in set('02468')\n")
    given = cases(tmp_path, {"response": "12", "reference": None, "expected": 1})
    assert check("--verifier", f"{rules}:even", "--input", given).exit_code == 0


@pytest.mark.parametrize("line", [
    "nonsense", "[1]", '{"response": 1, "reference": 1}', '{"response": "1"}', "[" * 100_000,
    '{"response": "1", "reference": NaN}', '{"response": "1", "reference": "1", "expected": "right"}',
    '{"response": "1", "reference": "1", "expected": 2}', '{"response": "1", "reference": "1", "expected": null}', "",
])
def test_a_case_that_is_none_is_misuse_and_names_its_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(line)
    error = check("--verifier", "gsm8k", "--input", str(file)).exception
    assert isinstance(error, DataError)
    assert f"{file}:1" in str(error) or not line


@pytest.mark.parametrize("name", ["gsm8k", "math500", "svamp"])
def test_the_data_sets_withstand_every_check(name: str, shared_data: Path) -> None:
    result = check("--task", name, "--data", str(shared_data / name), "--rows", "1", *SLOW)
    assert result.exit_code == 0, result.output
