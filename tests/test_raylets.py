"""Runs on a real Ray cluster of several machines (see `raylets`): where actors go, what is refused before anything is
started, training over two machines, and a head that is lost on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="the training stack is not installed")

from raylets import ENVIRONMENT, Raylets, raylets

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(900),
              pytest.mark.skipif(not os.environ.get("REASONGYM_RAYLETS"),
                                 reason="several Ray nodes on one machine, not steady under load: REASONGYM_RAYLETS=1")]

LABELS = ({"trainers": 1}, {"trainers": 1}, {"cheap": 1})
PLACED = """
import json, sys
import ray
from reasongym.config import load_config
from reasongym.errors import ReasongymError
from reasongym.planning import Hardware, plan
from reasongym.training.cluster import ray_cluster

class Where:
    def address(self):
        return ray.util.get_node_ip_address()

def addresses(placements):
    actors = [ray.remote(Where).options(runtime_env={"env_vars": v}, **o).remote() for o, v in placements]
    return ray.get([actor.address.remote() for actor in actors], timeout=60)

config = load_config(overrides=["model.path=x", *sys.argv[1:]])
planned = plan(config, Hardware.described("cpu 2 cores 24GB"), None)
try:
    with ray_cluster(config, planned, wait_s=3) as cluster:
        print(json.dumps({"ranks": addresses(cluster.ranks), "engines": addresses(cluster.engines),
                          "machines": addresses(cluster.machines)}))
except ReasongymError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_status)
"""
HOLDS = """
import sys, time
import ray
ray.init(sys.argv[1], logging_level="ERROR", log_to_driver=False)
group = ray.util.placement_group([{"CPU": 2}] * 3, strategy="STRICT_SPREAD")
assert group.wait(60)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Raylets]:
    """A head and two more, of which one has another label."""
    with raylets(3) as made:
        made.start(LABELS)
        yield made


def placed(cluster: Raylets, *overrides: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-W", "ignore", "-c", PLACED, f"resources.ray_address={cluster.address}", *overrides]
    return cluster.head.run(words, timeout=300)


def found(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_ranks_are_spread_over_machines_and_engines_are_where_rank_0_is(cluster: Raylets) -> None:
    where = found(placed(cluster, "resources.nodes=2", "trainer.ranks=2", "rollout.engines=2"))
    assert len(set(where["ranks"])) == 2
    assert set(where["engines"]) == {where["ranks"][0]}
    assert where["machines"] == where["ranks"]


def test_a_run_of_one_machine_is_where_it_was_typed(cluster: Raylets) -> None:
    """Ray puts actors that ask for nothing anywhere, and weights go through the memory of one machine."""
    where = found(placed(cluster, "trainer.ranks=2"))
    assert set(where["ranks"] + where["engines"]) == {cluster.head.address}


def test_a_label_says_where(cluster: Raylets) -> None:
    where = found(placed(cluster, "resources.trainer_label=cheap", "rollout.engines=[{count: 1, label: cheap}]"))
    assert set(where["ranks"] + where["engines"]) == {cluster.machines[2].address}


@pytest.mark.parametrize(("overrides", "texts"), [
    (("resources.nodes=4", "trainer.ranks=4"),
     ("does not have the machines\n", "1 machine with 2 CPU and 3 machines with 1 CPU")),
    (("resources.trainer_label=trainers", "rollout.engines=[{count: 1, label: cheap}]"),
     ("does not have the machines\n", "1 machine with 2 CPU, the label trainers, the label cheap", "no cheap")),
    (("resources.trainer_label=absent",), ("no machine of the cluster has a label of the run", "none with absent")),
], ids=["too many machines", "labels of different machines", "a label that none has"])
def test_what_the_cluster_cannot_hold_is_refused_before_anything_is_started(
        cluster: Raylets, overrides: tuple[str, ...], texts: tuple[str, ...]) -> None:
    done = placed(cluster, *overrides)
    assert done.returncode == 2, done.stderr[-3000:]
    assert all(text in done.stderr for text in texts), done.stderr


def test_a_cluster_that_asks_for_a_token_is_told_from_one_that_does_not_answer(cluster: Raylets) -> None:
    """Ray gives its token to no address that is typed, unless RAY_AUTH_MODE says so."""
    words = [sys.executable, "-W", "ignore", "-c", PLACED, f"resources.ray_address={cluster.address}"]
    done = cluster.head.run(words, timeout=300, env=os.environ)
    assert done.returncode == 2, done.stderr[-3000:]
    assert "the Ray cluster does not take this machine's token" in done.stderr
    assert "RAY_AUTH_MODE=token" in done.stderr


def test_machines_that_others_hold_are_refused_with_what_is_free_where(cluster: Raylets) -> None:
    words = [*cluster.head.prefix, sys.executable, "-W", "ignore", "-c", HOLDS, cluster.address]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=os.environ | ENVIRONMENT) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        done = placed(cluster, "trainer.ranks=1")
        other.communicate(timeout=60)
    assert done.returncode == 2
    assert "does not have the machines free" in done.stderr
    assert all(f"{machine.address} with 0 of 2 CPU free" in done.stderr for machine in cluster.machines)
    deadline = time.monotonic() + 30  # what the other held is given back once it has ended
    while placed(cluster, "trainer.ranks=1").returncode:
        assert time.monotonic() < deadline


SETTINGS = ("trainer.ranks=2", "resources.nodes=2", "rollout.prompts_per_step=4", "rollout.group_size=4",
            "rollout.max_new_tokens=12", "rollout.max_prompt_tokens=96", "rollout.kv_cache_gib=0.1",
            "evaluation.every=0", "checkpoint.every=2", "trainer.learning_rate=1e-3", "rollout.max_num_seqs=32",
            "sync.verify=always", "task.verifier={workshop}/rules.py:length_parity")


def training(workshop: Path, name: str, steps: int, *options: str) -> list[str]:
    sets = [f"--set={one.format(workshop=workshop)}" for one in SETTINGS]
    return [sys.executable, "-m", "reasongym", "train", "--task", "arithmetic", "--model", str(workshop / "model"),
            "--recipe", "cpu", "--steps", str(steps), "--seed", "7", "--name", name, "--runs",
            str(workshop / "runs"), *sets, *options]


def test_a_run_over_two_machines_trains_and_its_engine_has_the_weights_of_both(cluster: Raylets,
                                                                              workshop: Path) -> None:
    """Every transfer's checksums are compared (`sync.verify`): half of the weights come from the other machine."""
    done = cluster.head.run(training(workshop, "two", 2, "--ray-address", cluster.address), timeout=600, cwd=workshop)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    folder = workshop / "runs" / "two"
    assert (folder / "final" / "model.safetensors").is_file()
    states = list((folder / "checkpoints" / "step-000002" / "state").glob("*optim_states.pt"))
    assert len(states) == 2
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["sync/verify_seconds"] > 0 for row in rows if row["step"]] == [True, True]
    assert max(row["mismatch/mean_abs_logprob_diff"] for row in rows if row["step"]) < 0.05


