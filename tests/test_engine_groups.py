"""Engines that differ: how they are written, where the plan puts them, what each is built with."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from reasongym.config import RunConfig, dump_yaml, load_config
from reasongym.errors import ConfigError, ResourceError
from reasongym.planning import KNOWN_SHAPES, Hardware, plan
from reasongym.planning.placement import Slot, place
from reasongym.rollout.requests import engine_settings

NODE = Hardware.described("8x H100 80GB")
CHEAP_AND_FAST = "rollout.engines=[{count: 2, label: cheap}, {count: 1, tensor_parallel: 4, label: fast}]"


def config_of(*overrides: str) -> RunConfig:
    return load_config(overrides=overrides)


def engines_of(config: RunConfig, gpus_per_node: int = 8) -> list[tuple[int, tuple[int, ...], str | None]]:
    """(node, GPUs, label) of each engine."""
    return [(slot.node, slot.gpus, slot.label) for slot in place(config, gpus_per_node=gpus_per_node)
            if slot.kind == "engine"]


def test_a_number_is_that_many_equal_engines() -> None:
    rollout = config_of("rollout.engines=3", "rollout.tensor_parallel=2").rollout
    assert rollout.num_engines == 3
    assert {(kind.tensor_parallel, kind.share, kind.label) for kind in rollout.each_engine} == {(2, 2.0, None)}


def test_groups_come_back_from_yaml_and_keep_what_they_leave_open(tmp_path_factory: pytest.TempPathFactory) -> None:
    config = config_of(CHEAP_AND_FAST, "rollout.tensor_parallel=2")
    file = tmp_path_factory.mktemp("groups") / "config.yaml"
    file.write_text(dump_yaml(config))
    assert load_config(str(file)) == config
    assert [kind.tensor_parallel for kind in config.rollout.each_engine] == [2, 2, 4]


@pytest.mark.parametrize(("value", "text"), [
    ("two", "rollout.engines: Input should be a valid integer"), ("[]", "at least 1"),
    ("[{cont: 2}]", "unknown key 'rollout.engines.0.cont'. Did you mean 'count'?"),
    ("[{count: 0}]", "rollout.engines.0.count"), ("[{count: true}]", "rollout.engines.0.count: true and false"),
    ("[{count: 1}, {count: 2}]", "have the label null"), ("[{label: GPU}]", "no resource of Ray's"),
    ("[{label: memory}]", "no resource of Ray's"), ("{count: 1}", "rollout.engines: Input should be a valid integer")])
def test_a_mistake_in_a_group_is_named_where_it_stands(value: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(f"rollout.engines={value}")
    assert text in str(caught.value)


def test_what_has_another_label_begins_on_another_machine() -> None:
    config = config_of(CHEAP_AND_FAST, "trainer.ranks=2", "resources.trainer_label=fast", "resources.nodes=3")
    assert engines_of(config) == [(1, (0,), "cheap"), (1, (1,), "cheap"), (2, (0, 1, 2, 3), "fast")]
    assert {slot.label for slot in place(config, gpus_per_node=8) if slot.kind == "rank"} == {"fast"}
    with pytest.raises(ResourceError, match="3 engines of 1 or 4"):
        place(config_of(CHEAP_AND_FAST, "trainer.ranks=2", "resources.trainer_label=fast"), gpus_per_node=8)


def test_what_has_no_label_shares_a_machine_with_what_has_one() -> None:
    assert engines_of(config_of("rollout.engines=[{count: 1}, {count: 1, label: cheap}]", "trainer.ranks=2")) == [
        (0, (2,), None), (0, (3,), "cheap")]


def test_cheap_machines_may_have_fewer_gpus() -> None:
    config = config_of("rollout.engines=[{count: 3, label: cheap, gpus_per_node: 2}]", "trainer.ranks=8",
                       "resources.trainer_label=fast", "resources.nodes=3")
    assert engines_of(config) == [(1, (0,), "cheap"), (1, (1,), "cheap"), (2, (0,), "cheap")]
    with pytest.raises(ConfigError, match="at most 2, the GPUs of a node"):
        place(config_of("rollout.engines=[{tensor_parallel: 4, label: cheap, gpus_per_node: 2}]"), gpus_per_node=8)


def test_engines_over_the_ranks_are_on_the_ranks_machines() -> None:
    shared = ("resources.placement=shared", "model.path=x", "trainer.ranks=4", "rollout.gpu_memory_utilization=0.3")
    with pytest.raises(ConfigError, match="the machines of the ranks"):
        plan(config_of("rollout.engines=[{count: 4, label: cheap}]", *shared), NODE, None)
    plan(config_of("rollout.engines=[{count: 4, label: cheap}]", "resources.trainer_label=cheap", *shared), NODE, None)


def test_every_width_has_to_divide_the_model() -> None:
    seven = KNOWN_SHAPES["Qwen/Qwen2.5-7B-Instruct"]  # 28 heads
    with pytest.raises(ConfigError, match="does not divide the attention heads"):
        plan(config_of("model.path=x", "rollout.engines=[{count: 1}, {label: wide, tensor_parallel: 8}]"), NODE, seven)


def test_each_engine_is_built_as_its_group_says() -> None:
    config = config_of("rollout.engines=[{count: 1, max_num_seqs: 8}, {count: 1, label: fast, tensor_parallel: 4, "
                       "share: 2.5}]", "model.path=x")
    found = engine_settings(config, plan(config, NODE, None), "x", transport=None)
    assert [(one.label, one.tensor_parallel, one.max_num_seqs, one.share) for one in found] == [
        ("", 1, 8, 1.0), ("fast", 4, 256, 2.5)]


def test_a_run_that_samples_nothing_has_no_engines_to_build() -> None:
    config = config_of("algorithm.name=sft", "evaluation.every=0", "rollout.engines=[{count: 2}]", "model.path=x")
    made = plan(config, NODE, None)
    assert engine_settings(config, made, "x", transport=None) == []


def test_labels_reach_ranks_and_engines_on_a_cpu_too() -> None:
    config = config_of("rollout.engines=[{count: 1, label: cheap}]", "resources.trainer_label=fast")
    assert place(config, gpus_per_node=0) == (Slot(kind="rank", index=0, node=0, label="fast"),
                                              Slot(kind="engine", index=0, node=0, label="cheap"))


def test_a_surplus_of_prompts_is_for_synchronous_sampling() -> None:
    with pytest.raises(ConfigError, match="nothing waits for the longest answers"):
        config_of("rollout.oversample=1.5", "rollout.mode=async")


class StandInRay:
    """Knows two labels, and which reservations there are."""

    def __init__(self) -> None:
        self.reserved: list[dict[str, float]] = []
        self.util = SimpleNamespace(placement_group=self._reserve, remove_placement_group=self.reserved.remove)

    def cluster_resources(self) -> dict[str, float]:
        return {"GPU": 16.0, "cheap": 1.0}

    def _reserve(self, bundles: list[dict[str, float]], **_: object) -> dict[str, float]:
        self.reserved += bundles
        return bundles[0]


@pytest.mark.stack
def test_an_added_engine_gets_the_place_of_one_like_it_or_gpus_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    room = pytest.importorskip("reasongym.training.room", reason="the training stack is not installed")
    stand_in = StandInRay()
    monkeypatch.setattr(room, "ray", stand_in)
    config = config_of("rollout.engines=[{count: 2, label: cheap}, {count: 1, tensor_parallel: 2}]", "model.path=x")
    cheap, _, wide = engine_settings(config, plan(config, NODE, None), "x", transport="nccl")
    more = room.MoreRoom(plan(config, NODE, None))
    planned = ({}, {"CUDA_VISIBLE_DEVICES": "3"})
    more.give_back(cheap, planned)
    own = more.take(wide)
    assert own is not planned, "an engine of two GPUs in the place of one"
    assert stand_in.reserved == [{"GPU": 2, "CPU": 1}]
    assert more.take(cheap) is planned
    assert more.take(cheap) is not planned, "two engines on one GPU"
    assert stand_in.reserved[1] == {"GPU": 1, "CPU": 1, "cheap": room.LABEL_SHARE}
    more.give_back(wide, own)
    assert len(stand_in.reserved) == 1
    with pytest.raises(ResourceError, match="no machine of the cluster has the label"):
        more.take(replace(cheap, label="fast"))


@pytest.mark.stack
def test_on_a_cpu_an_engine_for_which_the_plan_left_no_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    room = pytest.importorskip("reasongym.training.room", reason="the training stack is not installed")
    config = config_of("rollout.kv_cache_gib=4", "trainer.micro_batch_tokens=2048")
    made = plan(config, Hardware.described("cpu 2 cores 24GB"), KNOWN_SHAPES["smollm2-135m"])
    (settings,) = engine_settings(config, made, "x", transport="reasongym_shared_memory")
    more, taken = room.MoreRoom(made), []

    def fill() -> None:
        for _ in range(9):
            taken.append(more.take(settings))

    with pytest.raises(ResourceError, match="not enough memory for another engine"):
        fill()
    assert taken, "no room for any"
    more.give_back(settings, taken[0])
    more.take(settings)


def test_a_plan_says_on_which_machines_its_engines_are() -> None:
    config = config_of(CHEAP_AND_FAST, "trainer.ranks=4", "resources.trainer_label=fast", "resources.nodes=3",
                       "model.path=x")
    text = plan(config, NODE, None).describe()
    assert "node 1 (cheap), GPUs 0-1" in text
    assert "node 0 (fast), GPUs 0-3" in text
