"""Loss and gradient of our group algorithms against TRL's own: the same tensors through both.

TRL is no dependency: install it apart and put it on the path, or the benchmark says so and measures nothing.

    pip install --no-deps --target ~/trl_env trl accelerate
    PYTHONPATH=~/trl_env python -m benchmarks trl_losses

What runs of TRL is `GRPOTrainer._compute_loss`, unchanged, on an object made without `__init__` that has the attributes
which that method reads; only the model is left out: the log-probabilities that it would compute are the input. Weights
for the engine mismatch go in as TRL's `importance_sampling_ratio`. Not covered: TRL's advantages, which are made amid
its generation (unbiased std + 1e-4 where ours adds nothing).

The first table is of settings under which both say they compute the same. The second is of conventions that differ:
TRL's gradient over ours at each trainable token, and the factor that the convention predicts.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reasongym.algorithms import aggregation, cispo, dapo, dr_grpo, grpo, gspo

WIDTH = 12
CLIP = {"clip_low": 0.2, "clip_high": 0.28}
NARROW = {"clip_low": 0.05, "clip_high": 0.1}
CAPPED = {"cap": 1.28, "floor": 0.0, "cap_kind": "absolute"}
Batch = dict[str, Tensor]


class Case(NamedTuple):
    """One setting of both: ours by its module, knobs and aggregation; TRL's by `loss_type` and attributes."""

    name: str
    module: ModuleType
    knobs: dict[str, Any]
    kind: Any
    loss_type: str
    level: str = "token"
    delta: float | None = None


class Convention(NamedTuple):
    """A difference that stays. rows_each: of TRL's micro-batches. factor_BT: TRL's gradient over ours, predicted."""

    name: str
    case: Case
    batch: Batch
    rows_each: int
    factor_BT: Callable[[Batch], Tensor]


SAME = (
    Case("grpo", grpo, {**CLIP, "dual_clip": None}, "sequence", "grpo"),
    Case("grpo, dual clip", grpo, {**CLIP, "dual_clip": 2.0}, "sequence", "grpo", delta=2.0),
    Case("dapo", dapo, CLIP, "token", "dapo"),
    Case("bnpo, one micro-batch", dapo, CLIP, "token", "bnpo"),
    Case("dr_grpo", dr_grpo, CLIP, "constant", "dr_grpo"),
    Case("cispo, absolute cap", cispo, CAPPED, "token", "cispo"),
    Case("gspo", gspo, NARROW, "sequence", "grpo", level="sequence"),
    Case("gspo, mean over tokens", gspo, NARROW, "token", "dapo", level="sequence"),
)


def measure() -> dict[str, float]:
    """Prints both tables; the largest difference of loss and gradient of each row of the first, and of all factors."""
    if importlib.util.find_spec("trl") is None:
        print("trl_losses: TRL is not installed; the head of benchmarks/trl_losses.py says how to")
        return {}
    figures: dict[str, float] = {}
    print(f"| {'setting':24} | largest difference of loss | of gradient | tokens clipped |\n|---|---|---|---|")
    for case in SAME:
        batches = [_batch(seed, one_weight=case.level == "sequence") for seed in range(20)]
        pairs = [(_ours(case, batch), _trls(case, batch, rows_each=len(batch["mask_BT"]))) for batch in batches]
        loss = max(abs(ours[0] - theirs[0]) for ours, theirs in pairs)
        gradient = max(float((ours[1] - theirs[1]).abs().max()) for ours, theirs in pairs)
        clipped = sum(_clipped(case, batch) for batch in batches)
        print(f"| {case.name:24} | {loss:.1e} | {gradient:.1e} | {clipped} |")
        figures |= {f"{case.name}: loss": loss, f"{case.name}: gradient": gradient}
    print(f"\n| {'convention':44} | TRL's gradient over ours | predicted | largest difference |\n|---|---|---|---|")
    for convention in _conventions():
        found, predicted = _factors(convention)
        off = float((found - predicted).abs().max())
        ranges = [f"{float(factors.min()):.4f} to {float(factors.max()):.4f}" for factors in (found, predicted)]
        print(f"| {convention.name:44} | {' | '.join(ranges)} | {off:.1e} |")
        figures[f"{convention.name}: factor"] = off
    return figures


def _batch(seed: int, *, one_weight: bool = False, empty_row: bool = False) -> Batch:
    """Eight rows with ragged ends; ratios about e^-.6 to e^.6. one_weight: the same mismatch weight along a row."""
    generator = torch.Generator().manual_seed(seed)
    old_BT = -torch.rand(8, WIDTH, generator=generator, dtype=torch.float64) * 4
    drift_B1, drift_BT = (torch.randn(8, n, generator=generator, dtype=torch.float64) for n in (1, WIDTH))
    weights_BT = torch.rand(8, 1 if one_weight else WIDTH, generator=generator, dtype=torch.float64) + 0.5
    lengths_B = torch.randint(1, WIDTH + 1, (8,), generator=generator)
    lengths_B[0] = 0 if empty_row else WIDTH
    advantages_B = torch.randn(8, generator=generator, dtype=torch.float64)
    return {"logprobs_BT": old_BT + 0.2 * drift_B1 + 0.3 * drift_BT, "old_logprobs_BT": old_BT,
            "advantages_BT": advantages_B[:, None].expand(8, WIDTH), "weights_BT": weights_BT.expand(8, WIDTH),
            "mask_BT": torch.arange(WIDTH) < lengths_B[:, None]}