def test_a_machine_that_does_not_see_the_runs_folder_is_refused_before_anything_is_started(workshop: Path) -> None:
    (workshop / "runs").mkdir(exist_ok=True)
    with raylets(2) as cluster:
        if not cluster.machines[1].prefix:
            pytest.skip("no network namespaces can be made here")
        cluster.machines[1].hidden = workshop / "runs"
        cluster.start()
        done = cluster.head.run(training(workshop, "hidden", 2, "--ray-address", cluster.address), timeout=600,
                                cwd=workshop)
    assert done.returncode == 2, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert "a machine of the cluster does not see the run's folder" in done.stderr + done.stdout
    assert "10.77.0.2" in done.stderr + done.stdout


def test_a_run_whose_head_is_lost_ends_in_time_and_goes_on_in_a_new_cluster(workshop: Path) -> None:
    folder = workshop / "runs" / "headless"
    with raylets(2) as cluster:
        cluster.start()
        # Typed on the machine that stays, whose raylet outlives the head's for a while.
        typed = [*cluster.machines[1].prefix, *training(workshop, "headless", 40, "--ray-address", cluster.address)]
        with subprocess.Popen(typed, cwd=workshop, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=os.environ | ENVIRONMENT) as process:
            wait_for(folder / "checkpoints" / "step-000002", process)
            cluster.head.die()
            lost = time.monotonic()
            output, _ = process.communicate(timeout=200)
        assert time.monotonic() - lost < 90, output[-3000:]
        assert process.returncode in {1, 2}, output[-3000:]
        assert "the head of the Ray cluster is gone" in output
        assert "begins anew from its newest checkpoint" in output
        assert "no Ray cluster answers" in output  # it tried once more
        assert json.loads((folder / "ended.json").read_text())["state"] == "failed"
    with raylets(2) as anew:
        anew.start()
        words = [sys.executable, "-m", "reasongym", "train", "--resume", str(folder), "--ray-address", anew.address,
                 "--steps", "5"]
        done = anew.head.run(words, timeout=600, cwd=workshop)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "resumed from step" in done.stdout
    assert (folder / "final" / "model.safetensors").is_file()


def wait_for(path: Path, process: subprocess.Popen[str], seconds: float = 600.0) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()[0][-5000:]
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.05)
