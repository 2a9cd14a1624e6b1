"""`reasongym eval`: what is measured, what is refused, what is written. Only the engines are a stand-in."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reasongym import cli
from reasongym.config import load_config
from reasongym.errors import ConfigError, DataError, ResourceError
from reasongym.evaluation.placement import plan_engines
from reasongym.evaluation.rows import choose_rows
from reasongym.planning import Hardware, shape_of
from reasongym.records import Completion, FinishReason
from reasongym.registry import task
from reasongym.rollout.requests import Request
from reasongym.tasks import TaskOptions
from reasongym.tracking import read_rollouts

SHAPE = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 128,
         "vocab_size": 256, "max_position_embeddings": 2048, "model_type": "llama"}


# --- which rows, which engines ---


def test_a_generator_with_few_problems_is_not_asked_the_same_one_twice() -> None:
    arithmetic = task("arithmetic", TaskOptions(settings={"levels": 1}))
    found = choose_rows(arithmetic, "test", 200, seed=0)
    texts = {example.messages[0]["content"] for example in found}
    assert 0 < len(found) == len(texts) < 81  # a + b of 1 to 9: 81 sums in all


def test_part_of_a_data_set_is_drawn_by_the_seed_and_all_of_it_by_none(gsm8k_rows: Path) -> None:
    rows = task("gsm8k", TaskOptions(data=str(gsm8k_rows)))

    def indices(count: int | None, seed: int) -> list[int]:
        return [example.index for example in choose_rows(rows, "test", count, seed=seed)]

    assert indices(None, 0) == list(range(6))
    assert indices(3, 0) == indices(3, 0)
    assert len({tuple(indices(3, seed)) for seed in range(8)}) > 1
    with pytest.raises(DataError, match="6 rows"):
        indices(7, 0)


def test_engines_take_the_gpus_that_a_trainer_would_have_had() -> None:
    config = load_config("gpu8", overrides=["rollout.engines=8"])  # with its 4 ranks beside them they would not fit
    plan = plan_engines(config, Hardware.described("8x H100 80GB"), shape_of("Qwen/Qwen2.5-7B-Instruct"))
    assert [(slot.kind, slot.gpus) for slot in plan.placement] == [("engine", (gpu,)) for gpu in range(8)]


def test_engines_that_need_more_memory_than_the_machine_has_are_refused() -> None:
    hardware = Hardware(cores=2, memory_gib=8.0, disk_free_gib=100.0, shared_memory_gib=4.0)
    with pytest.raises(ResourceError, match=r"rollout\.kv_cache_gib"):
        plan_engines(load_config("cpu", overrides=["rollout.kv_cache_gib=6"]), hardware, shape_of("smollm2-135m"))


# --- the command ---


class Tokenizer:
    """Words as tokens."""

    chat_template, name_or_path = "yes", "stand-in"

    def apply_chat_template(self, messages: list[dict[str, str]], **options: object) -> str:
        return " ".join(turn["content"] for turn in messages)

    def __call__(self, text: str, **options: object) -> dict[str, list[int]]:
        return {"input_ids": list(range(len(text.split())))}


def completion(text: str, *, tokens: int = 3, cut: bool = False) -> Completion:
    return Completion(token_ids=(1,) * tokens, logprobs=(0.0,) * tokens, mask=(True,) * tokens, versions=(0,) * tokens,
                      text=text, finish_reason=FinishReason.LENGTH if cut else FinishReason.STOP, seed=0)


class Engines:
    """Answers each prompt with its row's number: rows 0 and 1 hold right answers."""

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Completion]]:
        for request in requests:
            index = request.prompt.example.index
            yield request, completion(f"#### {index}" if index != 5 else "no idea", tokens=10, cut=index == 5)


