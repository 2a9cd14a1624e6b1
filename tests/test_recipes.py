"""Every recipe loads, fits the machine it is for, and survives the journey through YAML."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from reasongym.config import dump_yaml, load_config, recipe_names
from reasongym.planning import Hardware, Plan, default_recipe, plan, shape_of
from reasongym.registry import task, task_names
from reasongym.tasks import TaskOptions

EIGHT = Hardware.described("8x H100 80GB")
MACHINES = {
    "cpu": Hardware.described("cpu 2 cores 16GB"),
    "cpu_arithmetic": Hardware.described("cpu 2 cores 16GB"),
    "cpu_arithmetic_ppo": Hardware.described("cpu 2 cores 24GB"),
    "cpu_dpo": Hardware.described("cpu 2 cores 16GB"),
    "cpu_kto": Hardware.described("cpu 2 cores 16GB"),
    "cpu_lora": Hardware.described("cpu 2 cores 16GB"),
    "cpu_online_dpo": Hardware.described("cpu 2 cores 16GB"),
    "cpu_sft": Hardware.described("cpu 2 cores 16GB"),
    "gpu1": Hardware.described("1x A10 24GB"),
    "gpu1_lora": Hardware.described("1x A10 24GB"),
    "gpu8": EIGHT,
    "multinode_70b": EIGHT,
}


def _plan(name: str) -> Plan:
    config = load_config(name)
    return plan(config, MACHINES[name], shape_of(config.model.path))


def test_no_recipe_is_left_untested() -> None:
    assert recipe_names() == sorted(MACHINES)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_a_recipe_is_the_same_after_yaml(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    config = load_config(name)
    file = tmp_path_factory.mktemp("recipe") / "config.yaml"
    file.write_text(dump_yaml(config), encoding="utf-8")
    assert load_config(str(file)) == config


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_a_recipe_fits_the_machine_it_is_for_without_a_warning(name: str) -> None:
    made = _plan(name)
    assert made.shape is not None
    assert made.warnings == ()
    assert all(budget.share < 0.9 for budget in made.budgets)


@pytest.mark.parametrize(("name", "transport"), [("cpu", "shared_memory"), ("cpu_arithmetic", "shared_memory"),
                                                 ("gpu1", "ipc"), ("gpu1_lora", "ipc"), ("gpu8", "nccl"),
                                                 ("multinode_70b", "nccl")])
def test_a_recipe_moves_its_weights_the_way_its_comment_says(name: str, transport: str) -> None:
    assert _plan(name).transport == transport


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_a_recipe_names_a_task_that_takes_its_settings(name: str) -> None:
    wanted = load_config(name).task
    assert wanted.name in task_names()
    if wanted.settings:  # without any there is nothing to refuse, and no data set to look for here
        assert task(wanted.name, TaskOptions(training=True, settings=wanted.settings)).splits


def test_the_arithmetic_recipe_sums_numbers_from_1_to_20() -> None:
    wanted = load_config("cpu_arithmetic").task
    rows = task(wanted.name, TaskOptions(settings=wanted.settings))
    sums = [int(str(rows.example("train", index).reference)) for index in range(200)]
    assert 30 < max(sums) <= 40  # 20 + 20; the sums up to 9 + 9 of the first level would end at 18


def test_ranks_of_the_multinode_recipe_share_no_gpu_with_its_engine() -> None:
    taken = [(slot.node, gpu) for slot in _plan("multinode_70b").placement for gpu in slot.gpus]
    assert len(set(taken)) == len(taken) == 32  # 24 ranks and 8 workers fill 4 nodes of 8


def test_a_machine_gets_a_recipe_that_runs_on_it() -> None:
    for machine in (MACHINES["cpu"], MACHINES["gpu1"], EIGHT):
        config = load_config(default_recipe(machine))
        assert plan(config, machine, shape_of(config.model.path)).budgets


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_numbers_of_a_recipe_are_read_as_numbers(name: str) -> None:
    """YAML 1.1 reads `3e-5` as text; a recipe copied by a user must not depend on our repair of it."""
    text = resources.files("reasongym.configs").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    assert not re.search(r":\s+\d+e", text)
    assert load_config(name).trainer.learning_rate in {1e-6, 1e-5, 2e-5, 2.5e-5, 3e-5, 1e-4, 2.5e-4}
