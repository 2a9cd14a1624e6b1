"""Contamination: what stands in training data is found, what does not is not, and memory follows the evaluation."""

from __future__ import annotations

import json
import random
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from endpoint_server import chat, serving
from evaluation_results import result_of, sample

from reasongym.cli.contamination import command
from reasongym.cli.eval import command as evaluate
from reasongym.config import load_config
from reasongym.errors import DataError, UnknownNameError
from reasongym.evaluation.contamination import Overlap, SideOverlap
from reasongym.evaluation.contamination.corpus import Document, files_of, read_file
from reasongym.evaluation.contamination.overlap import Compared, EvalRow, compare_rows
from reasongym.evaluation.contamination.sources import ENDLESS_ROWS, open_training, split_spec
from reasongym.evaluation.contamination.words import words_of
from reasongym.evaluation.record import Result
from reasongym.leaderboard.reading import read_folder
from reasongym.tasks import Example, RewardPart, Task
from reasongym.training.overlap import overlap_facts, overlap_note
from reasongym.verifiers import Verdict

INSTRUCTION = "\n\nReason step by step and end with one last line that holds nothing but the number you have found."
WORDS = ("amber", "bridge", "cellar", "dragon", "ember", "fjord", "garden", "harbour", "island", "jungle", "kettle")


def story(number: int, *, words: int = 30) -> str:
    """A text of words drawn by `number`: two of them share no three words in a row, but by chance."""
    rng = random.Random(number)
    return " ".join(f"{rng.choice(WORDS)}{rng.randrange(1000):03}" for _ in range(words))


def rows(count: int = 20) -> list[EvalRow]:
    return [EvalRow(f"t/{number}", story(number) + INSTRUCTION, story(number + 500)) for number in range(count)]


def found(*texts: str, size: int = 13, evaluated: Sequence[EvalRow] | None = None) -> Compared:
    documents = [Document(f"f:{number}", (("text", text),)) for number, text in enumerate(texts)]
    return compare_rows(evaluated or rows(), {"f": documents}, size=size)


def test_other_texts_of_the_same_form_do_not_overlap() -> None:
    compared = found(*(story(number) + INSTRUCTION for number in range(100, 130)))
    assert (compared.overlap.overlapping, compared.pairs) == (0, ())


@pytest.mark.parametrize(("text", "kind", "counted"), [
    (story(3), "exact", ["exact", "normalised", "ngram", "contained"]),
    (story(3) + INSTRUCTION, "exact", ["exact", "normalised", "ngram", "contained"]),
    (story(3).upper().replace(" ", ",\n"), "normalised", ["normalised", "ngram", "contained"]),
    (f"A book. {story(800)} {story(3)} {story(900)}", "ngram", ["ngram", "contained"]),
    (" ".join(story(3).split()[:13]), "ngram", ["ngram"])])
def test_a_prompt_in_training_text_is_found_in_whatever_form(text: str, kind: str, counted: list[str]) -> None:
    compared = found(story(100), text, story(101))
    counts = compared.overlap.prompts.model_dump()
    assert [name for name, count in counts.items() if name not in ("compared", "short") and count] == counted
    assert (compared.overlap.overlapping, compared.overlap.answers.ngram) == (1, 0)
    assert (compared.pairs[0].row, compared.pairs[0].match.kind, compared.pairs[0].match.place) == ("t/3", kind, "f:1")


def test_twelve_words_in_a_row_are_not_thirteen() -> None:
    twelve = " ".join(story(3).split()[:12])
    assert found(twelve).overlap.overlapping == 0
    assert found(twelve, size=12).overlap.overlapping == 1


def test_a_leaked_answer_is_found_apart_from_prompts() -> None:
    overlap = found(f"solution: {story(507)}").overlap
    assert (overlap.overlapping, overlap.prompts.ngram, overlap.answers.ngram) == (1, 0, 1)


