"""PPO's critic: what it says of a token, what it learns from, and when. On real ranks: test_critic_ranks.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from value_samples import samples  # noqa: E402

from reasongym.algorithms.ppo import advantages, explained_variance  # noqa: E402
from reasongym.config import RunConfig, load_config  # noqa: E402
from reasongym.errors import CheckpointError, TrainerError  # noqa: E402
from reasongym.training import critic_step, learn  # noqa: E402
from reasongym.training.checkpoints import LoopState  # noqa: E402
from reasongym.training.critic import Critic, ValueHead, ValueSettings, value_share  # noqa: E402
from reasongym.training.experience import Experience  # noqa: E402
from reasongym.training.group import Launched  # noqa: E402
from reasongym.training.opening import run_checkpoints  # noqa: E402
from reasongym.training.rows import MicroBatch, Row, Sample, pack_rows  # noqa: E402
from reasongym.training.tensors import collate  # noqa: E402
from reasongym.training.zero_rank import StepTotals  # noqa: E402

pytestmark = pytest.mark.stack
CPU = torch.device("cpu")


@pytest.fixture
def critic() -> Critic:
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    body = LlamaModel(LlamaConfig(vocab_size=49_000, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                  num_attention_heads=4, num_key_value_heads=2)).double()
    return Critic(body, ValueHead(32, dtype=torch.float64))


def alone(sample: Sample) -> MicroBatch:
    return MicroBatch((Row((sample,)),))


def test_the_first_values_are_no_noise(critic: Critic) -> None:
    assert not critic(collate(alone(samples()[0]), device=CPU)).values_BT.any()


def test_a_value_is_of_what_stands_before_its_token_and_not_of_the_token(critic: Critic) -> None:
    """Reading the token itself would make the baseline depend on the action, and the gradient biased."""
    torch.nn.init.normal_(critic.head.weight)
    sample = samples()[0]
    other = replace(sample, token_ids=(*sample.token_ids[:3], 7, *sample.token_ids[4:]))
    first, second = (critic(collate(alone(s), device=CPU)).values_BT[0] for s in (sample, other))
    assert torch.equal(first[:4], second[:4])
    assert first[4] != second[4]


def test_neither_a_shared_prompt_nor_padding_changes_a_value(critic: Critic) -> None:
    torch.nn.init.normal_(critic.head.weight)
    together = MicroBatch(tuple(pack_rows(samples(), share_prompt=True, budget=10_000)))
    values_BT = critic(collate(together, device=CPU)).values_BT
    for values_T, sample in zip(values_BT, together.samples, strict=True):
        expected_T = critic(collate(alone(sample), device=CPU)).values_BT[0]
        torch.testing.assert_close(values_T[:len(expected_T)], expected_T, rtol=0, atol=1e-6)
        assert not values_T[len(expected_T):].any()


@pytest.mark.parametrize("poison", [1e4, math.nan])
def test_what_lies_under_the_mask_never_matters(critic: Critic, poison: float) -> None:
    torch.nn.init.normal_(critic.head.weight)
    settings = ValueSettings(denominator=40.0, value_clip=0.2)
    found = []
    for under in (0.0, poison):
        batch = collate(MicroBatch(tuple(pack_rows(samples(poison=under), share_prompt=True, budget=10_000))),
                        device=CPU)
        critic.zero_grad()
        share = value_share(batch, critic(batch), settings)
        share.loss.backward()
        found.append((share.loss.item(), share.sums, critic.head.weight.grad.clone()))
    (loss, sums, gradient), (other_loss, other_sums, other_gradient) = found
    assert (loss, sums) == (other_loss, other_sums)
    assert torch.equal(gradient, other_gradient)


def test_a_rank_without_samples_goes_backward_through_every_weight(critic: Critic) -> None:
    """Under ZeRO-3 the others would wait for it in the collective of any weight that it left out."""
    share = value_share(batch := collate(MicroBatch(()), device=CPU), critic(batch), ValueSettings(
        denominator=3.0, value_clip=None))
    share.loss.backward()
    assert share.loss == 0
    assert all(p.grad is not None and not p.grad.any() for p in critic.parameters())


def test_no_clip_is_no_bound(critic: Critic) -> None:
    torch.nn.init.constant_(critic.head.bias, 0.1)
    batch = collate(alone(samples()[0]), device=CPU)
    free, bounded = (value_share(batch, critic(batch), ValueSettings(denominator=1.0, value_clip=clip))
                     for clip in (None, 0.01))
    # V = R = .1 and V_old = .05 at four trainable tokens; held to .06, V is .04 off
    assert (free.loss.item(), free.sums["clipped"]) == (0.0, 0)
    assert bounded.loss.item() == pytest.approx(4 * 0.04**2 / 2, rel=1e-4)
    assert bounded.sums["clipped"] == 4


def test_explained_variance_is_1_for_a_seer_0_for_a_constant_and_below_for_worse() -> None:
    returns_BT, mask_BT = torch.tensor([[0.0, 1.0, 1e4], [2.0, 3.0, math.nan]]), torch.tensor([[True, True, False]] * 2)

    def found(values: list[list[float]]) -> float:
        return explained_variance(returns_BT=returns_BT, values_BT=torch.tensor(values), mask_BT=mask_BT)

    assert found([[0.0, 1.0, 5.0], [2.0, 3.0, 5.0]]) == 1
    assert found([[0.7, 0.7, 5.0], [0.7, 0.7, 5.0]]) == pytest.approx(0)
    # R - V = -3, -1, 1, 3 of variance 5, and R of 1.25
    assert found([[3.0, 2.0, 5.0], [1.0, 0.0, 5.0]]) == pytest.approx(-3)


def test_returns_that_differ_by_rounding_alone_explain_nothing() -> None:
    """A + V of a right answer is 1 but for the last bits: with all answers right, -1e30 would be reported."""
    values_BT = torch.randn(4, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) / 3
    mask_BT = torch.ones_like(values_BT, dtype=torch.bool)
    found = advantages(rewards_B=torch.ones(4), penalty_BT=torch.zeros_like(values_BT), values_BT=values_BT,
                       mask_BT=mask_BT, gamma=1.0, lam=1.0, whiten=False)
    assert found.returns_BT.unique().numel() > 1
    assert math.isnan(explained_variance(returns_BT=found.returns_BT, values_BT=values_BT, mask_BT=mask_BT))


class Journal:
    """Stands for the critic's ranks: writes down what it is asked, in order."""

    settings = SimpleNamespace(world=2, teams=2, share_prompt=True)

    def __init__(self, events: list[str], loss: float = 0.5) -> None:
        self.events, self.loss, self.trained = events, loss, list[tuple[list[Sample], ValueSettings, float]]()

    def launch(self, method: str, per_rank: Sequence[tuple[Any, ...]]) -> Launched:
        self.events.append("critic begins")
        _, loss, rate = per_rank[0]
        self.trained.append(([s for micros, *_ in per_rank for micro in micros for s in micro.samples], loss, rate))
        return Launched(method, [])

    def scatter(self, method: str, per_rank: Sequence[tuple[Any, ...]]) -> list[StepTotals]:
        return self.collect(self.launch(method, per_rank))

    def collect(self, launched: Launched) -> list[StepTotals]:
        self.events.append("critic ends")
        totals = StepTotals(loss=self.loss, grad_norm=1.0, mismatch=None, seconds=2.0,  # type: ignore[arg-type]
                            sums={"tokens": 10.0, "clipped": 1.0})
        return [totals, totals]