def _ours(case: Case, batch: Batch) -> tuple[float, Tensor]:
    logprobs_BT, mask_BT = batch["logprobs_BT"].clone().requires_grad_(), batch["mask_BT"]
    divisor = aggregation.denominator(num_tokens=int(mask_BT.sum()), num_sequences=int(mask_BT.any(-1).sum()),
                                      kind=case.kind, constant=WIDTH)
    losses_BT = case.module.loss(**{**batch, "logprobs_BT": logprobs_BT}, **case.knobs).loss_BT
    loss = aggregation.aggregate(losses_BT, mask_BT, kind=case.kind, denominator=divisor)
    return loss.item(), torch.autograd.grad(loss, logprobs_BT)[0]


def _clipped(case: Case, batch: Batch) -> int:
    return int(case.module.loss(**batch, **case.knobs).clipped_BT.sum())


def _trls(case: Case, batch: Batch, *, rows_each: int) -> tuple[float, Tensor]:
    """Sum of the shares of its micro-batches, which it divides by their number itself."""
    total, gradients = 0.0, []
    for start in range(0, len(batch["mask_BT"]), rows_each):
        part = {name: value[start:start + rows_each] for name, value in batch.items()}
        logprobs_BT = part["logprobs_BT"].clone().requires_grad_()
        loss = _trainer(case, logprobs_BT, micro_batches=len(batch["mask_BT"]) // rows_each)._compute_loss(None, {
            "prompt_ids": torch.zeros(rows_each, 1).long(), "prompt_mask": torch.ones(rows_each, 1).long(),
            "completion_ids": torch.zeros(rows_each, WIDTH).long(), "completion_mask": part["mask_BT"].long(),
            "advantages": part["advantages_BT"][:, 0], "old_per_token_logps": part["old_logprobs_BT"],
            "importance_sampling_ratio": part["weights_BT"], "num_items_in_batch": batch["mask_BT"].sum()})
        total += loss.item()
        gradients.append(torch.autograd.grad(loss, logprobs_BT)[0])
    return total, torch.cat(gradients)


def _trainer(case: Case, logprobs_BT: Tensor, *, micro_batches: int) -> Any:
    """A GRPOTrainer that has what `_compute_loss` reads, for one process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of each version of vLLM that it was not tested with
        from trl.trainer.grpo_trainer import GRPOTrainer  # type: ignore[import-not-found,unused-ignore]
    trainer = GRPOTrainer.__new__(GRPOTrainer)
    low, high = (case.knobs.get(name) for name in ("clip_low", "clip_high"))
    vars(trainer).update(
        _get_per_token_logps_and_entropies=lambda *_, **__: (logprobs_BT, torch.zeros_like(logprobs_BT), None),
        accelerator=SimpleNamespace(num_processes=1, gather=lambda x: x, reduce=lambda x, reduction: x),
        args=SimpleNamespace(delta=case.delta, steps_per_generation=micro_batches, use_bias_correction_kl=False),
        model=SimpleNamespace(training=True), _metrics={"train": defaultdict(list)},
        loss_type=case.loss_type, importance_sampling_level=case.level, beta=0.0,
        epsilon_low=low, epsilon_high=case.knobs["cap"] if high is None else high,
        max_completion_length=WIDTH, current_gradient_accumulation_steps=micro_batches, top_entropy_quantile=1.0,
        off_policy_mask_threshold=None, aux_loss_enabled=False, _entropy_bonus_enabled=False, use_vllm=True,
        vllm_importance_sampling_correction=True)
    return trainer


def _conventions() -> list[Convention]:
    cases = {case.name: case for case in SAME}
    empty, plain = _batch(1, empty_row=True), _batch(2)
    return [
        # TRL takes the mean over all rows, we over those that have a trainable token.
        Convention("grpo, one row of eight is empty", cases["grpo"], empty, 8, lambda _: torch.tensor(7 / 8)),
        Convention("dr_grpo, one row of eight is empty", cases["dr_grpo"], empty, 8, lambda _: torch.tensor(7 / 8)),
        # Each micro-batch is divided by its own tokens, and each counts the same.
        Convention("bnpo, two micro-batches", cases["bnpo, one micro-batch"], plain, 4, _own_tokens),
        # A weight goes through the ratio of the sequence to all of its tokens; ours stays with its own token.
        Convention("gspo, mismatch weights that vary in a row", cases["gspo"], plain, 8, _mean_weight),
    ]


def _own_tokens(batch: Batch) -> Tensor:
    """Tokens of the step / (micro-batches x tokens of the micro-batch)."""
    halves = batch["mask_BT"].sum(-1).view(2, 4).sum(-1).double()
    return (halves.sum() / (2 * halves)).repeat_interleave(4)[:, None]


def _mean_weight(batch: Batch) -> Tensor:
    """Mean weight of the row / weight of the token."""
    weights_BT = torch.where(batch["mask_BT"], batch["weights_BT"], 0.0)
    return weights_BT.sum(-1, keepdim=True) / batch["mask_BT"].sum(-1, keepdim=True) / batch["weights_BT"]


def _factors(convention: Convention) -> tuple[Tensor, Tensor]:
    """Found and predicted, at the tokens that have a gradient."""
    batch = convention.batch
    _, ours_BT = _ours(convention.case, batch)
    _, theirs_BT = _trls(convention.case, batch, rows_each=convention.rows_each)
    predicted_BT = convention.factor_BT(batch).double().expand_as(ours_BT)
    at_BT = ours_BT != 0
    assert torch.equal(at_BT, theirs_BT != 0)
    return (theirs_BT / ours_BT.where(at_BT, torch.ones_like(ours_BT)))[at_BT], predicted_BT[at_BT]
