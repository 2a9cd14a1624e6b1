"""Values that other trainers' own tests assert, held against our functions: ../shared/data/rl_numeric.

Rows are literal inputs and expected values, named by the callable they come from. Below, each callable that has a
counterpart here is mapped to it; rows of callables without one (padding, metric tables, objectives that are not ours)
are not read, and those of preference losses are in another file. Where our decision differs the mapping says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from reasongym.algorithms import grpo, ppo
from reasongym.algorithms.aggregation import aggregate
from reasongym.algorithms.correction import mismatch_weights
from reasongym.algorithms.kl import adapted, kl_BT
from reasongym.algorithms.logprobs import token_logprobs
from reasongym.algorithms.returns import discounted_returns, whiten

ROWS = Path(__file__).resolve().parents[2] / "shared" / "data" / "rl_numeric" / "reference_rows.jsonl"
pytestmark = [pytest.mark.stack,
              pytest.mark.skipif(not ROWS.is_file(), reason="../shared/data/rl_numeric is not on this machine")]

Pairs = Iterator[tuple[Any, Any]]
"""Ours, theirs: numbers or nested lists."""


def tensor(values: Any) -> torch.Tensor:
    """Nested lists in which "nan" stands for NaN."""
    return torch.tensor(json.loads(json.dumps(values).replace('"nan"', "NaN")), dtype=torch.float64)


def loo_groups(row: dict[str, Any]) -> dict[tuple[int, ...], list[int]]:
    """Indices of the valid rewards of each prompt."""
    prompts, _, valid = row["inputs"]["args"]
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, prompt in enumerate(prompts):
        if valid[index]:
            groups.setdefault(tuple(prompt), []).append(index)
    return groups


def group_statistics(row: dict[str, Any]) -> Pairs:
    """Their baseline is the mean of the others, and their std that of the others.

    With G rewards, r - mean(others) is G / (G - 1) times r - mean(all): so ours, scaled, is their baseline. The std of
    any set is what divides "none" into "unbiased"; where ours is exactly 0 theirs has to be 0 too.
    """
    rewards = row["inputs"]["args"][1]
    for indices in loo_groups(row).values():
        values = [rewards[i] for i in indices]
        centred = grpo.advantages(values, std="none")
        for position, index in enumerate(indices):
            theirs = row["expected"][index]
            others = values[:position] + values[position + 1:]
            if row["result_path"] == [1]:
                plain, scaled = (grpo.advantages(others, std=std) for std in ("none", "unbiased"))
                yield (abs(plain[0]) / abs(scaled[0]) if any(scaled) else 0.0), theirs
            elif others:
                yield rewards[index] - len(values) / len(others) * centred[position], theirs


def kl_of(row: dict[str, Any]) -> Pairs:
    """Ours clamps nothing, so rows with a clamp are another quantity."""
    given = row["inputs"]["kwargs"]
    if given["input_clamp_value"] is None and given["output_clamp_value"] is None:
        logprobs = tensor(given["logprobs"])
        yield kl_BT(logprobs_BT=logprobs, reference_logprobs_BT=tensor(given["logprobs_reference"]),
                    mask_BT=torch.ones_like(logprobs).bool(), estimator=given["kl_type"]).tolist(), row["expected"]


def masked_kl(row: dict[str, Any]) -> Pairs:
    """NaN at a masked position; "abs" is no estimator of ours, and only one entry of the result is asserted."""
    estimator = row["inputs"]["kwargs"]["kl_estimator_type"]
    logprobs, reference, mask = map(tensor, row["inputs"]["args"])
    if estimator != "abs":
        got = kl_BT(logprobs_BT=logprobs, reference_logprobs_BT=reference, mask_BT=mask > 0, estimator=estimator)
        yield got[tuple(row["result_path"][0])].item(), row["expected"]


def drift_metric(row: dict[str, Any]) -> Pairs:
    """Their third result is the mean of old - new, unclamped: k1 with the old policy first."""
    new, old, _ = map(tensor, row["inputs"]["args"])
    mask = tensor(row["inputs"]["kwargs"]["action_mask"]) > 0
    yield kl_BT(logprobs_BT=old, reference_logprobs_BT=new, mask_BT=mask, estimator="k1").item(), row["expected"]


def masked_mean(row: dict[str, Any]) -> Pairs:
    """By token over all, or the mean of row means. They count an empty row as 0 where ours leaves it out of the
    denominator, so the denominator given here is their number of rows."""
    values, mask = map(tensor, row["inputs"]["args"])
    by_row = row["inputs"]["kwargs"]["axis"] is not None
    kind, divisor = ("sequence", len(mask)) if by_row else ("token", int(mask.sum()))
    stack = values.view(-1, *mask.shape)
    got = [aggregate(matrix, mask > 0, kind=kind, denominator=divisor).item() for matrix in stack]
    yield got[row["result_path"][0]] if row["result_path"] else got, row["expected"]


def empty_mean(row: dict[str, Any]) -> Pairs:
    """Means of rows under an empty mask."""
    values, mask = (torch.atleast_2d(tensor(argument)) for argument in row["inputs"]["args"])
    yield [aggregate(losses[None], kept[None] > 0, kind="sequence", denominator=1.0).item()
           for losses, kept in zip(values, mask, strict=True)], row["expected"]


def plain_sum(row: dict[str, Any]) -> Pairs:
    losses = tensor(row["inputs"]["args"][0])
    yield aggregate(losses, torch.ones_like(losses).bool(), kind="token", denominator=1.0).item(), row["expected"]


def clipped(row: dict[str, Any]) -> Pairs:
    """First argument: old - new."""
    drift, advantages = (tensor(values)[:, None] for values in row["inputs"]["args"])
    given = row["inputs"]["kwargs"]
    ones = torch.ones_like(drift)
    got = grpo.loss(logprobs_BT=-drift, old_logprobs_BT=0 * ones, advantages_BT=advantages, mask_BT=ones.bool(),
                    weights_BT=ones, clip_low=given["eps_clip"], clip_high=given["eps_clip_high"],
                    dual_clip=given["eps_clip_c"])
    yield got.loss_BT[:, 0].tolist(), row["expected"]


def truncated_weights(row: dict[str, Any]) -> Pairs:
    given = row["inputs"]["kwargs"]
    weights = mismatch_weights(trainer_logprobs_BT=tensor(given["old_log_prob"]), kind="token_truncate", floor=0.0,
                               engine_logprobs_BT=tensor(given["rollout_log_prob"]), cap=given["rollout_is_threshold"],
                               mask_BT=tensor(given["response_mask"]) > 0).weights_BT
    yield weights[tuple(row["result_path"][-1])].item(), row["expected"]


def entropy(row: dict[str, Any]) -> Pairs:
    logits = tensor(row["inputs"]["args"][0])
    flat = logits.flatten(0, 1)
    got = token_logprobs(flat, torch.zeros(len(flat)).long(), weight_VD=torch.eye(flat.shape[1], dtype=flat.dtype),
                         temperature=1.0, chunk_tokens=4)
    yield got.entropy_N.view(logits.shape[:2])[tuple(row["result_path"][0])].item(), row["expected"]


def returns_of(row: dict[str, Any]) -> Pairs:
    """Their second result is the returns, before whitening."""
    given = row["inputs"]["kwargs"]
    yield discounted_returns(rewards_BT=tensor(given["token_level_rewards"]), gamma=given["gamma"],
                             mask_BT=tensor(given["response_mask"]) > 0).tolist(), row["expected"]


def controlled(row: dict[str, Any]) -> Pairs:
    """Their object after one update; the row holds what it was made with, its test the update: KL .2, 10 samples."""
    given = row["inputs"]["kwargs"]
    yield adapted(given["init_kl_coef"], kl=0.2, num_samples=10, target=given["target"],
                  horizon=given["horizon"]), row["expected"]


def spread_without_nan(row: dict[str, Any]) -> Pairs:
    """Ours divides by the std and does not show it: 3 and 5, whitened, are 2 / std apart. The first row is one number,
    which has none; NaN there is what a mask is for."""
    values = tensor(row["inputs"]["args"][0])[row["result_path"][0][0]][None]
    white = whiten(values_BT=values, mask_BT=~values.isnan(), std="unbiased")
    yield (values[0, 1] - values[0, 0]).item() / (white[0, 1] - white[0, 0]).item(), row["expected"]


def explained(row: dict[str, Any]) -> Pairs:
    """Theirs is made of moments. These two tokens have them: returns of mean 1 and mean square 5, residuals of mean
    1 - .5 and mean square 1.25."""
    given = row["inputs"]["args"][0]["all_mb_metrics"]
    if row["result_path"] == ["critic/explained_var"]:
        returns, residuals = tensor([[3.0, -1.0]]), tensor([[1.5, -0.5]])
        moments = [returns.mean(), returns.square().mean(), (returns - residuals).mean(), residuals.square().mean()]
        assert [[x.item()] for x in moments] == [given[name] for name in (
            "returns_mean", "returns_sq_mean", "values_mean", "residual_sq_mean")]
        yield ppo.explained_variance(returns_BT=returns, values_BT=returns - residuals,
                                     mask_BT=torch.ones(1, 2).bool()), row["expected"]


# Callable in the source -> our counterpart, how many of its rows there are, and how many have a pair to compare.
MAPPED: dict[str, tuple[Callable[[dict[str, Any]], Pairs], int, int]] = {
    "calculate_baseline_and_std_per_prompt": (group_statistics, 11, 11),
    "calculate_kl": (kl_of, 4, 2),
    "compute_approx_kl": (masked_kl, 3, 2),
    "PolicyLoss()": (drift_metric, 1, 1),
    "masked_mean": (empty_mean, 2, 2),
    "rl_utils.masked_mean": (masked_mean, 7, 7),
    "reduce_loss": (plain_sum, 1, 1),
    "compute_policy_loss": (clipped, 1, 1),
    "compute_rollout_correction_and_rejection_mask": (truncated_weights, 2, 2),
    "chunked_entropy_from_logits": (entropy, 1, 1),
    "compute_reinforce_plus_plus_outcome_advantage": (returns_of, 1, 1),
    "AdaptiveKLController": (controlled, 1, 1),
    "nanstd": (spread_without_nan, 1, 1),
    "_compute_critic_metrics": (explained, 4, 1),
}


def flat(value: Any) -> list[float]:
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [float(value)]


@pytest.mark.parametrize("name", MAPPED)
def test_published_value_differs_from_ours(name: str) -> None:
    compare, num_rows, num_compared = MAPPED[name]
    rows = [row for row in map(json.loads, ROWS.read_text(encoding="utf-8").splitlines()) if row["name"] == name]
    assert len(rows) == num_rows
    compared = 0
    for row in rows:
        tolerance = row["tol"]
        pairs = list(compare(row))
        compared += bool(pairs)
        for ours, theirs in pairs:
            assert flat(ours) == pytest.approx(flat(theirs), rel=tolerance.get("rtol", 1e-6),
                                               abs=tolerance.get("atol", 1e-12)), row["source"]
    assert compared == num_compared
