"""`reasongym pairs`: what it makes of a run's answers, what it leaves out, and that training reads what it wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")

import pyarrow.parquet as pq
from click.testing import CliRunner

from reasongym import registry
from reasongym.cli import cli
from reasongym.config import dump_yaml, load_config
from reasongym.errors import ConfigError, DataError, ReasongymError
from reasongym.models import EMBEDDED, load_tokenizer, model_folder
from reasongym.records import Completion, FinishReason, Group, Prompt, Rollout
from reasongym.rollout.prompts import encode
from reasongym.tasks import TaskOptions
from reasongym.tracking import RunFolder, write_rollouts
from reasongym.tracking.rollouts import write_groups
from reasongym.training.offline import offline_source
from reasongym.verifiers import Status, Verdict

pytestmark = pytest.mark.stack

END = 2


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(model_folder(EMBEDDED))


@pytest.fixture(scope="module")
def prompts(tokenizer: Any) -> list[Prompt]:
    task = registry.task("arithmetic", TaskOptions(settings={"levels": 2}))
    return [encode(task.example("train", index, seed=5), tokenizer) for index in range(3)]


def answered(prompt: Prompt, *answers: tuple[str, float | None, Status] | tuple[str, float | None, Status, bool],
             tokenizer: Any) -> Group:
    """A group of (text, reward, status, whether it ended)."""
    rollouts = []
    for text, reward, status, *ended in answers:
        finished = not ended or ended[0]
        ids = (*tokenizer(text, add_special_tokens=False)["input_ids"], *((END,) if finished else ()))
        completion = Completion(token_ids=ids, logprobs=(-1.0,) * len(ids), mask=(True,) * len(ids), seed=0,
                                versions=(0,) * len(ids), text=text,
                                finish_reason=FinishReason.STOP if finished else FinishReason.LENGTH)
        verdict = Verdict(score=reward or 0.0, status=status)
        rollouts.append(Rollout(prompt=prompt, completion=completion, verdicts={"correct": verdict}, reward=reward))
    return Group(prompt=prompt, rollouts=tuple(rollouts))


@pytest.fixture
def run(tmp_path: Path, prompts: list[Prompt], tokenizer: Any) -> Path:
    """Two steps. The first: of one prompt 2 right and 3 that are not, of another nothing but wrong ones. The second:
    the first prompt again, with an answer that was there before, and one whose verifier failed."""
    right, wrong, unread = Status.CORRECT, Status.WRONG, Status.UNPARSABLE
    folder = RunFolder(tmp_path / "runs" / "it")
    folder.write_config(dump_yaml(load_config("cpu_arithmetic", overrides=["seed=5"])))
    write_rollouts(folder, 1, [
        answered(prompts[0], ("7", 1.0, right), ("8", 0.0, wrong), ("", 0.0, unread), ("It is 7", 1.0, right, False),
                 ("9", 0.5, Status.PARTIAL), tokenizer=tokenizer),
        answered(prompts[1], ("1", 0.0, wrong), ("2", 0.0, wrong), tokenizer=tokenizer)])
    write_rollouts(folder, 2, [
        answered(prompts[0], ("7", 1.0, right), ("", None, Status.ERROR), ("0", 0.0, Status.TIMEOUT),
                 tokenizer=tokenizer)])
    return folder.path


def pairs(run: Path, *arguments: str) -> str:
    done = CliRunner().invoke(cli, ["pairs", str(run), *arguments], catch_exceptions=False, standalone_mode=False)
    return done.output


def rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]
    return [json.loads(line) for line in path.read_text().splitlines()]


def texts(run: Path, *arguments: str, keys: Sequence[str], name: str = "out.jsonl") -> list[tuple[Any, ...]]:
    pairs(run, *arguments, "--output", str(run / name))
    return [tuple(row[key] for key in keys) for row in rows(run / name)]


def test_pairs_are_better_against_worse_and_never_a_tie(run: Path) -> None:
    # Rewards 1, 0, 0, 1, 0.5: best with worst 1-0, second best with second worst 1-0, then 0.5-0.5 is none.
    assert texts(run, keys=("chosen", "rejected", "chosen_reward", "rejected_reward", "step")) == [
        ("7", "8", 1.0, 0.0, 1), ("It is 7", "", 1.0, 0.0, 1), ("7", "0", 1.0, 0.0, 2)]


def test_labels_are_of_verdicts_that_say_right_or_wrong(run: Path) -> None:
    assert texts(run, "--kind", "labels", keys=("completion", "label")) == [
        ("7", True), ("8", False), ("", False), ("It is 7", True), ("1", False), ("2", False), ("7", True)]


def test_solutions_are_correct_whole_and_not_told_twice(run: Path) -> None:
    assert texts(run, "--kind", "solutions", keys=("completion", "step")) == [("7", 1)]


def test_what_is_left_out_is_counted_and_the_next_command_is_there_to_type(run: Path) -> None:
    said = pairs(run)
    assert f"{run}/pairs.parquet: 3 pairs of 1 prompts, from 2 steps" in said
    assert "left out: 1 answers without a verdict, 1 prompts whose answers all earned the same" in said
    command = said.splitlines()[-1].removeprefix("train on them: reasongym train ")
    assert command == ("--algorithm dpo --model smollm2-135m --task arithmetic --set "
                       f"algorithm.data={run}/pairs.parquet --set task.settings.levels=2")
    said = pairs(run, "--kind", "solutions")
    assert "1 correct answers that were cut off, 1 answers that came before" in said


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl"])
def test_what_is_written_is_trained_on_token_by_token(run: Path, prompts: list[Prompt], tokenizer: Any,
                                                      name: str) -> None:
    for kind, algorithm in (("pairs", "dpo"), ("labels", "kto"), ("solutions", "sft")):
        pairs(run, "--kind", kind, "--output", str(run / name))
        config = load_config(options={"algorithm.name": algorithm, "algorithm.data": str(run / name)},
                             overrides=["algorithm.batch_size=2"])
        source = offline_source(config, registry.task("arithmetic", TaskOptions()), tokenizer)
        assert source is not None
        taken = [sample for row in source.take(12) for sample in row]
        assert {s.prompt_ids for s in taken} <= {p.token_ids for p in prompts}
        assert (*tokenizer("7", add_special_tokens=False)["input_ids"], END) in {tuple(s.token_ids) for s in taken}
        assert not any("another tokenizer" in note for note in source.notes)


def test_prompts_are_kept_as_messages_for_other_models(run: Path, prompts: list[Prompt]) -> None:
    for name in ("out.parquet", "out.jsonl"):
        pairs(run, "--output", str(run / name))
        assert rows(run / name)[0]["prompt"] == list(prompts[0].example.messages)


def test_a_task_that_has_changed_since_is_told_of_and_the_ids_remain(run: Path) -> None:
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("levels: 2", "levels: 3"))
    said = pairs(run, "--output", str(run / "out.jsonl"))
    assert "warning: 3 rows hold their prompt as token ids only" in said
    assert all("prompt" not in row and row["prompt_token_ids"] for row in rows(run / "out.jsonl"))
    config.write_text(config.read_text().replace("name: arithmetic", "name: gone.py:task"))
    assert "no file gone.py" in pairs(run)


@pytest.mark.parametrize(("arguments", "number"), [
    (["--steps", "1:1"], 2), (["--steps", "2:"], 1), (["--steps", ":2"], 3), (["--max-per-prompt", "1"], 1),
    (["--min-gap", "1"], 3), (["--kind", "labels", "--max-per-prompt", "1"], 3)])
def test_rows_are_narrowed_as_asked(run: Path, arguments: list[str], number: int) -> None:
    """Labels, one of each a prompt: the first prompt's 7 and 8, the second's 1."""
    assert len(texts(run, *arguments, keys=("prompt_token_ids",))) == number


@pytest.mark.parametrize(("arguments", "says", "kind"), [
    (["--steps", "1-2"], "not a range", ConfigError), (["--steps", "7:"], "leaves nothing", ConfigError),
    (["--kind", "labels", "--min-gap", "0.5"], "--min-gap is of pairs", ConfigError),
    (["--output", "x.csv"], "does not say how to write it", ConfigError),
    (["--output", "/nowhere/at/all.jsonl"], "no folder", ConfigError),
    (["--min-gap", "1.5"], "3 pairs of a smaller gap", DataError)])
def test_a_mistake_is_one_message_and_leaves_no_file(run: Path, arguments: list[str], says: str,
                                                     kind: type[ReasongymError]) -> None:
    before = sorted(path.name for path in run.iterdir())
    with pytest.raises(kind) as caught:
        pairs(run, *arguments)
    assert says in str(caught.value)
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_file_that_breaks_half_way_leaves_the_earlier_one(run: Path) -> None:
    pairs(run)
    before = (run / "pairs.parquet").read_bytes()
    (run / "rollouts" / "step-000002.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"step-000002\.parquet"):
        pairs(run)
    assert (run / "pairs.parquet").read_bytes() == before
    assert not list(run.glob(".*.tmp"))


def test_a_folder_without_answers_is_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Did you mean 'it'"):
        pairs(run.parent / "its")
    for file in (run / "rollouts").iterdir():
        file.unlink()
    with pytest.raises(DataError, match="has no rollouts"):
        pairs(run)


def test_an_evaluations_answers_serve_as_well(tmp_path: Path, prompts: list[Prompt], tokenizer: Any) -> None:
    folder = tmp_path / "evals"
    folder.mkdir()
    group = answered(prompts[0], ("7", 1.0, Status.CORRECT), ("8", 0.0, Status.WRONG), tokenizer=tokenizer)
    write_groups(folder / "rollouts.parquet", [group])
    record = {"model": {"path": EMBEDDED}, "decoding": {"seed": 5},
              "task": {"name": "arithmetic", "split": "train", "data": None, "settings": {"levels": 2}}}
    (folder / "results.json").write_text(json.dumps(record))
    assert texts(folder, keys=("chosen", "rejected")) == [("7", "8")]
    assert rows(folder / "out.jsonl")[0]["prompt"] == list(prompts[0].example.messages)
    (folder / "results.json").write_text("{}")
    with pytest.raises(DataError, match="not the record of an evaluation"):
        pairs(folder)
