"""Faults: what a run makes of ranks and disks that fail, and whether the benchmark sees what is wrong.

`python -m benchmarks faults` makes the faults in real runs; docs/faults.md has its table.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("psutil", reason="the training stack is not installed")

from benchmarks import fault_checks, fault_kinds, fault_processes, faults
from reasongym.errors import ConfigError, ResourceError, TrainerError

pytestmark = pytest.mark.stack

# --- ranks that are lost, and a run that begins anew ---


@pytest.mark.parametrize("lost", ["GetTimeoutError", "RayActorError"])
def test_ranks_that_are_lost_are_not_waited_for_again(monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """A hung rank was waited for twice: in its call, and in that for the checkpoint which is saved on a failure."""
    from reasongym.training import group

    settings = SimpleNamespace(zero=SimpleNamespace(device="cpu"), team_size=1)
    ranks = group.RankGroup(group.ZeroRank, settings, [], start_timeout_s=0.01,  # type: ignore[arg-type]
                            step_timeout_s=0.01)
    asked: list[float] = []

    def get(answers: Sequence[Any], timeout: float) -> list[Any]:
        asked.append(timeout)
        raise getattr(group.ray.exceptions, lost)()

    monkeypatch.setattr(group.ray, "get", get)
    with pytest.raises(TrainerError) as first:
        ranks.call("train")
    with pytest.raises(TrainerError) as second:
        ranks.call("save")
    assert str(first.value) == str(second.value)
    assert len(asked) == 1


Attempt = list[int]
"""Steps that an attempt makes before it fails."""


@pytest.fixture
def run_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Exit status of a run whose attempts fail after these steps; one more than these is well."""
    from reasongym.config import load_config
    from reasongym.tracking import RunFolder
    from reasongym.training import run

    def of(*attempts: Attempt) -> int:
        folder, left = RunFolder(tmp_path / "run"), list(attempts)

        def attempt(*_: object, **__: object) -> int:
            if not left:
                return 0
            steps = left.pop(0)
            kept = [row for row in metrics(folder.path) if row["step"] < min(steps, default=1000)]
            write_metrics(folder.path, [*kept, *({"step": step, "time": time.time(), "step/seconds": 1.0}
                                                 for step in steps)])
            raise TrainerError("a rank died")

        monkeypatch.setattr(run, "_attempt", attempt)
        monkeypatch.setattr(run, "_announce", lambda *_: None)
        monkeypatch.setattr(run, "_saved", lambda *_: None)
        config = load_config("cpu", overrides=["resources.max_restarts=3"])
        return run._run(config, None, folder, saved=None)  # type: ignore[arg-type]

    return of


def test_a_second_fault_that_comes_in_an_earlier_step_does_not_end_the_run(run_of: Callable[..., int]) -> None:
    """From a checkpoint of step 10, with step 15 behind it: steps 11 and 12 are progress."""
    assert run_of([11, 12, 13, 14, 15], [11, 12]) == 0


@pytest.mark.parametrize("attempts", [([],), ([1, 2], [])])
def test_a_fault_before_anything_was_learned_ends_the_run(run_of: Callable[..., int],
                                                          attempts: Sequence[Attempt]) -> None:
    with pytest.raises(TrainerError, match="a rank died"):
        run_of(*attempts)


# --- a full disk ---


