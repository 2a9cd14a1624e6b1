"""`reasongym eval`: whose settings a task has, and what is refused because it would change nothing or mean nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from eval_command_line import Run, Tokenizer, run_in, write_rows

from reasongym.cli.eval import command as evaluate
from reasongym.cli.eval_config import configured
from reasongym.cli.rescore import command as rescore
from reasongym.evaluation.prompting import short_prompts
from reasongym.planning import Hardware
from reasongym.registry import task
from reasongym.rollout.prompts import PromptSource
from reasongym.tasks import TaskOptions


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr("reasongym.planning.default_recipe", lambda hardware: "cpu")
    return run_in(tmp_path, write_rows(tmp_path / "rows"), monkeypatch)


def test_the_recipe_of_the_hardware_has_no_say_in_what_a_task_asks(run: Run,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    """`cpu` shows one solved problem of GSM8K, `gpu1` none: a model's score would follow the machine."""
    assert run("--limit", "1", "--output", "own", recipe=None) == 0
    assert "settings the task's own" in capsys.readouterr().out
    assert run("--limit", "1", "--output", "named") == 0
    assert "settings shots=1" in capsys.readouterr().out
    own, named = (json.loads(Path(name, "results.json").read_text()) for name in ("own", "named"))
    assert (own["task"]["settings"], own["environment"]["recipe"]) == ({}, {"name": "cpu", "named": False})
    assert (named["task"]["settings"], named["environment"]["recipe"]) == ({"shots": 1}, {"name": "cpu", "named": True})
    assert own["prompting"]["prompts_digest"] != named["prompting"]["prompts_digest"]


def test_without_a_task_that_of_a_named_recipe_is_taken_with_its_settings_else_gsm8k_with_its_own() -> None:
    options = {"task": None, "model": None, "data": None, "seed": 0, "max_new_tokens": 9, "max_prompt_tokens": None,
               "settings": (), "shots": None, "verifiers": (), "endpoint": None}
    hardware = Hardware(cores=2, memory_gib=8.0, disk_free_gib=100.0, shared_memory_gib=4.0)
    for recipe, name, settings in (("cpu_arithmetic", "arithmetic", {"levels": 2}), (None, "gsm8k", {})):
        found = configured({**options, "recipe": recipe}, hardware).config.task
        assert (found.name, found.settings) == (name, settings)


ENDPOINT = ("--endpoint", "http://localhost/v1")


@pytest.mark.parametrize(("arguments", "told"), [
    (("--set", "rollout.max_new_tokens=9"), "say --max-new-tokens instead"),
    (("--set", "rollout.temperature=0.7"), "say --temperature instead"),
    (("--set", "seed=1"), "no setting 'seed'"),
    (("--set", "rollout.group_size=4"), "say --samples instead"),
    (("--set", "task.data=x"), "say --data instead"),
    (("--set", "trainer.learning_rate=1"), "no effect on an evaluation"),
    (("--set", "evaluation.every=1"), "no effect on an evaluation"),
    (("--set", "rollout.prompts_per_step=1"), "no effect on an evaluation"),
    ((*ENDPOINT, "--set", "rollout.engines=2"), "is of engines on this machine"),
    (("--verifier", "exact", "--set", "task.verifier=math"), "--verifier beside --set task.verifier"),
    (("--verifier", "exact", "--set", "task.weights.correct=2"), "--verifier takes the place"),
    (("--shots", "2", "--set", "shots=1"), "--shots 2 beside the task's setting shots=1"),
    (("--shots", "2", "--set", "task.settings.shots=1"), "--shots 2 beside the task's setting shots=1"),
    (("--shots", "0", "--set", "shots=1"), "--shots 0 beside"),
    (("--task", "gsm8k,gsm8k"), "names a task twice, or none"),
    (("--task", "gsm8k,"), "names a task twice, or none"),
    (("--samples", "0"), "0 is not in the range"),
    (("--limit", "-1"), "-1 is not in the range"),
    (("--temperature", "-1"), "-1.0 is not in the range"),
    (("--temperature", "nan"), "nan is not a number"),
    (("--deadline", "inf"), "inf is not a number"),
    (("--tasks", "gsm8k"), "No such option"),
    (("--output", "/proc/nowhere/out"), "cannot write /proc/nowhere/out"),
])
def test_what_would_change_nothing_or_means_nothing_is_refused_and_leaves_nothing(
        arguments: tuple[str, ...], told: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments, recipe=None) == 2
    assert told in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_settings_that_an_evaluation_reads_are_taken(run: Run) -> None:
    given = ("rollout.engines=1", "rollout.max_num_seqs=8", "scoring.workers=1", "task.weights.correct=2",
             "resources.device=cpu", "model.dtype=float32", "shots=0")
    assert run("--limit", "1", "--output", "out", *(word for text in given for word in ("--set", text))) == 0
    record = json.loads(Path("out/results.json").read_text())
    assert (record["engine"]["settings"]["max_num_seqs"], record["model"]["dtype"]) == (8, "float32")
    assert record["task"]["parts"][0]["weight"] == 2


def test_training_and_evaluation_read_a_prompt_as_the_same_tokens(tmp_path: Path) -> None:
    class Doubling(Tokenizer):
        """Puts a token of its own in front, unless it is told not to, as Llama's does."""

        def __call__(self, text: str, **options: object) -> dict[str, list[int]]:
            first = [-1] if options.get("add_special_tokens", True) else []
            return {"input_ids": first + super().__call__(text)["input_ids"]}

    rows = task("gsm8k", TaskOptions(data=str(write_rows(tmp_path / "rows"))))
    walk = PromptSource(rows, "test", tokenizer=Doubling(), seed=0, max_tokens=1000)
    trained = [walk.read(row) for row in range(6)]
    evaluated = short_prompts([rows.example("test", row) for row in range(6)], Doubling(), "auto", limit=1000)
    assert trained == evaluated
    assert all(-1 not in prompt.token_ids for prompt in evaluated)


@pytest.mark.parametrize("command", [evaluate, rescore], ids=["eval", "rescore"])
def test_every_option_is_explained_on_the_page(command: click.Command, repo_root: Path) -> None:
    page = (repo_root / "docs" / "evaluation.md").read_text()
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert not {option for option in options if not re.search(rf"`{option}[ `,]", page)}
