"""The generators of reasoning-gym as tasks, and their verifier."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reasongym import registry
from reasongym.errors import ConfigError, DataError, UnknownNameError
from reasongym.scoring import ScoringPool
from reasongym.scoring.protocol import decode, encode_answer
from reasongym.tasks import Example, Task, TaskOptions
from reasongym.tasks.base import content_split
from reasongym.tasks.tagged_json import from_tagged, to_tagged
from reasongym.verifiers import Status, Verdict, as_verdict

package = pytest.importorskip("reasoning_gym", reason="the package reasoning-gym is not installed")

FAST = ("chain_sum", "coin_flip", "countdown", "emoji_mystery", "fraction_simplification", "game_of_life_halting",
        "gsm_symbolic", "knights_knaves", "n_queens", "polynomial_multiplication", "prime_factorization", "puzzle24",
        "rearc", "sentence_reordering", "spiral_matrix", "tower_of_hanoi")
BESIDE = [json.loads(line) for line in
          Path(__file__).with_name("adversarial").joinpath("beside_gold.jsonl").read_text().splitlines()]


def made(generator: str, **settings: object) -> Task:
    return registry.task(f"rg:{generator}", TaskOptions(settings=settings))


def scored(response: str, example: Example) -> Verdict:
    """The verdict a scoring worker would give: row and response go through JSON first."""
    sent = decode(encode_answer(response, example))
    return as_verdict(registry.verifier("reasoning_gym")(sent["response"], sent["reference"], example=sent["fields"]))


def rows(generator: str, count: int = 4, **settings: object) -> list[Example]:
    task = made(generator, **settings)
    return [task.example("train", index, seed=5) for index in range(count)]


@pytest.mark.parametrize("generator", FAST)
def test_gold_scores_1_and_hostile_answers_the_floor(generator: str) -> None:
    for example in rows(generator, 2):
        assert scored(example.solution or "", example).score == 1
        assert scored(f"Some thought.\n{example.solution}\nDone.", example) == scored(example.solution or "", example)
        for answer in ("", " ", "?", "I do not know", "[" * 5000, "\x00\ud800", "9" * 30_000, "2**9**9**9", "()",
                       f"{example.reference} or 123456", f"123456 or {example.reference}", "__import__('os')._exit(3)"):
            verdict = scored(f"<answer>{answer}</answer>", example)
            assert verdict.score == 0, answer[:40]
            assert verdict.status in (Status.WRONG, Status.UNPARSABLE), verdict
        for response in ("", f"<think>{example.solution}", f"{example.solution} <answer></answer>"):
            assert scored(response, example).status is Status.UNPARSABLE


@pytest.mark.parametrize("generator", ["chain_sum", "spell_backward", "n_queens", "tower_of_hanoi"])
def test_rows_are_the_same_again_and_seeds_do_not_overlap(generator: str) -> None:
    """The package seeds its rows by `seed + index`: seed 1 index 0 would be seed 0 index 1."""
    task, again = made(generator), made(generator)
    assert again.example("test", 1, seed=2) == task.example("test", 1, seed=2)
    shown = [task.example("train", index, seed=seed).messages[0]["content"] for seed in (0, 1, 2) for index in range(5)]
    assert len(set(shown)) > 12  # of 15, where `seed + index` has 7; tower_of_hanoi has some 90 questions


def test_no_question_is_in_both_splits() -> None:
    task = made("coin_flip", min_trials=3, max_trials=5)
    asked = {split: {task.example(split, index, seed=seed).messages[0]["content"] for index in range(20)
                     for seed in (0, 1)} for split in task.splits}
    assert asked["train"]
    assert asked["test"]
    assert not asked["train"] & asked["test"]


def test_a_row_does_not_follow_what_others_drew_from_the_state_they_share() -> None:
    """list_functions draws from `random` itself."""
    task = made("list_functions")
    shown = []
    for state in range(6):
        random.seed(state)
        shown.append(task.example("train", 1, seed=0))
        assert random.random() == random.Random(state).random()
    assert all(example == shown[0] for example in shown)


def test_a_space_of_one_question_ends_with_an_error_instead_of_a_loop() -> None:
    task = made("count_bits", min_n=1, max_n=1)
    full = content_split("rg:count_bits", "How many 1 bits are there in the binary representation of the number 1?")
    assert task.example(full, 3).reference == "1"
    with pytest.raises(DataError, match="widen the generator's settings"):
        task.example("train" if full == "test" else "test", 3)


# Scorers that take one of the answers of beside_gold.jsonl on some row, found by a run over all generators.
LENIENT = ("complex_arithmetic", "fraction_simplification", "game_of_life_halting", "gsm_symbolic", "kakurasu",
           "knights_knaves", "quantum_lock", "sokoban", "spell_backward", "survo", "word_sorting")


@pytest.mark.parametrize("generator", LENIENT)
def test_the_gold_answer_with_anything_beside_it_earns_nothing(generator: str) -> None:
    taken: list[str] = []
    for example in rows(generator, 16 if generator == "spell_backward" else 2):
        entry = from_tagged(example.fields["entry"])
        assert isinstance(entry, dict)
        dataset = package.create_dataset(generator, seed=0, size=1)
        for line in BESIDE:
            answer = line["text"].replace("@", str(entry["answer"]))
            if answer.casefold() == str(entry["answer"]).casefold():
                continue
            assert scored(f"<answer>{answer}</answer>", example).score == 0, (answer, line["why"])
            if not dataset.score_answer(answer, entry) < 1:
                taken.append(answer)
    assert taken  # else the package has mended it, and the list above is out of date


@pytest.mark.parametrize(("generator", "gold", "answer", "metadata"), [
    ("coin_flip", "0.375", "0.3", {}), ("gsm_symbolic", "162", "-162", {}), ("gsm_symbolic", "162", "162 wrong", {}),
    ("game_of_life", "[[0,1],[1,0]]", "[[0,1,7],[1,0],[5]]", {}),
    ("tower_of_hanoi", "x", "not Move disk 1 from Peg 1 to Peg 2",
     {"num_disks": 1, "num_pegs": 3, "start_peg": 1, "target_peg": 2}),
    ("calendar_arithmetic", "-1", "40", {"task": "count_days"}), ("number_sorting", "['1.0', '5.0']", "['1.9', '4.5']",
     {"direction": "ascending"}), ("time_intervals", "5 days", "5 days, 10:00", {"task_type": "date"}),
    ("time_intervals", "10:30", "10:30:00:zzz", {"task_type": "time"}),
    ("graph_color", None, '{"0": 1, "1": 2, "x": 3}', {"puzzle": {"vertices": [0, 1], "edges": [[0, 1]],
                                                                 "color_options": [1, 2]}}),
    ("palindrome_partitioning", '[["a"]]', '[["a"], ["a"]]', {"solution": [["a"]]}),
    ("jugs", '["fill A"]', '["fill A or empty A"]', {"puzzle": {"jug_capacities": [3, 4, 5], "target": 3}}),
    ("polynomial_equations", "0.0", "#### 1.5, 2\n#### 0.0", {}),
    ("sokoban", "R", "L", {"gamestr": "+ + + + +\n+ * - $ +\n+ + + + +"}),  # solved before a move: anything would do
    ("puzzle24", "x", "(1 + 1 / 25 - 0) * 24", {"numbers": [1, 1, 25, 24]}),
    ("countdown", "x", "100000 + 1 / 2", {"numbers": [100000, 1, 2], "target": 100000}),
    ("puzzle24", "x", "(6 - 2) * (3 + 3)", {"numbers": [1, 2, 3, 6]}),
    ("decimal_arithmetic", "1.00453393786", "1.005", {}), ("pool_matrix", "100.0 5.0", "100.9 5.0", {}),
    ("shortest_path", "up", "up or down", {"matrix": [["#"], ["*"]]})])
def test_an_answer_that_a_scorer_takes_too_widely_is_wrong(generator: str, gold: str | None, answer: str,
                                                           metadata: dict[str, Any]) -> None:
    assert scored(f"<answer>{answer}</answer>", entry_of(generator, gold, metadata)).score == 0


@pytest.mark.parametrize(("generator", "gold", "answer", "metadata"), [
    ("game_of_life_halting", "False", "false", {}), ("gsm_symbolic", "1162", "1162", {}),
    ("gsm_symbolic", "162", "162 apples", {}), ("game_of_life", "[[0,1],[1,0]]", "[[0, 1], [1, 0]]", {}),
    ("number_sorting", "['1.0', '5.0']", '["1", "5.00"]', {"direction": "ascending"}),
    ("knights_knaves", "Ann is a knight, and Bob is a knave.", "Bob is a knave and Ann is a knight", {}),
    ("time_intervals", "10:30", "10:30:00", {"task_type": "time"}), ("pool_matrix", "4.56 5.0", "4.555 5", {}),
    ("graph_color", None, '{"1": 2, "0": 1}', {"puzzle": {"vertices": [0, 1], "edges": [[0, 1]],
                                                         "color_options": [1, 2]}}),
    ("palindrome_partitioning", '[["a", "a"], ["aa"]]', '[["aa"], ["a", "a"]]', {"solution": [["a", "a"], ["aa"]]}),
    ("jugs", '["fill A"]', '["fill B", "fill A"]', {"puzzle": {"jug_capacities": [3, 4, 5], "target": 3}}),
    ("puzzle24", "x", "6 * (3 + 2 - 1)", {"numbers": [1, 2, 3, 6]}),
    ("complex_arithmetic", "5.0 + 8.0i", "5+8i", {"result": [5.0, 8.0]}),
    ("bitwise_arithmetic", "0x10", "16", {"problem": "(0x8 + 0x8)"}), ("power_function", "12345.0", "1.23e+4", {}),
    ("decimal_arithmetic", "1.00453393786", "1.0045339", {}),
    ("word_sorting", "ab, cd", "ab,cd", {"sorted_words": ["ab", "cd"]})])
def test_another_right_answer_in_the_form_asked_for_counts(generator: str, gold: str | None, answer: str,
                                                           metadata: dict[str, Any]) -> None:
    assert scored(f"<answer>{answer}</answer>", entry_of(generator, gold, metadata)).score == 1


def entry_of(generator: str, gold: str | None, metadata: dict[str, Any]) -> Example:
    entry: dict[str, Any] = {"question": "How many apples?", "answer": gold, "metadata": {"difficulty": {}, **metadata}}
    fields = {"generator": generator, "config": to_tagged({}), "entry": to_tagged(entry), "partial": False}
    return Example(task="t", split="test", index=0, messages=(), reference=gold, fields=fields)


def test_the_same_sentence_or_puzzle_in_other_words_is_in_the_same_split() -> None:
    for generator in ("caesar_cipher", "kakurasu", "mini_sudoku"):
        task = made(generator)
        answers = {split: {str(task.example(split, index, seed=seed).reference) for index in range(24)
                           for seed in (0, 1)} for split in task.splits}
        assert not answers["train"] & answers["test"]


def test_partial_credit_is_given_only_where_it_is_asked_for() -> None:
    (example,), (asked,) = rows("sentence_reordering", 1), rows("sentence_reordering", 1, partial=True)
    words = str(example.reference).split()
    half = " ".join([*words[:1], *reversed(words[1:])])
    assert scored(f"<answer>{half}</answer>", example).score == 0
    assert 0 < scored(f"<answer>{half}</answer>", asked).score < 1
    assert scored(f"<answer>{half}</answer>", asked).status is Status.PARTIAL
    assert scored("<answer>xyzzy</answer>", asked).score == 0  # 0.05 in the package, as for any text


def test_an_answer_is_never_run(tmp_path: Path) -> None:
    """n_queens, countdown and others evaluate the answer as Python."""
    trace = tmp_path / "trace"
    for generator in ("n_queens", "spiral_matrix", "string_insertion", "binary_matrix", "countdown", "puzzle24",
                      "polynomial_multiplication", "simple_integration", "intermediate_integration"):
        (example,) = rows(generator, 1)
        for answer in (f"open({str(trace)!r}, 'w')", f"[c for c in [open({str(trace)!r}, 'w')]]", "exit()",
                       f"().__class__.__mro__ and open({str(trace)!r}, 'w').write('x')"):
            assert scored(f"<answer>{answer}</answer>", example).status is Status.UNPARSABLE
    assert not trace.exists()


def test_a_damaged_row_is_our_error() -> None:
    (example,) = rows("chain_sum", 1)
    for fields in ({}, {**example.fields, "generator": "none"}, {**example.fields, "entry": {"dict": [[1]]}},
                   {**example.fields, "entry": 5}, {**example.fields, "config": {"dict": [["min_terms", -5]]}}):
        assert as_verdict(registry.verifier("reasoning_gym")("<answer>1</answer>", "", example=fields)).status \
            is Status.ERROR


@pytest.mark.parametrize(("spec", "settings", "kind", "says"), [
    ("rg:chain_sums", {}, UnknownNameError, "Did you mean 'chain_sum'"),
    ("rg:", {}, UnknownNameError, "no generator ''"), ("rg:<name>", {}, UnknownNameError, "no generator"),
    ("rg:composite", {}, UnknownNameError, "one by one"),
    ("rg:chain_sum", {"min_term": 2}, ConfigError, "Did you mean 'min_terms'"),
    ("rg:chain_sum", {"seed": 2}, ConfigError, "no setting 'seed'"),
    ("rg:chain_sum", {"size": 2}, ConfigError, "no setting 'size'"),
    ("rg:chain_sum", {"min_terms": -2}, ConfigError, "cannot make a row"),
    ("rg:chain_sum", {"min_terms": "two"}, ConfigError, "cannot make a row"),
    ("rg:chain_sum", {"partial": 1}, ConfigError, "partial")])
def test_a_wrong_name_or_setting_is_refused(spec: str, settings: dict[str, object], kind: type[Exception],
                                           says: str) -> None:
    with pytest.raises(kind, match=says):
        registry.task(spec, TaskOptions(settings=settings))


def test_settings_reach_the_generator() -> None:
    (example,) = rows("chain_sum", 1, min_terms=6, max_terms=6, min_digits=1, max_digits=1)
    assert sum(example.messages[0]["content"].count(sign) for sign in (" + ", " - ")) == 5
    with pytest.raises(ConfigError, match="makes its own rows"):
        registry.task("rg:chain_sum", TaskOptions(data="somewhere"))
    with pytest.raises(DataError, match="no such row"):
        made("chain_sum").example("dev", 0)


def test_a_worker_scores_what_the_task_gives() -> None:
    task = made("knights_knaves")  # its metadata holds NumPy's texts
    with ScoringPool(task.rewards, workers=1, timeout_s=60, memory_mib=1024) as pool:
        examples = [task.example(split, 0) for split in task.splits]
        scores = [pool.submit(example.solution or "", example).result(120)["correct"].score for example in examples]
        assert pool.submit("?", examples[0]).result(120)["correct"].score == 0
    assert scores == [1, 1]


@pytest.mark.parametrize("value", [
    None, True, 1, 1.5, "x", [1, [2]], (1, (2, [3])), {"a": (1,)}, {(0, 1): [2], 3: {4}}, frozenset({1}), {}, [], (),
    {"dict": {"tuple": 1}}, [{"set": set()}], Fraction(-1, 3)])
def test_plain_values_survive_json_as_they_are(value: object) -> None:
    again = from_tagged(json.loads(json.dumps(to_tagged(value), allow_nan=False)))
    assert again == value
    assert repr(again) == repr(value)


def test_what_json_cannot_carry_is_refused() -> None:
    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    for value in (float("nan"), object(), deep, 1j, b"x"):
        with pytest.raises(ValueError, match=r"a value of type|nested"):
            to_tagged(value)
    for damaged in ({"tuple": 1}, {"a": [1]}, {"tuple": [], "set": []}, {}, {"fraction": [1, 0]}):
        with pytest.raises(ValueError, match=r"tag|no fraction"):
            from_tagged(damaged)


def test_listing_tasks_does_not_load_the_package(repo_root: Path) -> None:
    script = ("import sys; from click.testing import CliRunner; from reasongym.cli.tasks import command;"
              "out = CliRunner().invoke(command, [], env={'COLUMNS': '160'}); assert 'rg:<name>' in out.output, out;"
              "print('reasoning_gym' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", script], cwd=repo_root, capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(ConfigError, match=r'pip install "reasongym\[procedural\]"'):
        made("chain_sum")
