"""Settings of the algorithms that learn from pairs, labels and solutions."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from reasongym.config.policy_gradient import AlgorithmConfig, DynamicSamplingConfig
from reasongym.config.section import Natural, NonNegative, Positive, PositiveFloat

__all__ = ["DpoConfig", "KtoConfig", "OfflineConfig", "OnlineDpoConfig", "SftConfig"]


class _Preference(AlgorithmConfig):
    beta: PositiveFloat = 0.1
    """How dear it is to leave the reference policy."""

    @property
    def needs_reference(self) -> bool:
        return True


class _PairLoss(_Preference):
    loss_kind: Literal["sigmoid", "ipo"] = "sigmoid"
    """DPO's loss, or identity preference optimization."""
    length: Literal["sum", "mean"] = "sum"
    """Log-ratios of a completion summed, or averaged over its tokens."""
    label_smoothing: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Share of pairs that are taken to be labelled wrongly (conservative DPO)."""
    nll_coefficient: NonNegative = 0.0
    """Weight of the negative log-likelihood of the chosen answer."""


class OfflineConfig(AlgorithmConfig):
    """Algorithms that learn from a file."""

    samples: ClassVar[bool] = False

    data: str | None = None
    """JSONL or Parquet file, such as `reasongym pairs` writes."""
    batch_size: Positive = 32
    """Pairs or completions of a step."""


class DpoConfig(OfflineConfig, _PairLoss):
    """Direct preference optimization."""

    name: Literal["dpo"] = "dpo"
    """The algorithm."""


class OnlineDpoConfig(_PairLoss):
    """DPO on pairs of answers that the policy itself just gave."""

    name: Literal["online_dpo"] = "online_dpo"
    """The algorithm."""
    max_pairs: Positive = 4
    """Pairs made of one prompt's answers at most: the best with the worst, and so on inwards."""
    reference_every: Natural = 0
    """Steps after which the reference becomes the present policy; 0 keeps the first."""
    dynamic_sampling: DynamicSamplingConfig = DynamicSamplingConfig()


class KtoConfig(OfflineConfig, _Preference):
    """Kahneman-Tversky optimization."""

    name: Literal["kto"] = "kto"
    """The algorithm."""
    desirable_weight: NonNegative = 1.0
    """Weight of a wanted completion."""
    undesirable_weight: NonNegative = 1.0
    """Weight of an unwanted one."""


class SftConfig(OfflineConfig):
    """Supervised fine-tuning on worked solutions; without `data`, on the task's own."""

    name: Literal["sft"] = "sft"
    """The algorithm."""
    aggregation: Literal["token", "sequence"] = "token"
    """Loss denominator: trainable tokens of the optimizer step, or mean of per-sequence means."""
