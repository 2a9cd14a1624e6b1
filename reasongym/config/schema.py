"""Everything a run can be told: frozen, typed, unknown keys refused. The defaults are the vetted settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from reasongym.config.algorithms import AnyAlgorithmConfig
from reasongym.config.policy_gradient import (
    GrpoConfig,
    KLConfig,
    PolicyGradientConfig,
    PpoConfig,
    ReinforceConfig,
    ReinforcePPConfig,
)
from reasongym.config.preference import KtoConfig, OfflineConfig, SftConfig
from reasongym.config.section import Positive, Section
from reasongym.config.sections import (
    CheckpointConfig,
    EvaluationConfig,
    ModelConfig,
    ResourcesConfig,
    RolloutConfig,
    ScoringConfig,
    SyncConfig,
    TaskConfig,
    TrackingConfig,
    TrainerConfig,
)

__all__ = ["RunConfig"]


class RunConfig(Section):
    """One training run."""

    name: str = "auto"
    """Folder under `runs`; `auto` makes one of task, algorithm and time."""
    runs: str = "runs"
    """Folder of all runs."""
    seed: int = 0
    """Of data order, sampling and initialisation."""
    steps: Positive = 100
    """Batches of prompts to train on."""
    task: TaskConfig = TaskConfig()
    model: ModelConfig = ModelConfig()
    algorithm: Annotated[AnyAlgorithmConfig, Field(discriminator="name")] = GrpoConfig()
    rollout: RolloutConfig = RolloutConfig()
    trainer: TrainerConfig = TrainerConfig()
    sync: SyncConfig = SyncConfig()
    scoring: ScoringConfig = ScoringConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    tracking: TrackingConfig = TrackingConfig()
    resources: ResourcesConfig = ResourcesConfig()

    @model_validator(mode="before")
    @classmethod
    def _name_the_algorithm(cls, tree: object) -> object:
        """A section that does not say which algorithm it is of is GRPO's."""
        if isinstance(tree, dict) and isinstance(tree.get("algorithm"), dict):
            return tree | {"algorithm": {"name": "grpo"} | tree["algorithm"]}
        return tree

    @model_validator(mode="after")
    def _parts_fit_together(self) -> RunConfig:
        trainer = self.trainer
        self._check_trainer()
        if self.algorithm.samples:
            self._check_sampling()
        updates = self.steps * trainer.mini_batches * trainer.epochs
        if trainer.warmup_steps >= updates:
            raise ValueError(f"trainer.warmup_steps={trainer.warmup_steps} leaves nothing of the run's {updates} "
                             "optimizer steps (steps x trainer.mini_batches x trainer.epochs)")
        self._check_curriculum()
        if isinstance(self.algorithm, PolicyGradientConfig):
            self._check_policy_gradient(self.algorithm)
        if isinstance(self.algorithm, OfflineConfig):
            self._check_offline(self.algorithm)
        return self

    def _check_trainer(self) -> None:
        trainer = self.trainer
        if trainer.offload_parameters and trainer.zero_stage != 3:
            raise ValueError(f"trainer.offload_parameters moves each rank's share of the weights, and "
                             f"trainer.zero_stage={trainer.zero_stage} does not share them out: set it to 3")
        if trainer.ranks % trainer.sequence_parallel:
            raise ValueError(f"trainer.ranks={trainer.ranks} does not divide into teams of "
                             f"trainer.sequence_parallel={trainer.sequence_parallel}")
        if trainer.tensor_parallel > 1:
            self._check_tensor_parallel()

    def _check_tensor_parallel(self) -> None:
        trainer, size = self.trainer, f"trainer.tensor_parallel={self.trainer.tensor_parallel}"
        if trainer.ranks % trainer.tensor_parallel:
            raise ValueError(f"trainer.ranks={trainer.ranks} does not divide into teams of {size}")
        if trainer.zero_stage not in (1, 2):
            raise ValueError(f"{size} shares out each layer, and trainer.zero_stage={trainer.zero_stage} is not made "
                             "for shares of it: set it to 1 or 2")
        if trainer.sequence_parallel > 1:
            raise ValueError(f"{size} and trainer.sequence_parallel={trainer.sequence_parallel} would both divide the "
                             "attention heads: set one of them to 1")
        if self.model.lora.rank:
            raise ValueError(f"{size} divides layers, and adapters of model.lora.rank={self.model.lora.rank} are made "
                             "for whole ones: set one of them to its default")

    def _check_curriculum(self) -> None:
        curriculum = self.task.curriculum
        if not curriculum.last:
            return
        if not self.algorithm.samples:
            raise ValueError(f"task.curriculum moves with the success of sampled answers, and {self.algorithm.name} "
                             "samples none")
        if curriculum.first > curriculum.last:
            raise ValueError(f"task.curriculum.first={curriculum.first} lies above last={curriculum.last}")
        if curriculum.lower_below >= curriculum.raise_above:
            raise ValueError(f"task.curriculum.lower_below={curriculum.lower_below} must lie below "
                             f"raise_above={curriculum.raise_above}, or levels would go up and down in turn")

    def _check_sampling(self) -> None:
        rollout, name, parts = self.rollout, self.algorithm.name, self.trainer.mini_batches
        single = isinstance(self.algorithm, PpoConfig | ReinforceConfig | ReinforcePPConfig)
        if rollout.group_size < 2 and not single:
            raise ValueError(f"rollout.group_size is {rollout.group_size}: {name} compares the answers to one prompt, "
                             "so a group needs at least 2")
        if rollout.group_size < 2 and getattr(self.algorithm, "baseline", "none") == "group":
            raise ValueError("rollout.group_size=1 with algorithm.baseline=group takes each reward off itself: nothing "
                             "is learnt; use baseline=batch, or more answers to a prompt")
        dynamic = getattr(self.algorithm, "dynamic_sampling", None)
        if rollout.group_size < 2 and dynamic is not None and dynamic.enabled:
            raise ValueError("rollout.group_size=1 with algorithm.dynamic_sampling.enabled=true finds no group that "
                             "differs; turn it off, or sample more answers to a prompt")
        if rollout.top_p < 1.0 or rollout.top_k > 0:
            raise ValueError(f"rollout.top_p={rollout.top_p}, top_k={rollout.top_k}: cutting the distribution biases "
                             "the policy ratio; train with top_p 1.0 and top_k 0")
        if rollout.oversample > 1 and rollout.mode == "async":
            raise ValueError(f"rollout.oversample={rollout.oversample} cuts a synchronous step's sampling short; with "
                             "rollout.mode=async nothing waits for the longest answers: set it to 1")
        if rollout.prompts_per_step % parts:
            raise ValueError(f"rollout.prompts_per_step={rollout.prompts_per_step} does not divide into "
                             f"trainer.mini_batches={parts} equal parts")

    def _check_policy_gradient(self, algorithm: PolicyGradientConfig) -> None:
        if algorithm.aggregation_constant and algorithm.aggregation != "constant":
            raise ValueError("algorithm.aggregation_constant is only used with algorithm.aggregation=constant")
        kl: KLConfig = algorithm.kl
        if kl.coefficient and kl.place == "loss" and kl.estimator == "k1":
            raise ValueError("algorithm.kl.estimator=k1 in the loss has a gradient of zero in expectation: no penalty "
                             "at all; use k2, k3 or k3+, or algorithm.kl.place=reward")
        if isinstance(algorithm, PpoConfig) and algorithm.critic.warmup_steps >= self.steps:
            raise ValueError(f"algorithm.critic.warmup_steps={algorithm.critic.warmup_steps} leaves the policy nothing "
                             f"of steps={self.steps}")
        buffer, limit = getattr(algorithm, "overlong_buffer", None) or 0, self.rollout.max_new_tokens
        if buffer > limit:
            raise ValueError(f"algorithm.overlong_buffer={buffer} is longer than the longest answer, "
                             f"rollout.max_new_tokens={limit}")
        if kl.target is not None and (kl.place != "reward" or not kl.coefficient):
            raise ValueError("algorithm.kl.target moves a coefficient above 0 with algorithm.kl.place=reward only")
        answers = self.rollout.prompts_per_step * self.rollout.group_size
        if kl.target is not None and kl.horizon <= 0.2 * answers:
            raise ValueError(f"algorithm.kl.horizon={kl.horizon} is too short for the {answers} answers of a step: one "
                             f"step could turn the coefficient's sign; give more than {0.2 * answers:.0f}")

    def _check_offline(self, algorithm: OfflineConfig) -> None:
        if isinstance(algorithm, KtoConfig) and not algorithm.desirable_weight + algorithm.undesirable_weight:
            raise ValueError("algorithm.desirable_weight and undesirable_weight are both 0: nothing is learnt")
        if algorithm.data is None and not isinstance(algorithm, SftConfig):
            raise ValueError(f"algorithm.data is not given: {algorithm.name} learns from a file of "
                             f"{'pairs' if algorithm.name == 'dpo' else 'labelled completions'}; "
                             "`reasongym pairs RUN` makes one from a run's answers")
        if algorithm.batch_size % self.trainer.mini_batches:
            raise ValueError(f"algorithm.batch_size={algorithm.batch_size} does not divide into "
                             f"trainer.mini_batches={self.trainer.mini_batches} equal parts")
