"""DPO, IPO and KTO here and in TRL on the same tensors: the largest differences in loss, gradient and implicit reward.

TRL's losses live inside its trainers' `_compute_loss`. That very code runs here, on a trainer that was never
initialised and holds the attributes it reads, with a model that returns the log-probabilities of the batch, float32.
TRL is no dependency: it is installed apart (`pip install --no-deps --target FOLDER trl==1.16.0 accelerate`) and FOLDER
put on PYTHONPATH; without it there is nothing to measure. `table()` is the Markdown of docs/algorithms/dpo.md, and
every row's last column says what had to be set or multiplied to make the two agree.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reasongym.algorithms import dpo, kto

SEEDS = range(20)
TOLERANCE = 1e-5
SMOOTHING, NLL = 0.1, 0.5


class Batch(NamedTuple):
    """Log-probabilities of the policy and the reference. Rows alternate chosen and rejected, or wanted and unwanted."""

    logprobs_BT: Tensor
    reference_BT: Tensor
    mask_BT: Tensor


class Result(NamedTuple):
    """rewards: mean implicit rewards of the chosen and the rejected, empty where the two mean other things by them."""

    loss: Tensor
    gradient_BT: Tensor
    rewards: list[float]


class Row(NamedTuple):
    """One line of the table. differences: of "loss", "gradient" and, where compared, "reward"; largest of all seeds."""

    name: str
    differences: dict[str, float]
    remark: str

    @property
    def agrees(self) -> bool:
        return max(self.differences.values()) < TOLERANCE


Compute = Callable[[Batch], Result]


def measure() -> dict[str, float]:
    """Prints the table; the largest difference of each kind, and what a reference point a micro-batch changes."""
    if importlib.util.find_spec("trl") is None:
        print("trl_preference: TRL is not on PYTHONPATH, see the head of benchmarks/trl_preference.py")
        return {}
    rows = [_row(name, ours, theirs, equal, remark) for name, ours, theirs, equal, remark in _cases()]
    print(table(rows))
    compared = rows[:-1]
    return {"agreeing": sum(row.agrees for row in compared), "compared": len(compared),
            **{f"largest_{kind}_difference": max(row.differences.get(kind, 0.0) for row in compared)
               for kind in ("loss", "gradient", "reward")},
            "kto_point_of_a_micro_batch_loss_difference": rows[-1].differences["loss"]}


def table(rows: list[Row]) -> str:
    """A row a case."""
    lines = ["| case | loss | gradient | reward | agrees | TRL's setting |", "|---" * 6 + "|"]
    for row in rows:
        cells = [f"{row.differences[kind]:.1e}" if kind in row.differences else ""
                 for kind in ("loss", "gradient", "reward")]
        lines.append(f"| {' | '.join([row.name, *cells, 'yes' if row.agrees else 'no', row.remark])} |")
    return "\n".join(lines)


def _cases() -> list[tuple[str, Compute, Compute, bool, str]]:
    """Name, ours, theirs, whether all completions have one length, remark. The last is the one that has to differ."""
    robust = -SMOOTHING / (1 - 2 * SMOOTHING)
    tokens = 6  # of every completion where the lengths are equal
    return [
        ("DPO, beta 0.1", _dpo(0.1), _trl_dpo(0.1, "sigmoid"), False, "`sigmoid`"),
        ("DPO, beta 2", _dpo(2.0), _trl_dpo(2.0, "sigmoid"), False, "`sigmoid`"),
        ("DPO, length mean, beta 2", _dpo(2.0, length="mean"), _trl_dpo(2.0, "sigmoid_norm"), False,
         "`sigmoid_norm`; its reported rewards stay sums"),
        ("DPO, label smoothing 0.1", _dpo(0.1, label_smoothing=SMOOTHING), _one_by_one(_trl_dpo(0.1, "aot_unpaired")),
         False, "`aot_unpaired` a pair at a time, `sigmoid` ignores the setting"),
        ("DPO, robust 0.1", _dpo(0.1, label_smoothing=robust), _trl_dpo(0.1, "robust"), False,
         "`robust` at e is label smoothing -e / (1 - 2 e)"),
        ("DPO and NLL 0.5, equal lengths", _dpo(0.1, nll_coefficient=NLL), _trl_dpo(0.1, "sigmoid", NLL), True,
         "`sigmoid`, `sft`"),
        ("DPO and NLL 0.5", _nll_by_token, _trl_dpo(0.1, "sigmoid", NLL), False,
         "ours with each pair's NLL times P \\|chosen\\| / sum of \\|chosen\\|: theirs is a mean over tokens"),
        ("IPO, length mean, beta 0.1", _dpo(0.1, loss_kind="ipo", length="mean"), _trl_dpo(0.1, "ipo"), False,
         "`ipo`; its reported rewards stay sums"),
        ("IPO, length sum, equal lengths n", _dpo(0.1, loss_kind="ipo", rewards=False),
         _times(tokens**2, _trl_dpo(0.1 * tokens, "ipo")), True, "n^2 times `ipo` at n beta"),
        ("KTO", _kto(1.0, 1.0), _trl_kto(1.0, 1.0), False, "`kto`, a step of one micro-batch"),
        ("KTO, weights 0.3 and 1.5", _kto(0.3, 1.5), _trl_kto(0.3, 1.5), False, "`kto`"),
        ("KTO, two micro-batches", _kto(1.0, 1.0), _halves(_trl_kto(1.0, 1.0)), False,
         "differs: theirs has a reference point a micro-batch, ours one a step"),
    ]


def _row(name: str, ours: Compute, theirs: Compute, equal: bool, remark: str) -> Row:
    worst: dict[str, float] = {}
    for seed in SEEDS:
        batch = _batch(seed, equal=equal)
        mine, other = ours(batch), theirs(batch)
        found = {"loss": float((mine.loss - other.loss).abs() / other.loss.abs().clamp(min=1)),
                 "gradient": float((mine.gradient_BT - other.gradient_BT).abs().max() / other.gradient_BT.abs().max())}
        if mine.rewards and other.rewards:
            found["reward"] = max(abs(a - b) for a, b in zip(mine.rewards, other.rewards, strict=True))
        worst = {kind: max(value, worst.get(kind, 0.0)) for kind, value in found.items()}
    return Row(name, worst, remark)


def _batch(seed: int, *, equal: bool) -> Batch:
    """8 rows of 4 to 12 trainable tokens with holes before and between them, or of 6 without; float32."""
    generator = torch.Generator().manual_seed(seed)
    logprobs, reference = (-torch.rand(8, 16, generator=generator) * 3 for _ in range(2))
    mask = torch.rand(8, 16, generator=generator) < 0.5
    mask[:, 4:8] = True
    return Batch(logprobs, reference, torch.arange(16).expand(8, 16) < 6 if equal else mask)


def _gradient(batch: Batch, compute: Callable[[Tensor], tuple[Tensor, list[float]]]) -> Result:
    leaf = batch.logprobs_BT.clone().requires_grad_()
    loss, rewards = compute(leaf)
    loss.backward()
    assert leaf.grad is not None
    return Result(loss.detach(), leaf.grad, rewards)


def _dpo(beta: float, *, rewards: bool = True, **options: Any) -> Compute:
    settings = {"loss_kind": "sigmoid", "length": "sum", "label_smoothing": 0.0, "nll_coefficient": 0.0, **options}

    def compute(batch: Batch) -> Result:
        def loss(leaf: Tensor) -> tuple[Tensor, list[float]]:
            found = dpo.loss(logprobs_BT=leaf, reference_logprobs_BT=batch.reference_BT, mask_BT=batch.mask_BT,
                             beta=beta, **settings)
            means = [found.chosen_reward_P.mean().item(), found.rejected_reward_P.mean().item()]
            return found.loss_P.mean(), means if rewards and settings["length"] == "sum" else []
        return _gradient(batch, loss)
    return compute


def _nll_by_token(batch: Batch) -> Result:
    """Our loss with each pair's coefficient scaled to its share of the chosen tokens."""
    lengths_P = batch.mask_BT[0::2].sum(-1)
    factors = (len(lengths_P) * lengths_P / lengths_P.sum()).tolist()
    return _mean([_dpo(0.1, nll_coefficient=NLL * factor)(pair)
                  for factor, pair in zip(factors, _cut(batch, 2), strict=True)])


