"""A real vLLM engine behind its Ray actor: what it samples can be repeated, and damage to its weights is noticed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from processes import has_ended  # noqa: E402

from reasongym.errors import EngineError, SyncError  # noqa: E402
from reasongym.records import Completion, FinishReason, Prompt  # noqa: E402
from reasongym.sync.checksums import compare, digest  # noqa: E402
from reasongym.tasks import Example  # noqa: E402

LOSSES: list[str] = []
pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def pool(tiny: Path) -> Iterator[Any]:
    import ray

    from reasongym.rollout.pool import EnginePool
    from reasongym.rollout.requests import EngineSettings

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             object_store_memory=100 * 2**20)
    settings = EngineSettings(model=str(tiny), dtype="float32", device="cpu", max_tokens=128, kv_cache_gib=0.1,
                              max_num_seqs=16)
    pool = EnginePool(settings, [({"num_cpus": 0}, {})], start_timeout_s=300, completion_timeout_s=300, restarts=3,
                      on_loss=LOSSES.append)
    try:
        pool.wait_ready()
        yield pool
    finally:
        pool.close()
        ray.shutdown()


def sampled(pool: Any, *, seed: int, temperature: float = 1.0, samples: int = 4,
            tokens: int = 10) -> dict[tuple[int, int], Completion]:
    from reasongym.rollout.requests import requests_for

    prompts = [Prompt(example=Example(task="t", split="test", index=i, messages=(), reference=""), text="",
                      token_ids=tuple(range(100 + i, 120 + i))) for i in range(2)]
    requests = requests_for(prompts, samples=samples, max_new_tokens=tokens, temperature=temperature, seed=seed, step=1)
    return {request.key: completion for request, completion in pool.stream(requests)}


def test_the_same_seeds_give_the_same_tokens_and_others_do_not(pool: Any) -> None:
    first, again, other = (sampled(pool, seed=seed) for seed in (1, 1, 2))
    assert {k: c.token_ids for k, c in first.items()} == {k: c.token_ids for k, c in again.items()}
    assert {k: c.token_ids for k, c in first.items()} != {k: c.token_ids for k, c in other.items()}
    assert len({tuple(c.token_ids) for c in first.values()}) == 8  # no two of a group alike


def test_logprobs_are_of_the_temperature_scaled_distribution(pool: Any, tiny: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny)
    completion = sampled(pool, seed=3, temperature=0.5, samples=1)[0, 0]
    ids = torch.tensor([[*range(100, 120), *completion.token_ids]])
    with torch.no_grad():
        logits = model(ids).logits[0, 19:-1] / 0.5
    expected = logits.log_softmax(-1).gather(1, ids[0, 20:, None]).squeeze(1)
    torch.testing.assert_close(torch.tensor(completion.logprobs), expected, rtol=0, atol=1e-3)
    assert completion.finish_reason in (FinishReason.LENGTH, FinishReason.STOP)


def processes(name: str) -> list[Any]:
    """Of this test's Ray, by the name that they give themselves."""
    from benchmarks.fault_processes import named

    return list(named(name)())


@pytest.mark.parametrize("victim", ["VLLM::EngineCore", "ray::Engine"])
def test_an_engine_that_is_killed_is_replaced_and_its_requests_are_answered_the_same(pool: Any, victim: str) -> None:
    """The core is what samples; the actor is its front."""
    expected = {key: completion.token_ids for key, completion in sampled(pool, seed=5, tokens=100).items()}
    everyone = processes("VLLM::") + processes("ray::Engine")
    (killed,) = processes(victim)
    losses = len(LOSSES)
    threading.Timer(0.1, killed.kill).start()
    found = {key: completion.token_ids for key, completion in sampled(pool, seed=5, tokens=100).items()}
    assert found == expected
    assert len(LOSSES) == losses + 1, "it had answered before it was killed"
    assert [process for process in everyone if process.is_running()] == []


def test_a_core_ends_with_its_actor_where_ray_cannot_end_it(pool: Any) -> None:
    """As when Ray's process of a machine dies before the actor: nobody else would end the core."""
    cores, (actor,) = processes("VLLM::EngineCore"), processes("ray::Engine")
    (raylet,) = processes("raylet/raylet")
    assert cores
    raylet.suspend()
    try:
        actor.kill()
        deadline = time.monotonic() + 10  # Ray gives up a machine that is silent for longer
        while not all(has_ended(core.pid) for core in cores) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [core for core in cores if not has_ended(core.pid)] == []
    finally:
        raylet.resume()
    assert len(sampled(pool, seed=6)) == 8


def test_one_changed_element_of_an_engines_weights_is_noticed(pool: Any, tiny: Path) -> None:
    from safetensors.torch import load_file

    trainer = {name: digest(tensor) for name, tensor in load_file(tiny / "model.safetensors").items()}
    compare(trainer, pool.call("checksums")[0], engine=0, version=0)
    pool.call("corrupt", "model.norm.weight")
    with pytest.raises(SyncError, match=r"(?s)1 of \d+ tensors differ: model\.norm\.weight"):
        compare(trainer, pool.call("checksums")[0], engine=0, version=0)


def test_an_engine_that_dies_once_too_often_ends_the_run_with_its_reason(pool: Any) -> None:
    threading.Timer(0.1, processes("VLLM::EngineCore")[0].kill).start()
    with pytest.raises(EngineError, match="failed while sampling"):
        sampled(pool, seed=5, tokens=100)