def test_the_same_problem_with_other_numbers_is_told_apart() -> None:
    names = ("Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ida")
    asked = [EvalRow(f"t/{n}", f"{name} has {n} red apples and eats {n + 1:,}.{n} of them, how many?", "")
             for n, name in enumerate(names)]
    compared = found("Eva has 1,200 red apples and eats 7 of them, how many?", evaluated=asked)
    counts = compared.overlap.prompts
    assert (counts.template, counts.normalised, compared.overlap.overlapping) == (1, 0, 0)
    assert compared.pairs[0].match.kind == "template"


def test_an_instruction_that_all_rows_hold_is_no_overlap_even_of_a_few_rows() -> None:
    assert found(f"{story(100)}{INSTRUCTION}", evaluated=rows(3)).overlap.overlapping == 0
    assert found(f"{story(100)}{INSTRUCTION}", evaluated=rows(20)).overlap.overlapping == 0


def test_short_answers_are_those_of_many_problems() -> None:
    short = [EvalRow(f"t/{n}", story(n), "42") for n in range(10)]
    assert found("42", evaluated=short).overlap.answers.compared == 0


def test_words_of_scripts_without_blanks_and_of_calculator_notes() -> None:
    assert words_of("Zo\u00eb\u2019s \uff23\uff21\uff34, 3.5") == ["zo\u00eb", "s", "cat", "3", "5"]
    assert words_of("今日は rain") == ["今", "日", "は", "rain"]
    assert words_of("48/2 = <<48/2=24>>24") == words_of("48/2 = 24")
    text = "小明有十二个苹果他吃了三个又买了五个请问现在还有几个苹果"
    assert found(f"\u3002{text}\uff01", evaluated=[EvalRow("t/0", text, "")]).overlap.prompts.contained == 1


def test_the_fast_search_agrees_with_the_slow_one() -> None:
    rng = random.Random(5)
    texts = [" ".join(rng.choice("abcd") for _ in range(40)) for _ in range(60)]
    evaluated = [EvalRow(f"t/{n}", text, "") for n, text in enumerate(texts[:20])]

    def grams(text: str) -> set[str]:
        words = text.split()
        return {" ".join(words[start:start + 8]) for start in range(len(words) - 7)}

    trained = set().union(*map(grams, texts[20:]))
    common = [gram for row in evaluated for gram in grams(row.prompt)]
    expected = sum(any(gram in trained and common.count(gram) <= 10 for gram in grams(row.prompt)) for row in evaluated)
    assert 0 < expected < 20
    assert found(*texts[20:], size=8, evaluated=evaluated).overlap.prompts.ngram == expected


def test_memory_follows_the_evaluation_and_not_the_training_data() -> None:
    def peak(count: int) -> int:
        stream = (Document(str(number), (("text", story(number)),)) for number in range(1000, 1000 + count))
        tracemalloc.start()
        compare_rows(rows(), {"f": stream})
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    assert peak(1500) < 1.3 * peak(300)


def test_an_endless_source_ends_at_the_deadline() -> None:
    def endless() -> Iterator[Document]:
        while True:
            yield Document("f", (("text", story(1)),))

    overlap = compare_rows(rows(), {"f": endless()}, until=time.monotonic() + 0.05).overlap
    assert (overlap.complete, overlap.overlapping) == (False, 1)


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet", "txt"])
def test_every_kind_of_file_gives_every_text(tmp_path: Path, suffix: str) -> None:
    values = [{"id": 1, "chat": [{"role": "user", "content": "a question"}, {"role": "assistant", "content": "yes"}]},
              {"id": 2, "chat": [{"role": "user", "content": "another\u2028one"}]}]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(values), path)
    elif suffix == "txt":
        path.write_text("a question\nyes\n\n\nanother\u2028one")
    else:
        path.write_text(json.dumps(values) if suffix == "json" else "\n".join(map(json.dumps, values)) + "\n\n")
    documents = list(read_file(path))
    texts = " ".join(text for document in documents for _, text in document.texts)
    assert len(documents) == 2
    assert all(part in texts for part in ("a question", "yes", "another\u2028one"))
    places = {"parquet": "row 2", "json": "row 2", "jsonl": ":2", "txt": ":5"}
    assert documents[1].place.endswith(places[suffix])


