"""Settings of the algorithms that weigh sampled tokens by their advantage."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from reasongym.config.section import Fraction01, LearningRate, Natural, NonNegative, Positive, PositiveFloat, Section

__all__ = [
    "AlgorithmConfig",
    "CispoConfig",
    "CorrectionConfig",
    "CriticConfig",
    "DapoConfig",
    "DrGrpoConfig",
    "DynamicSamplingConfig",
    "GrpoConfig",
    "GspoConfig",
    "KLConfig",
    "PolicyGradientConfig",
    "PpoConfig",
    "ReinforceConfig",
    "ReinforcePPBaselineConfig",
    "ReinforcePPConfig",
    "RlooConfig",
]

Aggregation = Literal["token", "sequence", "constant"]


class KLConfig(Section):
    """Penalty towards the reference policy; a coefficient of 0 loads no reference policy at all."""

    coefficient: NonNegative = 0.0
    """Weight of the KL term."""
    estimator: Literal["k1", "k2", "k3", "k3+"] = "k3"
    """Estimate of the KL at a token; see GRPO. k1 has no gradient to follow and is refused in the loss."""
    place: Literal["loss", "reward"] = "loss"
    """A term of the loss, or taken off the reward of each token: see GRPO for groups of equal rewards."""
    target: PositiveFloat | None = None
    """Moves the coefficient after each step so that the KL a token comes to this (`place: reward` only)."""
    horizon: Positive = 10_000
    """Answers over which the coefficient adapts to `target`."""


class _RewardKLConfig(KLConfig):
    estimator: Literal["k1", "k2", "k3", "k3+"] = "k1"
    place: Literal["loss", "reward"] = "reward"


class _SquaredKLConfig(KLConfig):
    estimator: Literal["k1", "k2", "k3", "k3+"] = "k2"


class CorrectionConfig(Section):
    """Correction of the mismatch between the engine that sampled and the trainer (pi_trainer / pi_engine)."""

    kind: Literal["none", "token_truncate", "icepop", "sequence_mask"] = "token_truncate"
    """Weight of a token; see GRPO."""
    cap: Annotated[float, Field(gt=1)] = 2.0
    """Upper bound of the weight."""
    floor: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Lower bound for icepop and sequence_mask."""


class DynamicSamplingConfig(Section):
    """Prompts whose answers all earn the same raw reward are replaced by others."""

    enabled: bool = False
    """Sample on until the step has its number of groups that differ."""
    max_rounds: Positive = 10
    """Batches of prompts sampled in one step at most; the groups found by then are trained on."""


class _DynamicConfig(DynamicSamplingConfig):
    enabled: bool = True


class AlgorithmConfig(Section):
    """What all algorithms have."""

    samples: ClassVar[bool] = True
    """Whether it learns from answers sampled during the run."""

    name: str
    """The algorithm."""

    @property
    def needs_reference(self) -> bool:
        """Whether a reference policy is kept."""
        return False


class PolicyGradientConfig(AlgorithmConfig):
    """Algorithms that weigh the log-probability of sampled tokens by their advantage."""

    aggregation: Aggregation = "token"
    """Loss denominator: trainable tokens of the optimizer step; mean of per-sequence means; sequences x a constant."""
    aggregation_constant: Positive | None = None
    """For `constant`: tokens a sequence; the default is rollout.max_new_tokens."""
    entropy_coefficient: NonNegative = 0.0
    """Weight of the mean entropy, which is taken off the loss: above 0 it keeps the policy from becoming sure."""
    kl: KLConfig = KLConfig()
    correction: CorrectionConfig = CorrectionConfig()
    dynamic_sampling: DynamicSamplingConfig = DynamicSamplingConfig()

    @property
    def needs_reference(self) -> bool:
        return self.kl.coefficient > 0


class _Clipped(PolicyGradientConfig):
    clip_low: Annotated[float, Field(ge=0, lt=1)] = 0.2
    """The ratio is clipped at 1 minus this."""
    clip_high: NonNegative = 0.2
    """The ratio is clipped at 1 plus this."""


class _GroupStd(_Clipped):
    std: Literal["unbiased", "biased", "none"] = "unbiased"
    """What centred rewards are divided by: the deviation over G - 1, over G, or nothing."""


class GrpoConfig(_GroupStd):
    """Group relative policy optimization."""

    name: Literal["grpo"] = "grpo"
    """The algorithm."""
    dual_clip: Annotated[float, Field(gt=1)] | None = None
    """Bound of the loss of a token with negative advantage, as a multiple of it; off by default."""


