"""Trainer/engine mismatch: weights, what is rejected, and statistics that add up over micro-batches and ranks."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reasongym.algorithms import grpo
from reasongym.algorithms.aggregation import aggregate
from reasongym.algorithms.correction import (
    Correction,
    MismatchSums,
    combine,
    mismatch_statistics,
    mismatch_weights,
)

pytestmark = pytest.mark.stack

KINDS = ("none", "token_truncate", "icepop", "sequence_mask")
seeds = st.integers(0, 2**31)
relaxed = settings(deadline=None, max_examples=40)


def pair(*rows: list[float]) -> dict[str, Tensor]:
    """Log-probabilities whose ratios trainer / engine are the rows."""
    ratios = torch.tensor(rows, dtype=torch.float64)
    return {"trainer_logprobs_BT": ratios.log() - 3, "engine_logprobs_BT": torch.full_like(ratios, -3),
            "mask_BT": torch.ones_like(ratios, dtype=torch.bool)}


def random_pair(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    rows, width = torch.randint(1, 8, (2,), generator=generator).tolist()
    trainer = -torch.rand(rows, width, generator=generator, dtype=torch.float64) * 4
    return {"trainer_logprobs_BT": trainer,
            "engine_logprobs_BT": trainer + torch.randn(rows, width, generator=generator, dtype=torch.float64),
            "mask_BT": torch.rand(rows, width, generator=generator) < 0.7}


def weigh(data: dict[str, Tensor], kind: str, cap: float = 2.0, floor: float = 0.5) -> Correction:
    return mismatch_weights(**data, kind=kind, cap=cap, floor=floor)


def statistics(data: dict[str, Tensor], kind: str = "icepop") -> MismatchSums:
    return mismatch_statistics(**data, masked_BT=weigh(data, kind).masked_BT)


@pytest.mark.parametrize(("kind", "expected", "rejected"), [
    ("none", [1, 1, 1], [False, False, False]),
    ("token_truncate", [0.4, 0.8, 2.0], [False, False, False]),
    ("icepop", [0, 0.8, 0], [True, False, True]),
    # Geometric mean 1.92^(1/3) = 1.243 lies in [.5, 2].
    ("sequence_mask", [1, 1, 1], [False, False, False])])
def test_weights_of_each_kind(kind: str, expected: list[float], rejected: list[bool]) -> None:
    got = weigh(pair([0.4, 0.8, 6.0]), kind)
    assert got.weights_BT[0].tolist() == pytest.approx(expected)
    assert got.masked_BT[0].tolist() == rejected


@pytest.mark.parametrize(("cap", "floor", "kept"), [(1.25, 0.5, True), (1.24, 0.5, False), (9.0, 1.25, False)])
def test_sequence_mask_judges_the_geometric_mean(cap: float, floor: float, kept: bool) -> None:
    # (.4 x .8 x 6)^(1/3) = 1.2428930; the arithmetic mean is 2.4, the product 1.92. The second row's is 1.
    got = weigh(pair([0.4, 0.8, 6.0], [1.0, 1.0, 1.0]), "sequence_mask", cap, floor)
    assert got.weights_BT[0].tolist() == [float(kept)] * 3
    assert got.masked_BT[0].tolist() == [not kept] * 3


def test_bounds_are_inclusive() -> None:
    assert weigh(pair([1.0, 1.0]), "icepop", cap=1.0, floor=1.0).weights_BT.tolist() == [[1.0, 1.0]]


@relaxed
@given(seeds, st.sampled_from(KINDS))
def test_weights_agree_with_a_loop(seed: int, kind: str) -> None:
    data = random_pair(seed)
    got = weigh(data, kind)
    for b, mask in enumerate(data["mask_BT"].tolist()):
        logs = (data["trainer_logprobs_BT"][b] - data["engine_logprobs_BT"][b]).tolist()
        trainable = [x for x, keep in zip(logs, mask, strict=True) if keep]
        geometric = math.exp(sum(trainable) / max(len(trainable), 1))
        for t, keep in enumerate(mask):
            w = math.exp(logs[t])
            inside = {"icepop": 0.5 <= w <= 2, "sequence_mask": 0.5 <= geometric <= 2}.get(kind, True)
            value = {"token_truncate": min(w, 2.0), "icepop": w}.get(kind, 1.0)
            assert got.weights_BT[b, t].item() == pytest.approx(value if keep and inside else 0.0)
            assert got.masked_BT[b, t].item() is (keep and not inside)


@relaxed
@given(seeds, st.sampled_from(KINDS), st.sampled_from([math.nan, math.inf, -math.inf, 1e4]))
def test_nothing_under_the_mask_matters(seed: int, kind: str, poison: float) -> None:
    data = random_pair(seed)
    dirty = {name: value if name == "mask_BT" else torch.where(data["mask_BT"], value, poison)
             for name, value in data.items()}
    for one, other in zip(weigh(data, kind), weigh(dirty, kind), strict=True):
        assert torch.equal(one, other)
    assert statistics(data, kind) == statistics(dirty, kind)


def test_weights_carry_no_gradient() -> None:
    data = pair([0.4, 0.8, 6.0])
    data["trainer_logprobs_BT"].requires_grad_()
    assert not any(weigh(data, kind).weights_BT.requires_grad for kind in KINDS)


def test_rejected_token_keeps_its_place_in_the_denominator() -> None:
    # Two tokens of advantage 1, one rejected: -(1 + 0) / 2. A shrunken mask would give -1.
    data = pair([1.0, 6.0])
    tokens = grpo.loss(logprobs_BT=data["trainer_logprobs_BT"], old_logprobs_BT=data["trainer_logprobs_BT"],
                       advantages_BT=torch.ones(1, 2), mask_BT=data["mask_BT"],
                       weights_BT=weigh(data, "icepop").weights_BT, clip_low=0.2, clip_high=0.2, dual_clip=None)
    assert aggregate(tokens.loss_BT, data["mask_BT"], kind="token", denominator=2.0).item() == -0.5


def test_metrics_of_three_known_ratios() -> None:
    metrics = statistics(pair([0.4, 0.8, 6.0])).metrics()
    logs = [math.log(w) for w in (0.4, 0.8, 6.0)]
    assert metrics["mismatch/ess"] == pytest.approx(7.2**2 / (3 * (0.16 + 0.64 + 36)))  # .4695652
    assert metrics["mismatch/ess"] == pytest.approx(0.4695652, abs=1e-7)
    assert metrics["mismatch/max_ratio"] == pytest.approx(6.0)
    assert metrics["mismatch/masked_share"] == pytest.approx(2 / 3)
    assert metrics["mismatch/mean_abs_logprob_diff"] == pytest.approx(sum(map(abs, logs)) / 3)
    assert metrics["mismatch/kl"] == pytest.approx((7.2 - 3 - sum(logs)) / 3)  # mean of w - 1 - log w


def test_kl_is_of_the_engine_against_the_trainer() -> None:
    # Engine (.5, .5), trainer (.9, .1): sampled in the engine's proportions, half the tokens have w 1.8, half .2.
    # KL(engine || trainer) = .5 ln(.5/.9) + .5 ln(.5/.1) = .5108; the other way round is .3681.
    metrics = statistics(pair([1.8, 0.2])).metrics()
    assert metrics["mismatch/kl"] == pytest.approx(0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1))
    assert metrics["mismatch/kl"] == pytest.approx(0.5108256, abs=1e-7)


def test_equal_policies_show_no_mismatch() -> None:
    metrics = statistics(pair([1.0, 1.0], [1.0, 1.0])).metrics()
    assert metrics == {"mismatch/kl": 0.0, "mismatch/mean_abs_logprob_diff": 0.0, "mismatch/ess": 1.0,
                       "mismatch/max_ratio": 1.0, "mismatch/masked_share": 0.0}


@relaxed
@given(seeds, st.sampled_from(KINDS))
def test_statistics_agree_with_a_loop(seed: int, kind: str) -> None:
    data = random_pair(seed)
    logs = (data["trainer_logprobs_BT"] - data["engine_logprobs_BT"])[data["mask_BT"]].tolist()
    weights = [math.exp(x) for x in logs]
    slow = MismatchSums(
        num_tokens=len(logs), sum_abs_diff=sum(map(abs, logs)),
        sum_kl=sum(w - 1 - x for w, x in zip(weights, logs, strict=True)), sum_weight=sum(weights),
        sum_weight_sq=sum(w * w for w in weights), max_ratio=max(weights, default=0.0),
        num_masked=int(weigh(data, kind).masked_BT.sum()))
    assert statistics(data, kind) == pytest.approx(slow, abs=1e-9)


@relaxed
@given(seeds, st.integers(1, 4))
def test_statistics_of_parts_add_up_to_those_of_the_whole(seed: int, rows_each: int) -> None:
    data = random_pair(seed)
    total = MismatchSums()
    for start in range(0, len(data["mask_BT"]), rows_each):
        total = combine(total, statistics({name: value[start:start + rows_each] for name, value in data.items()}))
    assert total == pytest.approx(statistics(data))
    assert isinstance(total, MismatchSums)


def test_absurd_ratios_stay_finite_and_are_still_seen() -> None:
    data = {"trainer_logprobs_BT": torch.tensor([[0.0, 0.0]]), "engine_logprobs_BT": torch.tensor([[-math.inf, 0.0]]),
            "mask_BT": torch.ones(1, 2, dtype=torch.bool)}
    metrics = statistics(data).metrics()
    json.dumps(metrics, allow_nan=False)
    assert metrics["mismatch/ess"] == pytest.approx(0.5)  # one of two tokens holds all the weight
    assert metrics["mismatch/max_ratio"] == pytest.approx(math.exp(300))
    assert weigh(data, "token_truncate").weights_BT.tolist() == [[2.0, 1.0]]
    assert weigh(data, "icepop").weights_BT.tolist() == [[0.0, 1.0]]


def test_no_tokens_give_no_metrics_instead_of_zeros() -> None:
    empty = {name: value[:, :0] for name, value in pair([1.0]).items()}
    assert statistics(empty) == MismatchSums()
    assert statistics(empty).metrics() == {}
    assert weigh({name: value & False if name == "mask_BT" else value for name, value in pair([9.0]).items()},
                 "sequence_mask").masked_BT.tolist() == [[False]]