def test_a_text_of_one_endless_line_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reasongym.evaluation.contamination.corpus.MOST_CHARS", 50)
    (tmp_path / "a.txt").write_text("word " * 40 + "\nnext")
    documents = list(read_file(tmp_path / "a.txt"))
    assert max(len(document.texts[0][1]) for document in documents) <= 50
    assert sum(document.texts[0][1].count("word") for document in documents) >= 39


@pytest.mark.parametrize(("name", "content", "complaint"), [
    ("a.jsonl", b'{"a": 1}\n{"a": ', "a.jsonl:2 is not JSON"), ("a.jsonl", b"[" * 100_000, "is not JSON"),
    ("a.jsonl", b'"\xff"', "cannot be read"), ("a.parquet", b"PAR1", "not a Parquet file"),
    ("a.csv", b"a,b", "no training rows that can be read")])
def test_a_damaged_file_is_named_with_its_place(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        [list(read_file(file)) for file in files_of(tmp_path / name)]


def test_names_of_tasks_keep_their_own_colon() -> None:
    specs = {"gsm8k": ("gsm8k", "test"), "gsm8k:train": ("gsm8k", "train"), "rg:basic": ("rg:basic", "test"),
             "rg:basic:train": ("rg:basic", "train"), "a/b.py:make": ("a/b.py:make", "test"),
             "a/b.py:make:dev": ("a/b.py:make", "dev")}
    assert {spec: split_spec(spec, "test") for spec in specs} == specs


def test_an_unknown_source_is_refused_before_anything_is_compared() -> None:
    with pytest.raises(DataError, match="no file"):
        open_training("nowhere.jsonl")
    with pytest.raises(UnknownNameError):
        open_training("gsm9k")
    assert not open_training("arithmetic", rows=3).complete


def run(*arguments: str, status: int = 0) -> str:
    done = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert done.exit_code == status, done.output
    return done.output


def test_the_command_tells_the_share_and_fails_above_it(tmp_path: Path) -> None:
    data = [{"question": f"{story(n)}?", "answer": f"It is so.\n#### {n}"} for n in range(10)]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, data)))
    (tmp_path / "my.jsonl").write_text(json.dumps({"text": f"\x1b[2J {story(4)}"}))
    output = tmp_path / "new" / "overlap.json"
    arguments = ("--train", str(tmp_path / "my.jsonl"), "--eval", "gsm8k", "--data", str(tmp_path / "test.jsonl"))
    told = run(*arguments, "--output", str(output), "--fail-above", "10")
    assert "1 of 10 rows (10.0 %)" in told
    assert "\x1b" not in told
    written = json.loads(output.read_text())
    assert (written["share"], written["evaluation"], written["pairs"][0]["row"]) == (0.1, "gsm8k:test", "gsm8k/test/4")
    assert "more than --fail-above 9.9" in run(*arguments, "--fail-above", "9.9", status=1)


def test_gsm8k_itself_is_found_in_its_own_files(shared_data: Path) -> None:
    data = str(shared_data / "gsm8k")
    told = run("--train", f"{data}/test.jsonl", "--eval", "gsm8k", "--limit", "50", "--data", data)
    assert "50 of 50 rows (100.0 %)" in told


def test_rows_shown_before_a_question_are_no_part_of_it(tmp_path: Path) -> None:
    """lm-evaluation-harness's form has five rows of the train split in each prompt."""
    for split, start in (("train", 0), ("test", 100)):
        data = [{"question": f"{story(start + n)}?", "answer": f"It is so.\n#### {n}"} for n in range(12)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, data)))
    told = run("--train", str(tmp_path / "train.jsonl"), "--train", "gsm8k:train", "--eval", "gsm8k", "--data",
               str(tmp_path), "--set", "style=lm_eval")
    assert "0 of 12 rows" in told
    assert "24 training rows" in told


