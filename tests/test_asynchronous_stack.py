"""Asynchronous sampling as a user runs it, on real Ray, vLLM and a ZeRO-3 rank with a tiny model: new weights meet
answers half-way, no answer is trained on too late, and a run that is killed trains on each prompt once."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_stack import command, kill_after, metrics, run

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(900)]

STEPS, PROMPTS, BOUND = 5, 4, 2
SETTINGS = (f"rollout.prompts_per_step={PROMPTS}", "rollout.group_size=4", "rollout.max_new_tokens=64",
            "rollout.max_prompt_tokens=96", "rollout.kv_cache_gib=0.1", "rollout.max_num_seqs=2", "rollout.mode=async",
            f"rollout.max_staleness={BOUND}", "evaluation.prompts=4", "evaluation.every=2", "checkpoint.every=1",
            "trainer.learning_rate=1e-3", "task.verifier={folder}/rules.py:length_parity")


def new_run(folder: Path, in_flight: str) -> list[str]:
    sets = [*(text.format(folder=folder) for text in SETTINGS), f"rollout.in_flight={in_flight}"]
    return command(folder, "--task", "arithmetic", "--model", str(folder / "model"), "--recipe", "cpu", "--seed", "7",
                   "--steps", str(STEPS), "--name", in_flight, "--runs", str(folder / "runs"),
                   *(part for text in sets for part in ("--set", text)))


def answers(path: Path) -> dict[int, list[tuple[int, list[int]]]]:
    """Step -> (row, version of each token) an answer."""
    from reasongym.tracking import read_rollouts

    return {int(file.stem.removeprefix("step-")): [(row["index"], row["versions"]) for row in read_rollouts(file)]
            for file in sorted((path / "rollouts").glob("*.parquet"))}


def check_run(path: Path) -> dict[int, list[tuple[int, list[int]]]]:
    """What has to hold of every run that is whole."""
    found = answers(path)
    assert sorted(found) == list(range(1, STEPS + 1))
    rows = [row for step in found for row, _ in found[step][::4]]
    assert sorted(rows) == list(range(STEPS * PROMPTS)), "a prompt was left out or trained on twice"
    for step, sampled in found.items():
        assert len(sampled) == PROMPTS * 4
        assert all(step - 1 - BOUND <= min(versions) <= max(versions) <= step - 1 for _, versions in sampled)
        assert all(versions == sorted(versions) for _, versions in sampled)
    for step, values in metrics(path).items():
        if step:
            assert values["rollout/staleness_max"] <= BOUND
    assert {0, 2, 4, 5} <= {step for step, values in metrics(path).items() if "eval/reward/mean" in values}
    return found


@pytest.mark.parametrize("in_flight", ["recompute", "drain"])
def test_weights_that_meet_answers_half_way(workshop: Path, in_flight: str) -> None:
    run(new_run(workshop, in_flight), workshop)
    found = check_run(workshop / "runs" / in_flight)
    mixed = [versions for sampled in found.values() for _, versions in sampled if len(set(versions)) > 1]
    assert (in_flight == "recompute") == bool(mixed)


def test_a_killed_run_goes_on_within_its_bound_and_trains_on_each_prompt_once(workshop: Path) -> None:
    path = workshop / "runs" / "keep"
    kill_after(new_run(workshop, "keep"), workshop, path / "checkpoints" / "step-000002")
    assert len(answers(path)) < STEPS
    run(command(workshop, "--resume", str(path)), workshop)
    found = check_run(path)
    assert any(len(set(versions)) > 1 for sampled in found.values() for _, versions in sampled)
