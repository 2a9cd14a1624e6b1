"""`reasongym eval`: what is measured, what is refused, what is written. Only the engines are a stand-in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eval_command_line import Engines, Run, Tokenizer, run_in, write_rows

from reasongym.config import load_config
from reasongym.errors import ConfigError, DataError, ResourceError
from reasongym.evaluation.placement import plan_engines
from reasongym.evaluation.rows import choose_rows
from reasongym.planning import Hardware, shape_of
from reasongym.registry import task
from reasongym.rollout.requests import Request
from reasongym.tasks import TaskOptions
from reasongym.tracking import read_rollouts

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


@pytest.fixture
def gsm8k_rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows")


@pytest.fixture
def run(tmp_path: Path, gsm8k_rows: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return run_in(tmp_path, gsm8k_rows, monkeypatch)


def test_an_evaluation_writes_figures_that_agree_with_its_rollouts(run: Run,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "shots=0", "--max-prompt-tokens", "64", "--output", "out") == 0
    record = json.loads(Path("out/results.json").read_text())
    rows = read_rollouts(Path("out/rollouts.parquet"))
    # Row 4 is too long. Of the other five, rows 0 and 1 are right, row 5 says nothing that can be read.
    assert record["metrics"]["accuracy"]["mean"] == 2 / 5 == sum(row["score_correct"] for row in rows) / len(rows)
    assert (record["task"]["rows"], record["task"]["too_long"]) == ([0, 1, 2, 3, 5], 1)
    assert record["shares"] == {"truncated": 0.2, "unparsable": 0.2, "timeout": 0.0, "error": 0.0, "missing": 0.0}
    assert record["decoding"] == {
        "samples": 1, "temperature": 0.0, "max_new_tokens": 512, "max_prompt_tokens": 64, "seed": 0,
        "sent": {"max_tokens": 512, "temperature": 0.0, "logprobs": 0}}
    assert record["task"]["provenance"]["fingerprint"]
    assert record["environment"]["versions"]["python"]
    shown = capsys.readouterr().out
    # Wilson, 2 of 5
    assert "accuracy      0.4000  [0.1176, 0.7693]  Wilson, 5 prompts" in shown
    assert "1 prompts of more than 64 tokens are left out" in shown


def test_several_samples_are_drawn_at_temperature_1_and_give_pass_at_k(run: Run) -> None:
    assert run("--samples", "3", "--prompts", "2") == 0
    (results,) = Path("evals").glob("gsm8k-*/results.json")
    record = json.loads(results.read_text())
    assert (record["decoding"]["temperature"], record["counts"]["answers"]) == (1.0, 6)
    assert [name for name in record["metrics"] if name.startswith("pass@")] == ["pass@1", "pass@2", "pass@3"]


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


def test_verifier_errors_stop_with_status_1_and_the_answers_are_kept_for_the_corrected_verifier(
        run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def bad(response, reference, *, example):\n    raise ValueError('no such thing')\n")
    assert run("--set", f"task.verifier={bad}:bad", "--output", "out") == 1
    told = capsys.readouterr().err
    assert "no such thing" in told
    assert "answers so far are kept: reasongym eval --resume out" in told
    assert not Path("out/results.json").exists()
    kept = Path("out/answers.jsonl").read_text().count('"answer"')
    assert kept >= 1
    bad.write_text("def bad(response, reference, *, example):\n    return '1' in response\n")
    asked: list[Request] = []
    stream = Engines.stream
    monkeypatch.setattr(Engines, "stream", lambda self, requests: asked.extend(requests) or stream(self, requests))
    assert run.resume("out") == 0  # type: ignore[attr-defined]
    assert len(asked) == 6 - kept
    assert json.loads(Path("out/results.json").read_text())["metrics"]["accuracy"]["mean"] == 1 / 6
    assert not Path("out/answers.jsonl").exists()


def test_the_settings_of_another_task_are_not_taken_from_a_recipe(run: Run) -> None:
    assert run("--recipe", "cpu_arithmetic", "--prompts", "1", "--output", "out") == 0
    assert json.loads(Path("out/results.json").read_text())["task"]["settings"] == {}


def test_a_wrong_key_of_the_engines_is_not_taken_for_a_setting_of_the_task(run: Run,
                                                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "rollout.engine=2") == 2
    assert "Did you mean 'engines'" in capsys.readouterr().err


# --- prompts, verifiers, several tasks ---


def prompts_of(folder: str) -> list[str]:
    return [row["prompt"] for row in read_rollouts(Path(folder, "rollouts.parquet"))]


def test_a_system_prompt_and_shown_rows_stand_before_the_question_and_are_recorded(run: Run, gsm8k_rows: Path) -> None:
    (gsm8k_rows / "train.jsonl").write_text("".join(
        json.dumps({"question": f"Train {i}?", "answer": f"it is {i} #### {i}"}) + "\n" for i in range(3)))
    shown = ["--system", "Be brief.", "--shots", "2", "--limit", "1"]
    assert run(*shown, "--set", "shots=0", "--output", "out") == 0
    (prompt,) = prompts_of("out")
    assert prompt.startswith("Be brief. Train ")
    assert prompt.index("it is") < prompt.rindex("Train") < prompt.index("word")
    record = json.loads(Path("out/results.json").read_text())["prompting"]
    assert (record["system"], record["shots"], len(record["shot_rows"])) == ("Be brief.", 2, 2)
    assert (record["template"], len(record["template_hash"])) == ("yes", 64)


def test_the_switch_for_thinking_reaches_the_template_and_is_refused_where_it_reads_none(
        run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--thinking", "off") == 2
    assert "has no switch for thinking" in capsys.readouterr().err
    seen: list[object] = []
    apply = Tokenizer.apply_chat_template

    def noted(self: Tokenizer, messages: list[dict[str, str]], **options: object) -> str:
        seen.append(options.get("enable_thinking"))
        return apply(self, messages)

    monkeypatch.setattr(Tokenizer, "chat_template", "{{ enable_thinking }}")
    monkeypatch.setattr(Tokenizer, "apply_chat_template", noted)
    assert run("--thinking", "off", "--limit", "1", "--output", "off") == 0
    assert run("--limit", "1", "--output", "auto") == 0
    assert seen == [False, None]


def test_named_verifiers_take_the_place_of_the_tasks(run: Run) -> None:
    assert run("--verifier", "gsm8k_strict_match", "--verifier", "gsm8k_flexible_extract", "--output", "out") == 0
    record = json.loads(Path("out/results.json").read_text())
    assert [part["name"] for part in record["task"]["parts"]] == ["gsm8k_strict_match", "gsm8k_flexible_extract"]
    assert "part/gsm8k_flexible_extract" in record["metrics"]
    assert all(len(part["fingerprint"]) == 64 for part in record["task"]["parts"])


def test_several_tasks_share_the_engines_and_have_a_folder_each(run: Run, monkeypatch: pytest.MonkeyPatch,
                                                                gsm8k_rows: Path) -> None:
    monkeypatch.setenv("REASONGYM_DATA", str(gsm8k_rows))
    assert run("--task", "arithmetic,gsm8k", "--limit", "2", "--output", "out", data=None) == 0
    assert [json.loads(Path("out", name, "results.json").read_text())["counts"]["answers"]
            for name in ("1-arithmetic", "2-gsm8k")] == [2, 2]


@pytest.mark.parametrize(("arguments", "told"), [
    (["--concurrency", "2"], "--concurrency is of endpoints"),
    (["--endpoint", "localhost"], "not an address"),
    (["--endpoint", "http://localhost/v1", "--max-prompt-tokens", "9"], "is not of endpoints"),
    (["--endpoint", "http://localhost/v1", "--key-env", "NO_SUCH_KEY_HERE"], "holds no key"),
    (["--endpoint", "http://localhost/v1", "--body", "stream=true"], "further field"),
    (["--endpoint", "http://localhost/v1", "--body", "seed=1"], "a seed of its own"),
    (["--endpoint", "http://localhost/v1", "--body", "api_key=abc"], "looks like a key"),
    (["--endpoint", "http://localhost/v1/completions"], "different things"),
    (["--endpoint", "http://localhost/v1", "--api", "completions", "--thinking", "on"], "switch of chat templates"),
    (["--set", "shots=0", "--shots", "1"], "cannot spare"),
    (["--verifier", "gsm8k_strict"], "Did you mean 'gsm8k_strict_match'"),
    (["--task", "gsm8k,arithmetic"], "rows of one task"),
])
def test_options_that_contradict_one_another_are_refused_before_anything_is_written(
        arguments: list[str], told: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert told in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_resuming_takes_no_other_question_and_finds_a_whole_result_whole(
        run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("--limit", "2", "--output", "out") == 0
    before = Path("out/results.json").read_bytes()
    monkeypatch.setattr(Engines, "stream", lambda self, requests: pytest.fail("asked again"))
    assert run.resume("out") == 0  # type: ignore[attr-defined]
    assert Path("out/results.json").read_bytes() == before
    for folder, more, told in (("out", ["--samples", "2"], "goes on with what was asked"), (".", [], "request.json")):
        assert run.resume(folder, *more) == 2  # type: ignore[attr-defined]
        assert told in capsys.readouterr().err


def test_recipes_of_gpu_runs_are_refused_where_there_is_no_gpu() -> None:
    hardware = Hardware(cores=2, memory_gib=8.0, disk_free_gib=100.0, shared_memory_gib=4.0)
    with pytest.raises((ResourceError, ConfigError), match=r"resources\.device=cpu"):
        plan_engines(load_config("gpu1"), hardware, None)