def test_an_evaluation_records_its_overlap_with_the_training_data_that_is_named(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = [{"question": f"{story(n)}?", "answer": f"It is so.\n#### {n}"} for n in range(10)]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, data)))
    (tmp_path / "my.jsonl").write_text(json.dumps({"text": story(4)}))
    monkeypatch.setenv("no_proxy", "*")
    with serving(lambda asked, handler: handler.answer(chat("#### 4"))) as server:
        done = CliRunner().invoke(evaluate, [
            "--task", "gsm8k", "--data", str(tmp_path / "test.jsonl"), "--model", "m", "--endpoint", server.url,
            "--recipe", "cpu", "--output", str(tmp_path / "out"), "--train-data", str(tmp_path / "my.jsonl")],
            catch_exceptions=False)
    assert "1 of 10 rows (10.0 %)" in done.output
    made = read_folder(tmp_path / "out")
    assert (made.entry.overlap, made.entry.split_rows) == (0.1, 10)


def overlap_of(overlapping: int = 1) -> Overlap:
    side = SideOverlap(compared=32, short=0, exact=0, normalised=0, template=0, ngram=1, contained=0)
    return Overlap(training=("my.jsonl",), training_rows=9, complete=True, ngram_words=13, rows=32,
                   overlapping=overlapping, prompts=side, answers=side)


def test_a_record_without_overlap_is_written_as_before_there_was_one() -> None:
    made = result_of([sample(0, Verdict.correct("7"))])
    assert "overlap" not in made.model_dump(mode="json")
    assert Result.parse(made.model_dump(mode="json"), "old").overlap is None
    told = made.model_copy(update={"overlap": overlap_of()})
    assert Result.parse(told.model_dump(mode="json"), "new").overlap == overlap_of()


class Leaky(Task):
    """Its first held-out rows are training rows; row 3 of the train split is broken where `broken` is set."""

    name, description, rewards = "leaky", "", (RewardPart(name="correct", verifier="exact", weight=1.0),)

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken

    def size(self, split: str) -> int | None:
        return 20

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        if self.broken and (split, index) == ("train", 3):
            raise RuntimeError("no such row")
        text = story(index if split == "train" or index < 2 else 1000 + index)
        return Example(task=self.name, split=split, index=index, messages=({"role": "user", "content": text},),
                       reference="1")


def facts_of(task: Task, **options: object) -> Mapping[str, object]:
    config = load_config("cpu", options={"task": {}, "evaluation.prompts": 20, **options})
    facts: Mapping[str, object] = overlap_facts(config, task).get("overlap", {})
    return facts


def test_a_run_records_what_its_held_out_rows_share_with_its_training_rows() -> None:
    facts = facts_of(Leaky())
    assert (facts["overlapping"], facts["rows"], facts["training_rows"]) == (2, 20, 20)
    assert "2 of 20 held-out problems are training problems" in overlap_note({"overlap": facts})
    assert facts_of(Leaky(), **{"evaluation.every": 0}) == {}


def test_a_row_that_cannot_be_had_does_not_stop_a_run() -> None:
    facts = facts_of(Leaky(broken=True))
    assert facts == {"error": "RuntimeError: no such row"}
    assert "were not compared" in overlap_note({"overlap": facts})


def test_the_generator_of_a_run_is_asked_for_no_more_rows_than_the_run() -> None:
    from reasongym import registry

    config = load_config("cpu", options={"task": {}, "task.name": "arithmetic", "steps": 3})
    found = overlap_facts(config, registry.task("arithmetic"))["overlap"]
    assert found["training_rows"] == 3 * config.rollout.prompts_per_step < ENDLESS_ROWS
    assert (found["complete"], found["generated"], overlap_note({"overlap": found})) == (True, True, "")