def config(*overrides: str) -> RunConfig:
    return load_config(overrides=["algorithm.name=ppo", "rollout.prompts_per_step=4", "steps=10", *overrides])


def grouped() -> list[list[Sample]]:
    found = samples()
    return [found[:3], found[3:6], found[6:], found[:3]]


def test_the_critic_learns_from_samples_whose_advantage_is_0_in_every_mini_batch_and_epoch() -> None:
    journal = Journal([])
    metrics = critic_step.improve_critic(journal, config("trainer.mini_batches=2", "trainer.epochs=3"),  # type: ignore[arg-type]
                                         grouped(), updates=0)
    # tokens less one masked a completion of two and more: 4+11+2 and 7+1+19, then 5+5+1 and 17 again
    assert [loss.denominator for _, loss, _ in journal.trained] == [44.0, 28.0] * 3
    assert [len(trained) for trained, *_ in journal.trained] == [6] * 6
    # the loss of a step is the sum over its 2 ranks; a step lasts as long as its slowest rank
    assert metrics == pytest.approx({
        "critic/loss": 1.0, "critic/grad_norm": 1.0, "critic/clip_share": 0.1, "critic/seconds": 12.0,
        "critic/value_mean": 0.05, "critic/explained_variance": 0.0}, abs=1e-12)


