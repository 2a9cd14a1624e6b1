"""Plans: placement, what is refused, what is warned of."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from reasongym.config import RunConfig, load_config
from reasongym.errors import ConfigError, ResourceError
from reasongym.evaluation.placement import plan_engines
from reasongym.planning import KNOWN_SHAPES, Gpu, Hardware, Plan, plan
from reasongym.planning.budgets import SLEEPING_ENGINE
from reasongym.planning.memory import critic_memory, trainer_memory
from reasongym.planning.placement import Slot

CPU = Hardware.described("cpu 2 cores 24GB")
NODE = Hardware.described("8x H100 80GB")
SMOL = KNOWN_SHAPES["smollm2-135m"]
SEVEN = KNOWN_SHAPES["Qwen/Qwen2.5-7B-Instruct"]


def _config(*overrides: str) -> RunConfig:
    return load_config(overrides=overrides)


def _cpu_plan(*overrides: str, hardware: Hardware = CPU) -> Plan:
    return plan(_config("trainer.micro_batch_tokens=2048", *overrides), hardware, SMOL)


def _gpu_plan(*overrides: str, hardware: Hardware = NODE) -> Plan:
    return plan(_config("model.path=x", *overrides), hardware, SEVEN)


def test_auto_becomes_what_the_machine_has() -> None:
    assert (_cpu_plan().device, _cpu_plan().dtype, _cpu_plan().transport) == ("cpu", "float32", "shared_memory")
    separate = _gpu_plan("trainer.ranks=4", "rollout.engines=4")
    assert (separate.device, separate.dtype, separate.transport) == ("cuda", "bfloat16", "nccl")
    shared = _gpu_plan("trainer.ranks=8", "rollout.engines=8", "resources.placement=shared",
                       "rollout.gpu_memory_utilization=0.5")
    assert shared.transport == "ipc"
    old = replace(NODE, gpus=(Gpu(name="V100", memory_gib=80.0, compute_capability=(7, 0)),) * 8)
    assert _gpu_plan("trainer.ranks=4", "trainer.gradient_checkpointing=true", hardware=old).dtype == "float32"


def test_separate_engines_start_behind_the_ranks_and_never_straddle_nodes() -> None:
    found = _gpu_plan("trainer.ranks=6", "rollout.engines=2", "rollout.tensor_parallel=4", "resources.nodes=2")
    assert found.placement[5] == Slot(kind="rank", index=5, node=0, gpus=(5,))
    # 2 GPUs are left on node 0, too few for an engine of 4
    assert [(slot.node, slot.gpus) for slot in found.placement[6:]] == [(1, (0, 1, 2, 3)), (1, (4, 5, 6, 7))]


def test_shared_engines_lie_over_the_ranks() -> None:
    found = _gpu_plan("trainer.ranks=8", "rollout.engines=2", "rollout.tensor_parallel=4", "resources.placement=shared",
                      "rollout.gpu_memory_utilization=0.5")
    assert [slot.gpus for slot in found.placement[8:]] == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_a_critic_has_gpus_of_its_own_between_ranks_and_engines_or_lies_over_the_ranks() -> None:
    arguments = ("algorithm.name=ppo", "algorithm.critic.ranks=2")
    separate = _gpu_plan(*arguments, "trainer.ranks=4", "rollout.engines=2", "trainer.micro_batch_tokens=2048",
                         "trainer.offload_optimizer=true")
    assert [(s.kind, s.gpus) for s in separate.placement[3:]] == [
        ("rank", (3,)), ("critic", (4,)), ("critic", (5,)), ("engine", (6,)), ("engine", (7,))]
    assert separate.critic_apart
    assert "critic ranks 0-1" in separate.describe()
    shared = _gpu_plan("algorithm.name=ppo", "algorithm.critic.ranks=8", "trainer.ranks=8", "rollout.engines=8",
                       "resources.placement=shared", "rollout.gpu_memory_utilization=0.3",
                       "trainer.micro_batch_tokens=2048")
    assert [s.gpus for s in shared.placement if s.kind == "critic"] == [(i,) for i in range(8)]
    assert not shared.critic_apart
    assert shared.trainer is not None
    assert shared.critic is not None
    passing = max(shared.trainer.passing, shared.critic.passing)  # they take turns, and both stay
    assert shared.budgets[0].needed == (shared.trainer.resident + shared.critic.resident + passing + SLEEPING_ENGINE)


def test_a_critic_counts_in_host_memory_and_on_the_disk() -> None:
    def needed(algorithm: str) -> dict[str, int]:
        made = _cpu_plan(f"algorithm.name={algorithm}", "algorithm.kl.coefficient=0")
        return {budget.where: budget.needed for budget in made.budgets}
    alone, both = needed("grpo"), needed("ppo")
    critic = critic_memory(_config("trainer.micro_batch_tokens=2048"), SMOL, "cpu", "float32", ranks=1)
    assert both["host memory of a node"] - alone["host memory of a node"] == critic.peak
    place = next(where for where in alone if where.startswith("checkpoints"))
    assert both[place] - alone[place] == 4 * 14 * SMOL.parameters


@pytest.mark.parametrize("every", [0, 5])
def test_an_algorithm_that_learns_from_a_file_needs_engines_to_evaluate_only(every: int) -> None:
    made = plan(_config("algorithm.name=sft", f"evaluation.every={every}", "trainer.ranks=8", "resources.nodes=2",
                        "model.path=x"), NODE, SEVEN)
    engines = [slot for slot in made.placement if slot.kind == "engine"]
    assert (len(engines), made.engine is not None) == ((1, True) if every else (0, False))
    assert any("engine" in budget.where for budget in made.budgets) == bool(every)
    assert ("An engine worker" in made.describe()) == bool(every)
    assert not replace(made, config=_config("algorithm.name=sft", f"evaluation.every={every}",
                                            "resources.placement=shared")).shares_gpus or every


def test_an_evaluation_by_a_recipe_with_a_critic_or_without_engines_has_its_engine() -> None:
    one = Hardware.described("1x A10 24GB")
    for algorithm in (("algorithm.name=ppo", "algorithm.critic.ranks=8"), ("algorithm.name=sft", "evaluation.every=0")):
        made = plan_engines(_config("model.path=x", *algorithm), one, SMOL)
        assert made.placement == (Slot(kind="engine", index=0, node=0, gpus=(0,)),)


def test_a_shared_gpu_holds_the_trainers_state_while_it_samples() -> None:
    arguments = ("trainer.ranks=8", "rollout.engines=8", "resources.placement=shared")
    with pytest.raises(ResourceError, match="while it samples"):
        _gpu_plan(*arguments, "rollout.gpu_memory_utilization=0.85")
    training = _gpu_plan(*arguments, "rollout.gpu_memory_utilization=0.5").budgets[0]
    need = trainer_memory(_config(*arguments), SEVEN, "cuda", "bfloat16")
    assert training.needed == need.peak + SLEEPING_ENGINE


def test_offload_moves_gradients_and_optimizer_from_the_gpu_to_its_host() -> None:
    def needed(offload: str) -> dict[str, int]:
        made = _gpu_plan("trainer.ranks=4", f"trainer.offload_optimizer={offload}")
        return {budget.where: budget.needed for budget in made.budgets}
    kept, moved = needed("false"), needed("true")
    assert kept["a trainer's GPU"] - moved["a trainer's GPU"] == (4 + 12) * SEVEN.parameters // 4
    # gradients are held once as they add up and once for the optimizer. Without it each rank's host holds twice the
    # largest parameter while it loads, 2 bytes each; but for rank 0, which holds the whole model when it writes it
    loading = 2 * 2 * SEVEN.vocabulary * SEVEN.hidden
    assert moved["host memory of a node"] - kept["host memory of a node"] == (8 + 12) * SEVEN.parameters - 3 * loading


@pytest.mark.parametrize(("stage", "memory_gib"), [
    (3, 30.0),   # rank 0 writes 14.2 GiB, and 8 processes take 2 GiB each
    (2, 100.0),  # 6 ranks read 14.2 GiB each
])
def test_a_model_that_the_ranks_of_a_node_cannot_load_and_write_is_refused(stage: int, memory_gib: float) -> None:
    arguments = ("trainer.ranks=6", "rollout.engines=2", f"trainer.zero_stage={stage}")
    with pytest.raises(ResourceError, match="host memory"):
        _gpu_plan(*arguments, hardware=replace(NODE, memory_gib=memory_gib))
    _gpu_plan(*arguments, hardware=replace(NODE, memory_gib=memory_gib + 30))


@pytest.mark.parametrize(("overrides", "error", "text"), [
    (("resources.device=cuda",), ResourceError, "none is seen"),
    (("sync.transport=nccl",), ConfigError, "the run is on a CPU"),
    (("rollout.max_new_tokens=8000",), ConfigError, "= 8512"),
    (("rollout.tensor_parallel=2",), ConfigError, "9 attention heads"),
    (("rollout.kv_cache_gib=16",), ResourceError, "host memory"),
    (("rollout.kv_cache_gib=0.01",), ResourceError, "cannot hold one answer"),
    (("trainer.zero_stage=0", "model.dtype=bfloat16"), ConfigError, "stage 0 does not train in bfloat16"),
    (("checkpoint.keep_last=100",), ResourceError, "checkpoints under runs/"),
])
def test_what_a_cpu_cannot_do_is_refused_before_anything_starts(
        overrides: tuple[str, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        _cpu_plan(*overrides)


@pytest.mark.parametrize(("overrides", "error", "text"), [
    (("trainer.ranks=8", "rollout.engines=1"), ResourceError, "at least 9 GPUs"),
    (("algorithm.name=ppo", "trainer.ranks=4", "algorithm.critic.ranks=4"), ResourceError, "4 of the critic"),
    (("algorithm.name=ppo", "trainer.ranks=4"), ResourceError, "a critic's GPU"),  # 16 bytes of 7.6e9 on one
    (("resources.gpus_per_node=16",), ResourceError, "too few GPUs"),
    (("rollout.tensor_parallel=16",), ConfigError, "tensor_parallel"),
    (("rollout.tensor_parallel=8",), ConfigError, "one of 1, 2, 4"),  # 28 heads
    (("sync.transport=ipc", "trainer.ranks=4"), ConfigError, "different ones"),
    (("sync.transport=nccl", "resources.placement=shared"), ConfigError, "the same one"),
    (("sync.transport=shared_memory", "resources.nodes=2", "trainer.ranks=8"), ConfigError, "reaches one machine"),
    (("trainer.sequence_parallel=8", "trainer.ranks=8"), ConfigError, "does not divide the heads"),  # 28 heads
    (("trainer.tensor_parallel=8", "trainer.ranks=8", "trainer.zero_stage=1"), ConfigError, "not divide the layers"),
    (("rollout.mode=async", "resources.placement=shared"), ConfigError, "GPUs of its own"),
    (("trainer.ranks=1",), ResourceError, "a trainer's GPU"),  # 18 bytes x 7.6e9 = 128 GiB
    (("trainer.ranks=4", "rollout.gpu_memory_utilization=0.2"), ResourceError, "cannot hold one answer"),
])
def test_what_gpus_cannot_do_is_refused_before_anything_starts(
        overrides: tuple[str, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        _gpu_plan(*overrides)


@pytest.mark.parametrize(("overrides", "text"), [
    (("model.dtype=bfloat16",), "20 times slower"),
    (("rollout.engines=2", "rollout.prompts_per_step=1", "rollout.kv_cache_gib=1"), "1 of 2 engines stay idle"),
    (("rollout.max_num_seqs=10",), "samples 10 at a time"),
    (("rollout.kv_cache_gib=0.1",), "answers will wait"),
    # 1 prompt x 8 answers: 512 + 8 x 64 = 1,024 tokens are half a micro-batch
    (("trainer.ranks=2", "rollout.prompts_per_step=1", "rollout.max_new_tokens=64"), "at most 1 micro-batches for 2"),
    # 4 ranks and 1 engine are more than twice the 2 cores
    (("trainer.ranks=4", "trainer.gradient_checkpointing=true"), "5 ranks and engine workers take turns on 2 cores"),
    # 12.0 GiB (7.0 of the rank, 0.5 shared, 2.5 of the engine, 2 of the host) and 10.8 of cache are 22.8 of 24
    (("rollout.kv_cache_gib=10.8",), "host memory of a node is 95 % full"),
])
def test_what_is_slow_is_warned_of(overrides: tuple[str, ...], text: str) -> None:
    assert any(text in warning for warning in _cpu_plan(*overrides).warnings)
    assert not any(text in warning for warning in _cpu_plan().warnings)


def test_gpus_and_nodes_that_hold_nothing_are_warned_of() -> None:
    on_cpu = _cpu_plan("resources.device=cpu", hardware=NODE)
    assert "8 GPUs are left unused by resources.device=cpu" in on_cpu.warnings
    two_nodes = _gpu_plan("trainer.ranks=4", "rollout.engines=4", "resources.nodes=2")
    assert "1 of 2 nodes hold nothing" in two_nodes.warnings


def test_too_little_shared_memory_is_refused_and_smaller_buckets_need_less() -> None:
    little = replace(CPU, shared_memory_gib=0.4)
    with pytest.raises(ResourceError, match="/dev/shm"):
        _cpu_plan(hardware=little)  # two buckets of 256 MiB
    found = _cpu_plan("sync.bucket_mib=64", hardware=little).budgets
    (needed,) = (budget.needed for budget in found if "/dev/shm" in budget.where)
    assert needed == 2 * 4 * 576 * 49_152  # a tensor over the bucket's size has one of its own: the embedding


def test_answers_that_cannot_share_rows_make_more_micro_batches() -> None:
    arguments = ("trainer.ranks=2", "rollout.prompts_per_step=1", "rollout.max_new_tokens=64")
    # 8 rows of 512 + 64 tokens are three micro-batches of 2048; one row of 512 + 8 x 64 would be half of one
    made = plan(_config("trainer.micro_batch_tokens=2048", *arguments), CPU, replace(SMOL, seen_whole=500))
    assert not any("micro-batches" in warning for warning in made.warnings)
    shared = _cpu_plan(*arguments)
    assert any("micro-batches" in warning for warning in shared.warnings)
    # 8 prompts x 8 answers, sampled and read in full: 64 x (512 + 256), or with each prompt once 64 x 256 + 8 x 512
    assert "49,152" in plan(_config(), CPU, replace(SMOL, seen_whole=500)).describe()
    assert "20,480" in _cpu_plan().describe()


def test_an_unknown_model_is_planned_as_far_as_known_and_said_to_be_unknown() -> None:
    made = plan(_config("model.path=someone/unknown"), CPU, None)
    assert made.placement == (Slot(kind="rank", index=0, node=0), Slot(kind="engine", index=0, node=0))
    assert "memory is not planned" in made.warnings[-1]
    assert "not on this machine" in made.describe()
    assert made.budgets == ()


def test_an_engine_wider_than_a_node_is_refused_even_for_an_unknown_model() -> None:
    with pytest.raises(ConfigError, match="wider than a node"):
        plan(_config("rollout.tensor_parallel=16", "resources.nodes=4"), NODE, None)


def test_a_description_names_the_figures_and_keeps_one_column() -> None:
    text = _cpu_plan().describe()
    for expected in ("134,515,008 parameters", "shared_memory", "host memory of a node", "rank 0", "engine 0"):
        assert expected in text
    assert max(map(len, text.splitlines())) <= 130
    assert "GPUs 0-3" in _gpu_plan("trainer.ranks=4", "rollout.engines=4").describe()


def test_planning_loads_no_torch() -> None:
    code = ("import sys, reasongym.planning, reasongym.cli.doctor\n"
            "print([m for m in ('torch', 'vllm', 'deepspeed', 'ray', 'transformers') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