class DrGrpoConfig(_Clipped):
    """GRPO done right: no deviation, no division by length."""

    name: Literal["dr_grpo"] = "dr_grpo"
    """The algorithm."""
    aggregation: Aggregation = "constant"


class DapoConfig(_GroupStd):
    """Decoupled clip and dynamic sampling."""

    name: Literal["dapo"] = "dapo"
    """The algorithm."""
    clip_high: NonNegative = 0.28
    overlong_buffer: Natural | None = None
    """Last tokens before rollout.max_new_tokens over which the penalty grows; by default a fifth of it, 0 turns the
    penalty off."""
    overlong_factor: NonNegative = 1.0
    """What an answer of full length loses."""
    dynamic_sampling: _DynamicConfig = _DynamicConfig()


class GspoConfig(_GroupStd):
    """Group sequence policy optimization."""

    name: Literal["gspo"] = "gspo"
    """The algorithm."""
    clip_low: Annotated[float, Field(ge=0, lt=1)] = 3e-4
    clip_high: NonNegative = 4e-4
    aggregation: Aggregation = "sequence"


class CispoConfig(PolicyGradientConfig):
    """Clipped importance sampling policy optimization."""

    name: Literal["cispo"] = "cispo"
    """The algorithm."""
    std: Literal["unbiased", "biased", "none"] = "unbiased"
    """What centred rewards are divided by: the deviation over G - 1, over G, or nothing."""
    cap_kind: Literal["above_one", "absolute"] = "above_one"
    """`above_one`: the ratio is held within 1 - floor and 1 + cap; `absolute`: within floor and cap themselves."""
    cap: PositiveFloat = 4.0
    """Upper bound of the ratio that weighs a token."""
    floor: Fraction01 | None = None
    """Lower bound, of the same kind; null leaves the ratio free below."""

    @model_validator(mode="after")
    def _first_pass_is_free(self) -> CispoConfig:
        if self.cap_kind == "absolute" and self.cap < 1:
            raise ValueError(f"algorithm.cap={self.cap} with cap_kind=absolute would scale down every gradient: give "
                             "the bound itself, such as 5, or cap_kind=above_one")
        return self


class RlooConfig(_Clipped):
    """REINFORCE leave-one-out."""

    name: Literal["rloo"] = "rloo"
    """The algorithm."""
    aggregation: Aggregation = "constant"


class ReinforceConfig(PolicyGradientConfig):
    """Plain REINFORCE."""

    name: Literal["reinforce"] = "reinforce"
    """The algorithm."""
    baseline: Literal["none", "batch", "group"] = "batch"
    """What is taken off a reward: nothing, the mean of the step, the mean of its group."""
    gamma: Fraction01 = 1.0
    """Discount of a later token's reward."""
    aggregation: Aggregation = "constant"


class ReinforcePPConfig(_Clipped):
    """REINFORCE++."""

    name: Literal["reinforce_pp"] = "reinforce_pp"
    """The algorithm."""
    gamma: Fraction01 = 1.0
    """Discount of a later token's reward."""
    kl: _RewardKLConfig = _RewardKLConfig()


class ReinforcePPBaselineConfig(_Clipped):
    """REINFORCE++ with the group's mean as baseline."""

    name: Literal["reinforce_pp_baseline"] = "reinforce_pp_baseline"
    """The algorithm."""
    gamma: Fraction01 = 1.0
    """Discount of a later token's reward."""
    kl: _SquaredKLConfig = _SquaredKLConfig()


class CriticConfig(Section):
    """The critic: a value head on the policy's base model, on ranks and with an optimizer of its own."""

    ranks: Positive = 1
    """Processes the critic is partitioned over."""
    learning_rate: LearningRate = 1e-5
    """At its peak; the schedule is the policy's."""
    warmup_steps: Natural = 0
    """Steps at the start in which the critic alone learns; fewer than `steps`."""
    max_grad_norm: PositiveFloat = 1.0
    """A larger gradient is scaled down to this norm."""


class PpoConfig(_Clipped):
    """Proximal policy optimization."""

    name: Literal["ppo"] = "ppo"
    """The algorithm."""
    gamma: Fraction01 = 1.0
    """Discount of a later token's reward."""
    lam: Fraction01 = 1.0
    """Of generalized advantage estimation: 1 trusts the rewards, 0 the critic."""
    whiten: bool = True
    """Advantages of a step are given mean 0 and deviation 1."""
    value_clip: PositiveFloat | None = 0.2
    """How far a value may move from its old one in the critic's loss; null is no bound."""
    kl: _RewardKLConfig = _RewardKLConfig()
    critic: CriticConfig = CriticConfig()
