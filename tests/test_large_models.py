"""What makes a model or its rows fit that are too large: parameters in host memory, rows that teams of ranks read and
layers that they hold together. Real ranks: none of it changes a step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from rank_samples import samples  # noqa: E402
from torch.nn.functional import pad  # noqa: E402

from reasongym.config import load_config  # noqa: E402
from reasongym.errors import ConfigError  # noqa: E402
from reasongym.planning import KNOWN_SHAPES  # noqa: E402
from reasongym.planning.memory import TrainerMemory, trainer_memory  # noqa: E402
from reasongym.rollout.engine import engine_arguments  # noqa: E402
from reasongym.rollout.requests import EngineSettings  # noqa: E402
from reasongym.training.rank import Rank  # noqa: E402
from reasongym.training.rows import MicroBatch, Row, micro_batches, pack_rows, split_over_ranks  # noqa: E402
from reasongym.training.sequence import Team, _filled_up  # noqa: E402
from reasongym.training.tensor_parallel import META, put_together  # noqa: E402
from reasongym.training.tensors import collate  # noqa: E402
from reasongym.training.update import LossSettings  # noqa: E402
from reasongym.training.zero import ZeroSettings  # noqa: E402
from reasongym.training.zero_rank import RankSettings  # noqa: E402

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

CPU = torch.device("cpu")
SEVEN = KNOWN_SHAPES["Qwen/Qwen2.5-7B-Instruct"]
LOSS = LossSettings(algorithm="grpo", knobs={"clip_low": 0.2, "clip_high": 0.2, "dual_clip": None},
                    denominator=70.0, correction="token_truncate", entropy_coefficient=0.01)


class Probe(Rank):
    """Shows the whole gradient before the step that uses it up."""

    def gradient(self, micros: Sequence[MicroBatch]) -> dict[str, Any]:
        from deepspeed.utils import safe_get_full_grad

        found: dict[str, Any] = {}
        step = self.engine.step

        def seen_step() -> None:
            gradients = {name: like(p, safe_get_full_grad(p)) for name, p in self.parameters.items()}
            with put_together(gradients) as whole:
                found.update({name: gradient.clone() for name, gradient in whole.items()})
            step()

        self.engine.step = seen_step
        found["loss"] = self.train(micros, LOSS, 1e-3).loss
        self.engine.step = step
        return found


def like(parameter: Any, values: Any) -> Any:
    """Divided over ranks as the parameter is."""
    copied = torch.nn.Parameter(values.clone())
    if hasattr(parameter, META):
        setattr(copied, META, getattr(parameter, META))
    return copied


def rank_settings(model: Path, ranks: int, *, sequence_parallel: int = 1, tensor_parallel: int = 1,
                  offload: bool = False) -> RankSettings:
    zero = ZeroSettings(stage=2 if tensor_parallel > 1 else 3, dtype="float32", device="cpu", learning_rate=1e-3,
                        weight_decay=0.01, betas=(0.9, 0.99), max_grad_norm=1.0, offload_optimizer=False,
                        offload_parameters=offload, tensor_parallel=tensor_parallel)
    return RankSettings(model=str(model), zero=zero, world=ranks, temperature=0.9, chunk_tokens=16,
                        gradient_checkpointing=True, trust_remote_code=False, reference=True,
                        bucket_bytes=1 << 20, threads=1, timeout_s=900, seed=0, entropy_gradient=True,
                        sequence_parallel=sequence_parallel)


class Ranks:
    def __init__(self, model: Path, ranks: int, *, kind: type[Probe] = Probe, **options: Any) -> None:
        from reasongym.training.group import RankGroup

        settings = rank_settings(model, ranks, **options)
        here = {"PYTHONPATH": os.path.dirname(__file__)}
        self.group = RankGroup(kind, settings, [({"num_cpus": 0}, here)] * ranks, start_timeout_s=900,
                               step_timeout_s=900)
        self.group.build()

    def dealt(self, *, share_prompt: bool) -> list[list[MicroBatch]]:
        batches = micro_batches(pack_rows(samples(), share_prompt=share_prompt, budget=60), budget=60)
        return split_over_ranks(batches, self.group.settings.teams)

    def step(self, *, share_prompt: bool) -> tuple[float, dict[str, Any]]:
        """The loss and the whole gradient of one optimizer step."""
        answers = self.group.scatter("gradient", [(micros,) for micros in self.dealt(share_prompt=share_prompt)])
        loss = sum(answer.pop("loss") for answer in answers)
        return loss, answers[0]

    def logprobs(self, method: str) -> dict[tuple[int, ...], list[float]]:
        dealt = self.dealt(share_prompt=True)
        answers = self.group.scatter(method, [(micros,) for micros in dealt])
        return {tuple(sample.token_ids): values for micros, answer in zip(dealt, answers, strict=True)
                for micro, columns in zip(micros, answer, strict=True)
                for sample, values in zip(micro.samples, columns, strict=True)}


@pytest.fixture(scope="module")
def alone(tiny: Path, ray_here: None) -> dict[str, Any]:
    """One rank, by itself: logprobs, the first step over shared rows, and the second over others."""
    return measured(Ranks(tiny, 1))


def measured(ranks: Ranks) -> dict[str, Any]:
    try:
        return {"logprobs": ranks.logprobs("logprobs"), "shared": ranks.step(share_prompt=True),
                "apart": ranks.step(share_prompt=False), "reference": ranks.logprobs("reference_logprobs")}
    finally:
        ranks.group.close()


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "options"), [
    (2, {"offload": True}),
    (2, {"sequence_parallel": 2}),
    (4, {"sequence_parallel": 2}),
    (2, {"tensor_parallel": 2}),
    (4, {"tensor_parallel": 2}),
], ids=["parameters in host memory", "a team of two", "two teams of two", "layers over two", "two teams of such"])
def test_the_step_is_that_of_one_rank(tiny: Path, alone: dict[str, Any], ranks: int, options: dict[str, Any]) -> None:
    found = measured(Ranks(tiny, ranks, **options))
    for what in ("logprobs", "reference"):
        assert found[what].keys() == alone[what].keys()
        for tokens, values in alone[what].items():
            assert found[what][tokens] == pytest.approx(values, abs=2e-4)
    for what in ("shared", "apart"):
        (loss, gradient), (expected_loss, expected) = found[what], alone[what]
        assert loss == pytest.approx(expected_loss, rel=1e-4, abs=1e-6)
        assert gradient.keys() == expected.keys()
        for name, values in expected.items():
            assert values.abs().max() > 0, f"{name} has no gradient, so the comparison would show nothing"
            torch.testing.assert_close(gradient[name], values, rtol=1e-3, atol=1e-3 * float(values.abs().max()))


class Part(Team):
    """Of a team, without its process group."""

    def __init__(self, place: int, size: int) -> None:
        self.place, self.size = place, size


@pytest.mark.parametrize("size", [2, 3])
def test_the_parts_of_a_row_are_all_of_it_once(size: int) -> None:
    whole = collate(MicroBatch((Row(tuple(samples()[:3])), Row(tuple(samples()[3:5])))), device=CPU)
    parts = [Part(place, size).part_of(whole) for place in range(size)]
    length = whole.ids_RL.shape[1]
    assert length % size, "parts of equal length would not show what is filled up"
    for name in ("ids_RL", "positions_RL"):
        joined = torch.cat([getattr(part, name) for part in parts], dim=1)
        assert torch.equal(joined[:, :length], getattr(whole, name))
        assert len({getattr(part, name).shape for part in parts}) == 1
    assert torch.equal(sum(part.trainable_BT.long() for part in parts), whole.trainable_BT.long())
    for part in parts:  # what predicts a token is the same token's embedding as in the whole row
        own = part.trainable_BT
        assert torch.equal(part.ids_RL.flatten()[part.source_BT[own]], whole.ids_RL.flatten()[whole.source_BT[own]])


def test_what_a_row_is_filled_up_with_is_seen_by_nothing_and_sees_itself() -> None:
    whole = collate(MicroBatch((Row(tuple(samples()[:3])),)), device=CPU)
    assert whole.attention_R1LL is not None
    filled = _filled_up(whole.attention_R1LL, 2)
    assert filled is not None
    length = whole.attention_R1LL.shape[-1]
    assert torch.equal(filled[..., :length, :length], whole.attention_R1LL)
    assert not filled[..., :length, length:].any()
    assert filled.any(-1).all()
    assert not torch.equal(filled, pad(whole.attention_R1LL, (0, 2, 0, 2)))
    assert _filled_up(None, 2) is None


@pytest.mark.slow
@pytest.mark.parametrize(("width", "backend"), [(1, None), (2, "mp")])
def test_an_engine_over_several_gpus_does_not_ask_ray_for_its_workers(width: int, backend: str | None) -> None:
    """In a placement group vLLM would, and ends with "bundle cannot have more than 1 GPU"."""
    settings = EngineSettings(model="m", dtype="bfloat16", device="cuda", max_tokens=64, tensor_parallel=width)
    assert engine_arguments(settings).get("distributed_executor_backend") == backend


@pytest.mark.parametrize(("overrides", "text"), [
    (("trainer.offload_parameters=true", "trainer.zero_stage=2"), "set it to 3"),
    (("trainer.ranks=3", "trainer.sequence_parallel=2"), "does not divide into teams"),
    (("trainer.ranks=3", "trainer.tensor_parallel=2", "trainer.zero_stage=2"), "does not divide into teams"),
    (("trainer.ranks=2", "trainer.tensor_parallel=2"), "zero_stage=3 is not made"),
    (("trainer.ranks=2", "trainer.tensor_parallel=2", "trainer.zero_stage=0"), "zero_stage=0 is not made"),
    (("trainer.ranks=4", "trainer.tensor_parallel=2", "trainer.zero_stage=1", "trainer.sequence_parallel=2"),
     "both divide the attention heads"),
    (("trainer.ranks=2", "trainer.tensor_parallel=2", "trainer.zero_stage=1", "model.lora.rank=4"), "for whole ones"),
])
def test_what_cannot_be_is_refused_with_the_configuration(overrides: tuple[str, ...], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        load_config(overrides=overrides)


def on_a_gpu(*overrides: str) -> TrainerMemory:
    return trainer_memory(load_config(overrides=("trainer.ranks=4", *overrides)), SEVEN, "cuda", "bfloat16")


def test_the_plan_has_offloaded_parameters_in_host_memory() -> None:
    kept, moved = on_a_gpu(), on_a_gpu("trainer.offload_parameters=true")
    share = 2 * -(-SEVEN.parameters // 4)  # bfloat16, over 4 ranks
    assert kept.resident - moved.resident == share
    assert moved.host("cuda", first=False) - kept.offload == share
    assert kept.gathered == moved.gathered > 0
    alone = ("trainer.ranks=1", "trainer.offload_parameters=true")
    assert on_a_gpu(*alone).gathered > 0  # one rank fetches them as well


def test_the_plan_divides_a_rows_activations_by_the_team_and_nothing_else() -> None:
    apart = ("trainer.share_prompt=false", "trainer.micro_batch_tokens=4096")
    whole, part = on_a_gpu(*apart), on_a_gpu(*apart, "trainer.sequence_parallel=2")
    assert whole.activations == 2 * part.activations
    assert whole.resident == part.resident
    shared = ("trainer.micro_batch_tokens=4096",)  # every rank has the mask of whole rows
    whole, part = on_a_gpu(*shared), on_a_gpu(*shared, "trainer.sequence_parallel=2")
    assert part.activations < whole.activations < 2 * part.activations
