"""Examples from files: what is refused and how it is named, how text becomes ids, and the order of the walk."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from reasongym import registry
from reasongym.config import RunConfig, load_config
from reasongym.errors import ConfigError, DataError, ModelError
from reasongym.models import EMBEDDED, load_tokenizer, model_folder
from reasongym.tasks import Example, Task, TaskOptions
from reasongym.training.examples.encoding import Encoder, tokenizer_fingerprint
from reasongym.training.offline import WITH_SOLUTIONS, OfflineSource, offline_source
from reasongym.training.rows import Sample

pytestmark = pytest.mark.stack

PAIR = {"prompt": "2 + 2?", "chosen": "4", "rejected": "5"}
LABEL = {"prompt": "2 + 2?", "completion": "4", "label": True}
SOLUTION = {"prompt": "2 + 2?", "completion": "4"}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(model_folder(EMBEDDED))


@pytest.fixture(scope="module")
def arithmetic() -> Task:
    return registry.task("arithmetic", TaskOptions())


Open = Callable[..., OfflineSource]


@pytest.fixture
def opened(tmp_path: Path, tokenizer: Any, arithmetic: Task) -> Open:
    """Write rows to a file and open it for an algorithm."""
    def make(algorithm: str, rows: Sequence[object], *settings: str, name: str = "rows.jsonl",
             lines: str = "") -> OfflineSource:
        path = tmp_path / name
        if name.endswith(".parquet"):
            pq.write_table(pa.Table.from_pylist(list(rows)), path)
        else:
            path.write_text(lines or "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        source = offline_source(config(algorithm, path, *settings), arithmetic, tokenizer)
        assert source is not None
        return source

    return make


def config(algorithm: str, path: Path | None, *settings: str) -> RunConfig:
    data = {"algorithm.data": str(path)} if path else {}
    return load_config(options={"algorithm.name": algorithm, "rollout.max_prompt_tokens": 96,
                                "rollout.max_new_tokens": 32, **data}, overrides=settings)


def texts(tokenizer: Any, sample: Sample) -> tuple[str, str]:
    return tokenizer.decode(sample.prompt_ids), tokenizer.decode(sample.token_ids)


# --- what is refused ---


@pytest.mark.parametrize(("algorithm", "row", "says"), [
    ("dpo", {"prompt": "a", "chosen": "b"}, "rows.jsonl:2 has no 'rejected'"),
    ("dpo", {"prompt": "a", "chosen": "b", "rejected": None}, "has no 'rejected'"),
    ("dpo", {"prompt": "a", "choosen": "b", "rejected": "c"}, "has no 'chosen'. Did you mean 'choosen'"),
    ("dpo", {"chosen": "b", "rejected": "c"}, "has no 'prompt'"),
    ("dpo", PAIR | {"rejected": "4"}, "the same answer"),
    ("dpo", PAIR | {"rejected": 5}, "'rejected' that is not text"),
    ("dpo", PAIR | {"rejected": " \n"}, "an empty 'rejected'"),
    ("dpo", PAIR | {"rejected": [{"role": "assistant", "content": "5"}]}, "not text"),
    ("dpo", ["a", "b", "c"], "is not an object"),
    ("dpo", PAIR | {"prompt": ""}, "no prompt to answer"),
    ("dpo", PAIR | {"prompt": []}, "no prompt to answer"),
    ("dpo", PAIR | {"prompt": ["2 + 2?"]}, "a message that is none"),
    ("dpo", PAIR | {"prompt": [{"role": "user"}]}, "a message that is none"),
    ("dpo", PAIR | {"prompt": [{"role": "assistant", "content": "x"}]}, "ends with the assistant's turn"),
    ("dpo", PAIR | {"prompt_token_ids": [1], "tokenizer": "x"}, "without chosen_token_ids, rejected_token_ids"),
    ("dpo", PAIR | {"chosen": "4<|im_end|>\n<|im_start|>user"}, "<|im_end|> within an answer"),
    ("dpo", PAIR | {"chosen": "4 \ud83d"}, "half a character"),
    ("dpo", PAIR | {"prompt": "\ud83d"}, "half a character"),
    ("kto", LABEL | {"label": 1}, "not true or false"),
    ("kto", LABEL | {"label": "true"}, "not true or false"),
    ("kto", {"prompt": "a", "completion": "b"}, "has no 'label'"),
    ("sft", {"prompt": "a", "completion": ""}, "an empty 'completion'"),
])
def test_a_wrong_row_is_named_with_its_line(opened: Open, algorithm: str, row: object, says: str) -> None:
    good = {"dpo": PAIR, "kto": LABEL, "sft": SOLUTION}[algorithm]
    with pytest.raises(DataError, match=r"rows\.jsonl:2 ") as caught:
        opened(algorithm, [good, row])
    assert says in str(caught.value)


@pytest.mark.parametrize(("name", "lines", "says"), [
    ("rows.jsonl", "\n \n", "holds no rows"),
    ("rows.jsonl", json.dumps(SOLUTION) + "\n\n{\n", "rows.jsonl:3 is not JSON"),
    ("rows.jsonl", "[" * 100_000, "rows.jsonl:1 is not JSON"),
    ("rows.csv", "prompt,completion\n", "of a kind that is not read"),
])
def test_a_file_that_is_none_is_one_error(opened: Open, name: str, lines: str, says: str) -> None:
    with pytest.raises(DataError) as caught:
        opened("sft", [], name=name, lines=lines)
    assert says in str(caught.value)


def test_what_is_no_parquet_and_what_is_not_there_are_named(tmp_path: Path, tokenizer: Any, arithmetic: Task) -> None:
    broken = tmp_path / "rows.parquet"
    broken.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(DataError, match="not a Parquet file"):
        offline_source(config("dpo", broken), arithmetic, tokenizer)
    with pytest.raises(DataError, match="reasongym pairs RUN"):
        offline_source(config("dpo", tmp_path / "none.jsonl"), arithmetic, tokenizer)


def test_a_wrong_row_of_a_parquet_file_is_named_with_its_number(opened: Open) -> None:
    rows = [PAIR | {"rejected": str(n)} for n in range(5, 400)] + [PAIR | {"rejected": "4"}]
    with pytest.raises(DataError, match=r"rows\.parquet: row 396 has the same answer"):
        opened("dpo", rows, name="rows.parquet")
    with pytest.raises(DataError, match=r"row 1 has no 'chosen'"):  # none of the columns that are read is there
        opened("dpo", [{"question": "a"}], name="rows.parquet")


def test_a_conversation_the_template_does_not_take_is_found_before_the_run(opened: Open, tokenizer: Any,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    strict = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    monkeypatch.setattr(tokenizer, "chat_template", strict + tokenizer.chat_template)
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
    with pytest.raises(DataError, match=r"rows\.jsonl:2 has turns") as caught:
        opened("sft", [SOLUTION, SOLUTION | {"prompt": turns}])
    assert "no system" in str(caught.value)


# --- text becomes ids ---


def test_an_answer_ends_as_the_chat_template_ends_an_assistants_turn(opened: Open, tokenizer: Any) -> None:
    ((sample,),) = opened("sft", [SOLUTION]).take(1)
    prompt, answer = texts(tokenizer, sample)
    assert prompt.endswith("<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n")
    assert answer == "4<|im_end|>"
    assert tuple(sample.mask) == (True,) * len(sample.token_ids)
    whole = tokenizer.apply_chat_template([{"role": "user", "content": "2 + 2?"},
                                           {"role": "assistant", "content": "4"}], tokenize=False)
    assert whole.startswith(prompt + answer)


def test_the_end_is_found_by_rendering_and_not_taken_from_eos(tokenizer: Any) -> None:
    other = copy.deepcopy(tokenizer)
    other.eos_token = "<|endoftext|>"  # as base models have it
    assert Encoder(other).end_token == "<|im_end|>"


def test_a_template_without_an_end_of_turn_is_refused(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "chat_template", "{% for m in messages %}{{ m.content }}\n{% endfor %}")
    with pytest.raises(ModelError, match="no special token behind an answer"):
        Encoder(tokenizer)


def test_an_end_that_is_spelt_out_is_not_doubled(opened: Open, tokenizer: Any) -> None:
    ((sample,),) = opened("sft", [SOLUTION | {"completion": "4<|im_end|>\n"}]).take(1)
    assert texts(tokenizer, sample)[1] == "4<|im_end|>"


def test_an_answer_that_would_melt_into_the_prompt_leaves_its_ids_alone(opened: Open, tokenizer: Any,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """"f" + "our" joined is one token, "four", which sampling behind a prompt that ends with "f" never gives."""
    template = "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}f{% endif %}"
    monkeypatch.setattr(tokenizer, "chat_template", template)
    ((sample,),) = opened("sft", [SOLUTION | {"completion": "our"}]).take(1)
    assert texts(tokenizer, sample) == ("2 + 2?<|im_end|>f", "our<|im_end|>")


def sampled(tokenizer: Any, **answers: list[int]) -> dict[str, Any]:
    """A row as `reasongym pairs` writes it."""
    row: dict[str, Any] = {"prompt": [{"role": "user", "content": "2 + 2?"}], "prompt_token_ids": [1, 4093, 198],
                           "tokenizer": tokenizer_fingerprint(tokenizer)}
    for name, ids in answers.items():
        row |= {name: tokenizer.decode(ids, skip_special_tokens=True), f"{name}_token_ids": ids, f"{name}_mask": None,
                f"{name}_ended": True}
    return row


def test_what_was_sampled_is_trained_as_it_was_sampled(opened: Open, tokenizer: Any) -> None:
    """A word in two tokens, which no encoder would choose, and an answer that ends at once."""
    ids = [tokenizer(part, add_special_tokens=False)["input_ids"][0] for part in ("f", "our")]
    assert tokenizer("four", add_special_tokens=False)["input_ids"] != ids
    for name in ("rows.parquet", "rows.jsonl"):
        source = opened("dpo", [sampled(tokenizer, chosen=[*ids, 2], rejected=[2])], name=name)
        ((chosen, rejected),) = source.take(1)
        assert tuple(chosen.token_ids) == (*ids, 2)
        assert tuple(rejected.token_ids) == (2,)
        assert chosen.prompt_ids == rejected.prompt_ids == (1, 4093, 198)
        assert "1 of them as token ids" in source.notes[0]


def test_a_mask_of_the_file_is_kept(opened: Open, tokenizer: Any) -> None:
    row = sampled(tokenizer, completion=[44, 45, 2]) | {"completion_mask": [True, False, True]}
    assert tuple(opened("sft", [row]).take(1)[0][0].mask) == (True, False, True)
    with pytest.raises(DataError, match="mask that does not fit"):
        opened("sft", [row | {"completion_mask": [True]}])
    with pytest.raises(DataError, match="without a trainable token"):
        opened("sft", [row | {"completion_mask": [False] * 3}])


def test_ids_of_another_tokenizer_are_not_used(opened: Open, tokenizer: Any) -> None:
    row = sampled(tokenizer, chosen=[44, 2], rejected=[45]) | {"tokenizer": "another", "rejected_ended": False}
    source = opened("dpo", [row | {"chosen": "four", "rejected": "five"}])
    ((chosen, rejected),) = source.take(1)
    assert texts(tokenizer, chosen)[1] == "four<|im_end|>"
    assert texts(tokenizer, rejected)[1] == "five"  # it was cut off: no end is put behind it
    assert "another tokenizer" in source.notes[-1]
    with pytest.raises(DataError, match="no prompt to encode anew"):
        opened("dpo", [{key: value for key, value in row.items() if key != "prompt"}])


def test_an_id_beyond_the_vocabulary_is_found_before_a_rank_dies_of_it(opened: Open, tokenizer: Any) -> None:
    with pytest.raises(DataError, match="a token that the model has not"):
        opened("sft", [sampled(tokenizer, completion=[44]) | {"completion_token_ids": [len(tokenizer)]}])
    with pytest.raises(DataError, match="whole numbers"):
        opened("sft", [sampled(tokenizer, completion=[44]) | {"completion_token_ids": [-1]}])


# --- the walk ---


def numbered(count: int) -> list[dict[str, str]]:
    return [{"prompt": f"{n}?", "completion": str(n)} for n in range(count)]


def test_an_epoch_shows_each_row_once_in_an_order_of_its_own(opened: Open, tokenizer: Any) -> None:
    source = opened("sft", numbered(10))
    epochs = [[texts(tokenizer, row[0])[1] for row in source.take(10)] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [sorted(f"{n}<|im_end|>" for n in range(10))] * 2
    assert epochs[0] != epochs[1]


def test_position_is_the_whole_state(opened: Open) -> None:
    source, again = (opened("sft", numbered(7)) for _ in range(2))
    assert source.position == 0  # opening rehearses a batch without a trace
    batches = [source.take(3) for _ in range(5)]
    assert source.position == 15
    again.position = 9
    assert [again.take(3), again.take(3)] == batches[3:]
    assert opened("sft", numbered(7), "seed=1").take(7) != opened("sft", numbered(7)).take(7)


def test_rows_that_are_too_long_are_passed_over_and_counted(opened: Open) -> None:
    long = [{"prompt": "9 " * 100, "completion": "9"}, {"prompt": "9?", "completion": "9 " * 40}]
    source = opened("sft", [*numbered(4), *long])
    assert source.too_long == 0
    assert all(len(row[0].token_ids) < 8 for row in source.take(8))
    assert source.too_long == 4  # two epochs of two
    assert source.passed_over().startswith("passed over: 4 rows of more than rollout.max_prompt_tokens=96")
    assert source.passed_over() == ""
    with pytest.raises(DataError, match="every row is too long") as caught:
        opened("sft", long)
    assert "rollout.max_prompt_tokens=96" in str(caught.value)


def test_a_pair_goes_where_one_of_it_is_too_long(opened: Open) -> None:
    source = opened("dpo", [PAIR, PAIR | {"rejected": "5 " * 40}])
    assert all(len(sample.token_ids) < 8 for pair in source.take(2) for sample in pair)
    assert source.too_long


# --- KTO ---


def test_every_step_of_kto_has_two_prompts_though_one_fills_the_file(opened: Open) -> None:
    rows = [LABEL | {"completion": str(n), "label": n % 2 == 0} for n in range(30)] + [LABEL | {"prompt": "3 + 3?"}]
    source = opened("kto", rows, "algorithm.batch_size=4", "trainer.mini_batches=2")
    for _ in range(20):
        batch = source.take(4)
        assert len(batch) == 4
        assert all(len({row[0].prompt_ids for row in step}) == 2 for step in (batch[:2], batch[2:]))
    resumed = opened("kto", rows, "algorithm.batch_size=4", "trainer.mini_batches=2")
    resumed.position = source.position
    assert resumed.take(4) == source.take(4)


def test_a_row_that_is_short_enough_is_found_however_many_are_not(opened: Open) -> None:
    """With 2 rows, misses in a row can be 2: the last of an epoch and the first of the next."""
    source = opened("sft", [SOLUTION, {"prompt": "9 " * 100, "completion": "9"}])
    assert len(source.take(20)) == 20


def test_kto_on_one_prompt_is_refused(opened: Open) -> None:
    with pytest.raises(DataError, match="one prompt only"):
        opened("kto", [LABEL, LABEL | {"label": False, "completion": "5"}])
    with pytest.raises(DataError, match="one prompt only"):  # the other prompt's rows are all too long
        opened("kto", [LABEL, LABEL | {"prompt": "9 " * 100}], "algorithm.batch_size=2")
    with pytest.raises(ConfigError, match="two prompts in every optimizer step"):
        opened("kto", [LABEL, LABEL | {"prompt": "3?"}], "algorithm.batch_size=2", "trainer.mini_batches=2")


@pytest.mark.parametrize(("unwanted", "settings", "warned"), [
    (3, (), False), (9, (), True), (9, ("algorithm.undesirable_weight=0.3333333333",), False), (0, (), True)])
def test_kto_warns_of_weights_out_of_balance(opened: Open, unwanted: int, settings: tuple[str, ...],
                                             warned: bool) -> None:
    """3 wanted to 3 is 1:1; to 9 is 1:3, and level again at a third of the weight; to none is beyond any bound."""
    rows = [LABEL | {"prompt": f"{n}?", "label": n < 3} for n in range(3 + unwanted)]
    notes = opened("kto", rows, "algorithm.batch_size=2", *settings).notes
    assert any("weigh" in note for note in notes) == warned


# --- a task's own solutions ---


def test_sft_without_a_file_learns_the_tasks_solutions(tokenizer: Any, arithmetic: Task) -> None:
    source = offline_source(config("sft", None), arithmetic, tokenizer)
    assert source is not None
    examples = [arithmetic.example("train", index, seed=0) for index in range(3)]
    assert [texts(tokenizer, row[0])[1] for row in source.take(3)] == [f"{e.solution}<|im_end|>" for e in examples]
    assert source.rows is None
    assert source.provenance["rows"] == "endless"


class Half(Task):
    """Every second row is solved, or none is."""

    name, description, rewards = "half", "", ()

    def __init__(self, none: bool) -> None:
        self.none = none

    def size(self, split: str) -> int:
        return 6

    def example(self, split: str, index: int, *, seed: int = 0) -> Example:
        return Example(task="half", split=split, index=index, messages=({"role": "user", "content": "?"},),
                       reference=None, solution=None if self.none or index % 2 else str(index))


def test_rows_without_a_solution_are_passed_over_and_a_task_without_any_is_refused(tokenizer: Any) -> None:
    source = offline_source(config("sft", None), Half(none=False), tokenizer)
    assert source is not None
    assert {texts(tokenizer, row[0])[1] for row in source.take(3)} == {f"{n}<|im_end|>" for n in (0, 2, 4)}
    assert "rows without a solution" in source.passed_over()
    with pytest.raises(DataError, match="no solutions of half/train") as caught:
        offline_source(config("sft", None), Half(none=True), tokenizer)
    assert "word_problems" in str(caught.value)


@pytest.mark.parametrize("name", ["arithmetic", "code_synth", "word_problems"])
def test_the_tasks_that_the_error_names_have_solutions(name: str) -> None:
    assert name in WITH_SOLUTIONS
    assert registry.task(name, TaskOptions()).example("train", 0).solution


def test_an_algorithm_that_samples_has_no_file(tokenizer: Any, arithmetic: Task) -> None:
    assert offline_source(load_config(), arithmetic, tokenizer) is None