@pytest.mark.parametrize(("free", "raised"), [(0, ResourceError), (2**30, TrainerError)])
def test_a_rank_that_cannot_write_for_want_of_room_says_that_the_disk_is_full(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, raised: type[Exception]) -> None:
    """A TrainerError would have the run begin anew, to meet the same disk."""
    from reasongym.training import checkpoints

    def write(folder: str) -> None:
        raise TrainerError("a training rank failed in save")

    monkeypatch.setattr(checkpoints.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    store = checkpoints.Checkpoints(tmp_path, keep_last=1, keep_best=False, fits={})
    with pytest.raises(raised):
        store.save(checkpoints.LoopState(step=2), write)
    assert list(tmp_path.iterdir()) == []


# --- the benchmark's own eyes ---

STEPS, ANSWERS = 3, 4
EXPECTED = fault_checks.Expected(STEPS, ANSWERS)


def metrics(folder: Path) -> list[dict[str, Any]]:
    path = folder / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write_metrics(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_step(folder: Path, step: int, answers: Sequence[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "rollouts").mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist([{"step": step, **answer} for answer in answers]),
                   folder / "rollouts" / f"step-{step:06d}.parquet")


def answers_of(step: int) -> list[dict[str, Any]]:
    return [{"index": step, "seed": seed, "token_ids": [step, seed], "reward": 0.5} for seed in range(ANSWERS)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes the folder of a run that is as it should be."""
    monkeypatch.setattr(fault_checks, "largest_difference", lambda one, other: 0.0)

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        write_metrics(folder, [{"step": 0, "time": 0.0}, *({"step": step, "time": 0.0, "step/seconds": 1.0}
                                                           for step in range(1, STEPS + 1))])
        for step in range(1, STEPS + 1):
            write_step(folder, step, answers_of(step))
        return folder

    return make


def test_a_run_like_the_undisturbed_one_has_no_problems(run: Callable[[str], Path]) -> None:
    assert fault_checks.problems(run("hurt"), run("alone"), EXPECTED) == []


def no_step(folder: Path) -> None:
    write_metrics(folder, metrics(folder)[:-1])


def step_twice(folder: Path) -> None:
    write_metrics(folder, [*metrics(folder), metrics(folder)[-1]])


def answer_twice(folder: Path) -> None:
    write_step(folder, 2, [*answers_of(2)[:-1], answers_of(2)[0]])


def no_rollouts(folder: Path) -> None:
    (folder / "rollouts" / "step-000003.parquet").unlink()


def torn_rollouts(folder: Path) -> None:
    (folder / "rollouts" / "step-000003.parquet").write_bytes(b"PAR1")


def other_tokens(folder: Path) -> None:
    write_step(folder, 2, [{**answer, "token_ids": [9]} for answer in answers_of(2)])


def other_reward(folder: Path) -> None:
    write_step(folder, 2, [*answers_of(2)[:-1], {**answers_of(2)[-1], "reward": None}])


def scraps(folder: Path) -> None:
    (folder / ".step-000002.tmp").mkdir()


@pytest.mark.parametrize("harm", [no_step, step_twice, answer_twice, no_rollouts, torn_rollouts, other_tokens,
                                  other_reward, scraps])
def test_what_a_fault_has_changed_is_seen(run: Callable[[str], Path], harm: Callable[[Path], None]) -> None:
    hurt = run("hurt")
    harm(hurt)
    assert fault_checks.problems(hurt, run("alone"), EXPECTED)


@pytest.mark.parametrize(("apart", "wrong"), [(1e-6, False), (1e-4, True)])
def test_other_weights_are_seen(run: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, apart: float,
                                wrong: bool) -> None:
    monkeypatch.setattr(fault_checks, "largest_difference", lambda one, other: apart)
    assert bool(fault_checks.problems(run("hurt"), run("alone"), EXPECTED)) == wrong


@pytest.mark.parametrize(("changed", "reward", "wrong"), [(1, 0.0, False), (2, 0.0, True), (1, 0.4, True)])
def test_only_an_answer_that_was_hit_may_lose_its_reward(run: Callable[[str], Path], changed: int, reward: float,
                                                         wrong: bool) -> None:
    """And all of it: what is killed has passed no test."""
    hurt = run("hurt")
    write_step(hurt, 2, [{**answer, "reward": reward if answer["seed"] < changed else 0.5} for answer in answers_of(2)])
    assert bool(fault_checks.problems(hurt, run("alone"), EXPECTED._replace(lost=1))) == wrong


def test_moments_are_the_same_for_a_seed_and_each_in_a_step_of_its_own() -> None:
    found = list(fault_kinds.moments("a", 5, steps=14, step_s=2.0))
    assert found == list(fault_kinds.moments("a", 5, steps=14, step_s=2.0))
    assert found != list(fault_kinds.moments("b", 5, steps=14, step_s=2.0))
    assert len({moment.step for moment in found}) == 5
    assert all(1 <= moment.step < 12 and 0 <= moment.delay_s < 2 for moment in found)


@pytest.mark.parametrize(("name", "value"), [("KINDS", "engine_actr"), ("TIMES", "0"), ("TIMES", "-1")])
def test_faults_that_do_not_exist_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError):
        faults.asked()


@pytest.mark.parametrize(("name", "waited_for"), [("ray::DashboardAgent", False), ("ray::Rank", True)])
def test_what_a_killed_driver_leaves_is_seen_at_once_but_for_rays_agents(monkeypatch: pytest.MonkeyPatch, name: str,
                                                                        waited_for: bool) -> None:
    """Those try for a minute to reach the head that died with it; nothing else of a run may stay so long."""
    monkeypatch.setattr(fault_processes, "GONE_S", 0.0)
    monkeypatch.setattr(fault_processes, "AGENTS_GONE_S", 0.0)
    watch = fault_processes.Watch(beside_cluster=False)
    with subprocess.Popen([sys.executable, "-c", "input()", name], stdin=subprocess.PIPE) as process:
        assert bool(watch.remains(agents=False)) == waited_for
        assert bool(watch.remains()) == (not waited_for)
        assert process.wait(10) < 0


@pytest.mark.parametrize(("before", "now", "taken"), [("another", "this", False), ("this", "this", True),
                                                    ("this-dirty", "this-dirty", False)])
def test_only_an_undisturbed_run_of_the_same_commit_is_taken_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                                  before: str, now: str, taken: bool) -> None:
    kind = fault_kinds.KINDS["driver"]
    monkeypatch.setattr(faults, "RUNS", tmp_path)
    monkeypatch.setattr(faults, "commit", lambda: now)
    assert faults.found_alone(kind) is None
    folder = tmp_path / "runs" / faults.name_alone(kind)
    folder.mkdir(parents=True)
    (folder / faults.ALONE).write_text(json.dumps({"commit": before, "seconds": 9.0}))
    assert faults.found_alone(kind) == (faults.Alone(folder, 9.0) if taken else None)


def test_each_kind_of_fault_is_in_the_table_of_the_docs(repo_root: Path) -> None:
    page = (repo_root / "docs" / "faults.md").read_text()
    assert [name for name in fault_kinds.KINDS if f"`{name}`" not in page] == []