def _kto(desirable_weight: float, undesirable_weight: float) -> Compute:
    def compute(batch: Batch) -> Result:
        def loss(leaf: Tensor) -> tuple[Tensor, list[float]]:
            policy_BT, reference_BT = (_mismatched(values) for values in (batch.logprobs_BT, batch.reference_BT))
            ratios_B = torch.where(batch.mask_BT, policy_BT - reference_BT, 0.0).double().sum(-1)
            found = kto.loss(logprobs_BT=leaf, reference_logprobs_BT=batch.reference_BT, mask_BT=batch.mask_BT,
                             desirable_B=_wanted(batch), reference_point=kto.reference_point(ratios_B.tolist()),
                             beta=0.1, desirable_weight=desirable_weight, undesirable_weight=undesirable_weight)
            return found.loss_B.mean(), [found.reward_B[0::2].mean().item(), found.reward_B[1::2].mean().item()]
        return _gradient(batch, loss)
    return compute


def _wanted(batch: Batch) -> Tensor:
    return torch.arange(len(batch.mask_BT)) % 2 == 0


def _mismatched(values_BT: Tensor) -> Tensor:
    """Stands for the same completions behind other prompts: other log-probabilities, some means of them negative."""
    return values_BT.flip(0) * 0.9


class _Replay(torch.nn.Module):
    """Answers with given log-probabilities, 0 where the label is -100, as TRL's fused head does.

    First token id 0: those of the batch; 1: those of the mismatched completions.
    """

    is_gradient_checkpointing = False

    def __init__(self, *answers: Tensor) -> None:
        super().__init__()
        self.answers = answers

    def forward(self, input_ids: Tensor, labels: Tensor, **_: object) -> SimpleNamespace:
        answer_BT = self.answers[int(input_ids[0, 0])]
        zeros = torch.zeros_like(answer_BT)
        return SimpleNamespace(log_probs=torch.where(labels[:, 1:] == -100, zeros, answer_BT), entropy=zeros,
                               mean_logits=zeros, is_top1=zeros.bool())


