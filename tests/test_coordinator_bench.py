"""The training loop over engines and ranks that only stand there: each answer is read, kept and counted once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the training stack is not installed")
pytest.importorskip("ray", reason="the training stack is not installed")

import pyarrow.parquet as pq

from benchmarks.coordinator import GROUP, stand_in_session
from reasongym.records import Completion
from reasongym.tracking.rollouts import read_rollouts, rollout_files
from reasongym.training.checkpoints import LoopState
from reasongym.training.loop import train_step

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("ray_here")]

STEPS, PROMPTS, TOKENS = 3, 4, 24


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Seeds of the completions that this process has read from a pickle, with how often."""
    found, restore = Counter[int](), Completion.__setstate__  # type: ignore[attr-defined]

    def counting(completion: Completion, state: list[Any]) -> None:
        restore(completion, state)
        found[completion.seed] += 1

    monkeypatch.setattr(Completion, "__setstate__", counting)
    return found


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_every_answer_is_read_once_and_kept_once(made: Counter[int], mode: str) -> None:
    with stand_in_session(mode, STEPS * PROMPTS * GROUP, prompts=PROMPTS, tokens=TOKENS) as session:
        state = LoopState()
        for _ in range(STEPS):
            state = train_step(session, state)
        rows = [row for file in rollout_files(session.folder.rollouts).values() for row in read_rollouts(file)]
        metrics = session.metrics.read()
    seeds = {row["seed"] for row in rows}
    assert len(seeds) == len(rows) == STEPS * PROMPTS * GROUP
    assert seeds <= made.keys()
    assert set(made.values()) == {1}, "an answer was taken out of Ray's store twice"
    assert all(len(row["token_ids"]) == TOKENS for row in rows)
    for line in metrics:
        versions = [v for row in rows if row["step"] == line["step"] for v in row["versions"]]
        stale = sum(version < line["step"] - 1 for version in versions) / len(versions)
        assert line.get("rollout/stale_token_share", 0.0) == stale


def test_no_dictionary_is_made_of_token_ids(tmp_path: Path) -> None:
    from in_process_ranks import scored_groups

    from reasongym.tracking.rollouts import write_groups

    path = write_groups(tmp_path / "x.parquet", scored_groups([[0.0, 1.0]] * 20))
    chunks = pq.ParquetFile(path).metadata.row_group(0)
    columns = [chunks.column(place) for place in range(chunks.num_columns)]
    with_one = {column.path_in_schema.partition(".")[0] for column in columns if column.has_dictionary_page}
    assert not {"token_ids", "logprobs", "completion"} & with_one
    assert {"versions", "prompt", "prompt_token_ids"} <= with_one
