"""From scored groups to samples with everything the loss needs of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reasongym.algorithms import online_dpo
from reasongym.config import RunConfig
from reasongym.config.policy_gradient import PolicyGradientConfig, PpoConfig
from reasongym.config.preference import OnlineDpoConfig
from reasongym.records import Group, Rollout
from reasongym.training.advantages import Groups, shaped_rewards, with_advantages
from reasongym.training.group import RankGroup
from reasongym.training.measure import with_measured
from reasongym.training.rows import Sample

__all__ = ["Experience", "experience", "pairs_of"]


class Experience(NamedTuple):
    """groups: the samples of each prompt. kl: mean KL a token that was taken off the rewards, where it was."""

    groups: Groups
    kl: float | None = None


def experience(ranks: RankGroup, critic: RankGroup | None, config: RunConfig, groups: Sequence[Group], *,
               kl_coefficient: float) -> Experience:
    """The samples of a policy-gradient step. A rollout whose verifier failed, and one without a trainable token, is
    left out of its group and of its statistics."""
    algorithm = config.algorithm
    assert isinstance(algorithm, PolicyGradientConfig)
    kept = [_trainable(group) for group in groups]
    samples = [[_sample(rollout) for rollout in rollouts] for rollouts in kept]
    rewards = [[rollout.reward or 0.0 for rollout in rollouts] for rollouts in kept]
    in_reward = algorithm.kl.place == "reward" and algorithm.kl.coefficient > 0
    kl = None
    if in_reward:
        samples = measured(samples, "old_logprobs", ranks, "logprobs", config)
        samples = measured(samples, "reference_logprobs", ranks, "reference_logprobs", config)
        kl = _mean_kl(samples)
    if isinstance(algorithm, PpoConfig):
        assert critic is not None
        samples = measured(samples, "old_values", critic, "values", config)
    shaped = shaped_rewards(algorithm, samples, rewards, max_new_tokens=config.rollout.max_new_tokens)
    return Experience(with_advantages(algorithm, samples, shaped, kl_coefficient=kl_coefficient if in_reward else 0.0),
                      kl)


def pairs_of(ranks: RankGroup, config: RunConfig, groups: Sequence[Group]) -> Groups:
    """The step's pairs for online DPO: of each prompt chosen, rejected, chosen, rejected, and so on."""
    algorithm = config.algorithm
    assert isinstance(algorithm, OnlineDpoConfig)
    found = []
    for rollouts in map(_trainable, groups):
        made = online_dpo.pairs([rollout.reward or 0.0 for rollout in rollouts], max_pairs=algorithm.max_pairs)
        found.append([_sample(rollouts[index]) for pair in made for index in pair])
    return measured(found, "reference_logprobs", ranks, "reference_logprobs", config)


def measured(groups: Groups, column: str, ranks: RankGroup, method: str, config: RunConfig) -> Groups:
    """`with_measured` over the samples of all groups at once."""
    samples = iter(with_measured([s for group in groups for s in group], column, ranks, method,
                                 budget=config.trainer.micro_batch_tokens))
    return [[next(samples) for _ in group] for group in groups]


def _trainable(group: Group) -> list[Rollout]:
    return [rollout for rollout in group.valid if rollout.completion.num_trainable]


def _sample(rollout: Rollout) -> Sample:
    completion = rollout.completion
    return Sample(prompt_ids=rollout.prompt.token_ids, token_ids=completion.token_ids, mask=completion.mask,
                  columns={"engine_logprobs": completion.logprobs})


def _mean_kl(groups: Groups) -> float:
    """The k1 estimate, which the controller of the coefficient aims at; an empty step has none."""
    differences = [old - reference for group in groups for sample in group
                   for old, reference, trained in zip(sample.columns["old_logprobs"],
                                                      sample.columns["reference_logprobs"], sample.mask, strict=True)
                   if trained]
    return sum(differences) / max(len(differences), 1)
