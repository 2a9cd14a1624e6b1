"""The settings of each algorithm: unknown keys are errors, and the defaults are its paper's or the field's.

Keys that an algorithm's `advantages` or `loss` takes have the names of those arguments (reasongym/algorithms/).
"""

from typing import get_args

from reasongym.config.policy_gradient import (
    AlgorithmConfig,
    CispoConfig,
    DapoConfig,
    DrGrpoConfig,
    GrpoConfig,
    GspoConfig,
    PpoConfig,
    ReinforceConfig,
    ReinforcePPBaselineConfig,
    ReinforcePPConfig,
    RlooConfig,
)
from reasongym.config.preference import DpoConfig, KtoConfig, OnlineDpoConfig, SftConfig

__all__ = ["ALGORITHM_CONFIGS", "AnyAlgorithmConfig"]

AnyAlgorithmConfig = (GrpoConfig | DrGrpoConfig | DapoConfig | GspoConfig | CispoConfig | RlooConfig | ReinforceConfig
                      | ReinforcePPConfig | ReinforcePPBaselineConfig | PpoConfig | DpoConfig | OnlineDpoConfig
                      | KtoConfig | SftConfig)

ALGORITHM_CONFIGS: dict[str, type[AlgorithmConfig]] = {
    model.model_fields["name"].default: model for model in get_args(AnyAlgorithmConfig)}
"""Name, as `--algorithm` takes it -> its settings."""
