"""`reasongym train` refuses what cannot work: one message, exit status 2, no folder made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reasongym.cli import cli
from reasongym.errors import ReasongymError

pytestmark = pytest.mark.stack


@pytest.fixture
def shape_only(tmp_path: Path) -> Path:
    """A model folder that can be planned for; nothing in these tests gets as far as loading it."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 2048,
        "tie_word_embeddings": True}))
    return folder


def refusal(tmp_path: Path, *arguments: str) -> str:
    """The message of the error that these arguments raise. Checks its exit status, and that nothing was written."""
    runs = tmp_path / "runs"
    with pytest.raises(ReasongymError) as caught:
        CliRunner().invoke(cli, ["train", "--runs", str(runs), "--recipe", "cpu", *arguments], catch_exceptions=False,
                           standalone_mode=False)
    assert caught.value.exit_status == 2
    assert not runs.exists()
    return str(caught.value)


@pytest.mark.parametrize(("arguments", "says"), [
    (["--task", "gsm8kk"], "Did you mean 'gsm8k'"),
    (["--task", "no_such_file.py:mine"], "no file no_such_file.py"),
    (["--task", "arithmetic", "--data", "/nowhere.jsonl"], "nowhere.jsonl"),
    (["--task", "gsm8k", "--data", "/nowhere.jsonl"], "nowhere.jsonl"),
    (["--algorithm", "grppo"], "Did you mean 'grpo'"),
    (["--task", "arithmetic", "--verifier", "gsm8kk"], "Did you mean 'gsm8k'"),
    (["--task", "arithmetic", "--set", "task.weights.corect=1"], "Did you mean 'correct'"),
    (["--task", "arithmetic", "--set", "task.split=validation"], "validation"),
    (["--set", "trainer.learnin_rate=1"], "Did you mean 'learning_rate'"),
    (["--set", "rollout.prompts_per_step=6", "--set", "trainer.mini_batches=4"], "does not divide"),
    (["--set", "rollout.group_size=1"], "at least 2"),
    (["--set", "rollout.top_p=0.9"], "biases"),
    (["--set", "rollout.kv_cache_gib=100000"], "memory"),
    (["--set", "resources.device=cuda"], "GPU"),
    (["--resume-from", "3"], "--resume"),
    (["--hardware", "", "--dry-run"], "'8x H100 80GB'"),
    (["--resume", "runs/none"], "no run to resume"),
])
def test_a_mistake_is_one_message_that_names_it(tmp_path: Path, shape_only: Path, arguments: list[str],
                                                says: str) -> None:
    assert says in refusal(tmp_path, "--model", str(shape_only), *arguments)


@pytest.mark.parametrize(("model", "says"), [("/no/such/folder", "no model at"), ("smolm2-135m", "Did you mean")])
def test_a_model_that_is_not_there_is_named(tmp_path: Path, model: str, says: str) -> None:
    assert says in refusal(tmp_path, "--task", "arithmetic", "--model", model)


def test_a_dry_run_prints_the_plan_and_starts_nothing(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["train", "--recipe", "gpu8", "--dry-run", "--hardware", "8x H100 80GB",
                                      "--runs", str(tmp_path / "runs")], catch_exceptions=False)
    assert result.exit_code == 0
    assert "Placement" in result.output
    assert not (tmp_path / "runs").exists()