@pytest.fixture
def gsm8k_rows(tmp_path: Path) -> Path:
    """Six rows whose gold answers are 0, 1, 0, 0, 0, 0; the last question is long."""
    folder = tmp_path / "rows"
    folder.mkdir()
    golds = [0, 1, 0, 0, 0, 0]
    (folder / "test.jsonl").write_text("".join(
        json.dumps({"question": "word " * (3 + 100 * (i == 4)) + f"{i}?", "answer": f"so #### {gold}"}) + "\n"
        for i, gold in enumerate(golds)))
    return folder


Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, gsm8k_rows: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The exit status of `reasongym eval --task gsm8k` with these arguments, in an empty folder."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(SHAPE))

    @contextlib.contextmanager
    def engines(config: Any, plan: Any, model: str) -> Iterator[Engines]:
        yield Engines()

    monkeypatch.setattr("reasongym.cli.eval.open_engines", engines)
    monkeypatch.setattr("reasongym.models.load_tokenizer", lambda path, **options: Tokenizer())
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def call(*arguments: str, data: Path | None = gsm8k_rows) -> int:
        given = ["--task", "gsm8k", "--model", str(model), "--recipe", "cpu", *(["--data", str(data)] if data else [])]
        monkeypatch.setattr("sys.argv", ["reasongym", "eval", *given, *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    return call


def test_an_evaluation_writes_figures_that_agree_with_its_rollouts(run: Run,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "shots=0", "--max-prompt-tokens", "64", "--output", "out") == 0
    record = json.loads(Path("out/results.json").read_text())
    rows = read_rollouts(Path("out/rollouts.parquet"))
    # Row 4 is too long. Of the other five, rows 0 and 1 are right, row 5 says nothing that can be read.
    assert record["rewards"]["correct"]["mean"] == 2 / 5 == sum(row["score_correct"] for row in rows) / len(rows)
    assert (record["task"]["rows"], record["task"]["too_long"]) == ([0, 1, 2, 3, 5], 1)
    assert record["shares"] == {"truncated": 0.2, "unparsable": 0.2, "timeout": 0.0, "error": 0.0}
    assert record["decoding"] == {"samples": 1, "temperature": 0.0, "max_new_tokens": 512, "max_prompt_tokens": 64,
                                  "seed": 0}
    assert record["task"]["provenance"]["fingerprint"]
    assert record["environment"]["versions"]["python"]
    shown = capsys.readouterr().out
    # Wilson, 2 of 5
    assert "correct    0.4000  [0.1176, 0.7693]  Wilson, 5 prompts" in shown
    assert "1 prompts of more than 64 tokens are left out" in shown


def test_several_samples_are_drawn_at_temperature_1_and_give_pass_at_k(run: Run) -> None:
    assert run("--samples", "3", "--prompts", "2") == 0
    (results,) = Path("evals").glob("gsm8k-*/results.json")
    record = json.loads(results.read_text())
    assert (record["decoding"]["temperature"], record["counts"]["answers"]) == (1.0, 6)
    assert list(record["pass_at_k"]) == ["1", "2", "3"]


@pytest.mark.parametrize(("arguments", "told"), [
    (["--task", "gsm9k"], "Did you mean 'gsm8k'"),
    (["--split", "dev"], "no split 'dev'"),
    (["--data", "nowhere"], "nowhere"),
    (["--model", "./nowhere"], "no model at './nowhere'"),
    (["--prompts", "7"], "6 rows"),
    (["--set", "levels=3"], "no setting 'levels'"),
    (["--samples", "2", "--temperature", "0"], "greedy answers are all the same"),
    (["--max-new-tokens", "4096"], "exceed the context"),
    (["--max-prompt-tokens", "1"], "every prompt is too long"),
    (["--output", "../rows"], "in use"),
])
def test_a_request_that_cannot_be_met_is_one_message_and_writes_nothing(
        arguments: list[str], told: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.startswith("error: ")
    assert "remedy:" in error
    assert not list(Path().iterdir())


def test_a_data_set_that_is_not_there_is_never_replaced_by_other_problems(
        run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("REASONGYM_DATA", raising=False)
    monkeypatch.setattr("reasongym.tasks.gsm8k._reachable", lambda endpoint: False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    assert run(data=None) == 2
    assert "pass --data" in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_a_task_of_somebody_else_that_passes_off_a_substitute_is_refused(
        run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(
        "from reasongym.tasks import TaskOptions\nfrom reasongym.tasks.word_problems import WordProblems\n"
        "def make(options):\n    return WordProblems(TaskOptions(), substitute_for='gold')\n")
    assert run("--task", f"{tmp_path}/mine.py:make", data=None) == 2
    assert "gold was not found" in capsys.readouterr().err


def test_verifier_errors_stop_the_evaluation_with_status_1_and_leave_no_folder(
        run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.py").write_text("def bad(response, reference, *, example):\n"
                                     "    raise ValueError('no such thing')\n")
    assert run("--set", f"task.verifier={tmp_path}/bad.py:bad", "--output", "out") == 1
    assert "no such thing" in capsys.readouterr().err
    assert not Path("out").exists()


def test_the_settings_of_another_task_are_not_taken_from_a_recipe(run: Run) -> None:
    assert run("--recipe", "cpu_arithmetic", "--prompts", "1", "--output", "out") == 0
    assert json.loads(Path("out/results.json").read_text())["task"]["settings"] == {}


def test_a_wrong_key_of_the_engines_is_not_taken_for_a_setting_of_the_task(run: Run,
                                                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "rollout.engine=2") == 2
    assert "Did you mean 'engines'" in capsys.readouterr().err


def test_recipes_of_gpu_runs_are_refused_where_there_is_no_gpu() -> None:
    hardware = Hardware(cores=2, memory_gib=8.0, disk_free_gib=100.0, shared_memory_gib=4.0)
    with pytest.raises((ResourceError, ConfigError), match=r"resources\.device=cpu"):
        plan_engines(load_config("gpu1"), hardware, None)