def test_a_mini_batch_without_samples_is_no_step_of_the_critic_either() -> None:
    journal = Journal([])
    asked = config("trainer.mini_batches=2", "trainer.schedule=linear")
    metrics = critic_step.improve_critic(journal, asked, [[], grouped()[0]], updates=0)  # type: ignore[arg-type]
    assert [len(trained) for trained, *_ in journal.trained] == [3]
    assert journal.trained[0][2] == pytest.approx(1e-5 * 19 / 20)  # the second of 20 updates, as the schedule counts
    assert metrics["critic/loss"] == 1.0  # not halved by the step that was not made
    assert critic_step.improve_critic(journal, asked, [[], []], updates=0) == {}  # type: ignore[arg-type]


def test_the_critic_has_its_own_peak_on_the_schedule_of_the_policy() -> None:
    journal = Journal([])
    asked = config("algorithm.critic.learning_rate=1e-3", "trainer.learning_rate=1e-6", "trainer.schedule=linear")
    critic_step.improve_critic(journal, asked, grouped(), updates=5)  # type: ignore[arg-type]
    # update 6 of 10 on a line from 1 to 0: 1 - 5 / 10
    assert journal.trained[0][2] == pytest.approx(0.5e-3)


def test_a_critic_that_diverges_stops_the_run_and_names_its_own_rate() -> None:
    with pytest.raises(TrainerError, match=r"algorithm\.critic\.learning_rate"):
        critic_step.improve_critic(Journal([], math.nan), config(), grouped(), updates=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("apart", "step", "expected"), [
    (True, 1, ["critic begins", "policy", "critic ends"]),
    (False, 1, ["critic begins", "critic ends", "policy"]),  # one device: side by side they would need both peaks
    (True, 0, ["critic begins", "critic ends"]),  # the warm-up
])
def test_policy_and_critic_work_at_the_same_time_only_on_different_devices_and_after_the_warm_up(
        monkeypatch: pytest.MonkeyPatch, apart: bool, step: int, expected: list[str]) -> None:
    events: list[str] = []
    session: Any = SimpleNamespace(config=config("algorithm.critic.warmup_steps=1"), critic=Journal(events), ranks=None,
                                   plan=SimpleNamespace(critic_apart=apart))
    monkeypatch.setattr(learn, "optimize", lambda *_, **__: events.append("policy") or {"train/loss": 0.0})
    learnt = learn.learn_from_groups(session, LoopState(step=step, updates=step), Experience(grouped()))
    assert events == expected
    assert ("train/loss" in learnt.metrics) == ("policy" in expected)
    assert learnt.metrics["critic/loss"] == 1.0


def test_a_checkpoint_of_another_number_of_critic_ranks_is_refused_before_anything_starts(tmp_path: Path) -> None:
    def checkpoints(ranks: int) -> Any:
        task: Any = SimpleNamespace(provenance=lambda: {"fingerprint": "rows"})
        folder: Any = SimpleNamespace(checkpoints=tmp_path)
        return run_checkpoints(config(f"algorithm.critic.ranks={ranks}"), folder, task)

    checkpoints(2).save(LoopState(step=1), lambda folder: None)
    assert checkpoints(2).load()[0].step == 1
    with pytest.raises(CheckpointError, match="critic_ranks: 2 for 1"):
        checkpoints(1).load()