def _trainer(kind: type, policy: _Replay, reference: _Replay, **settings: Any) -> Any:
    """A trainer that was never initialised, with what `_compute_loss` reads of it."""
    def same(value: Tensor) -> Tensor:
        return value

    trainer = object.__new__(kind)
    accelerator = SimpleNamespace(device=torch.device("cpu"), gather=same, gather_for_metrics=same)
    vars(trainer).update(model=policy, ref_model=reference, accelerator=accelerator, aux_loss_enabled=False,
                         args=SimpleNamespace(gradient_checkpointing_kwargs=None), precompute_ref_logps=False,
                         _metrics={"train": defaultdict(list)}, _total_train_tokens=0, _tp_size=1, **settings)
    return trainer


def _inputs(mask_BT: Tensor, token: int) -> dict[str, Tensor]:
    """A prompt token before each row; all else TRL takes from log-probabilities."""
    mask = torch.nn.functional.pad(mask_BT.long(), (1, 0))
    return {"input_ids": torch.full_like(mask, token), "attention_mask": torch.ones_like(mask), "completion_mask": mask}


def _trl_dpo(beta: float, loss_type: str, nll: float | None = None) -> Compute:
    def compute(batch: Batch) -> Result:
        from trl.trainer.dpo_trainer import DPOTrainer

        halves = [*range(0, len(batch.mask_BT), 2), *range(1, len(batch.mask_BT), 2)]  # all chosen, then all rejected

        def loss(leaf: Tensor) -> tuple[Tensor, list[float]]:
            policy, reference = _Replay(leaf[halves]), _Replay(batch.reference_BT[halves])
            trainer = _trainer(DPOTrainer, policy, reference, beta=beta, f_divergence_type="reverse_kl", ld_alpha=None,
                               label_smoothing=SMOOTHING, use_weighting=False,
                               loss_types=[loss_type] if nll is None else [loss_type, "sft"],
                               loss_weights=[1.0] if nll is None else [1.0, nll])
            value = trainer._compute_loss(policy, _inputs(batch.mask_BT[halves], 0), False)
            return value, [trainer._metrics["train"][f"rewards/{side}"][0] for side in ("chosen", "rejected")]
        return _gradient(batch, loss)
    return compute


def _trl_kto(desirable_weight: float, undesirable_weight: float) -> Compute:
    def compute(batch: Batch) -> Result:
        from trl.trainer.kto_trainer import KTOTrainer

        def loss(leaf: Tensor) -> tuple[Tensor, list[float]]:
            policy = _Replay(leaf, _mismatched(batch.logprobs_BT))
            reference = _Replay(batch.reference_BT, _mismatched(batch.reference_BT))
            trainer = _trainer(KTOTrainer, policy, reference, beta=0.1, loss_type="kto", calculate_KL=True,
                               desirable_weight=desirable_weight, undesirable_weight=undesirable_weight)
            inputs = {"label": _wanted(batch), **_inputs(batch.mask_BT, 0),
                      **{f"KL_{name}": value for name, value in _inputs(batch.mask_BT, 1).items()}}
            value = trainer._compute_loss(policy, inputs, False)
            return value, [trainer._metrics["train"][f"rewards/{side}"][0] for side in ("chosen", "rejected")]
        return _gradient(batch, loss)
    return compute


def _one_by_one(compute: Compute) -> Compute:
    return lambda batch: _mean([compute(part) for part in _cut(batch, 2)])


def _halves(compute: Compute) -> Compute:
    return lambda batch: _mean([compute(part) for part in _cut(batch, len(batch.mask_BT) // 2)])


def _cut(batch: Batch, rows: int) -> list[Batch]:
    return [Batch(*parts) for parts in zip(*(tensor.split(rows) for tensor in batch), strict=True)]


def _mean(found: list[Result]) -> Result:
    """Of parts of one size: their losses' mean, with its gradient."""
    rewards = [sum(side) / len(found) for side in zip(*(part.rewards for part in found), strict=True)]
    return Result(torch.stack([part.loss for part in found]).mean(),
                  torch.cat([part.gradient_BT for part in found]) / len(found), rewards)


def _times(factor: float, compute: Compute) -> Compute:
    def scaled(batch: Batch) -> Result:
        found = compute(batch)
        return Result(factor * found.loss, factor * found.gradient_BT, [])
    return scaled
