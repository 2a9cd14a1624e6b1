"""What a step learns: from scored groups, or from a file, by the kind of algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from reasongym.algorithms import kl, kto
from reasongym.config.policy_gradient import PolicyGradientConfig, PpoConfig
from reasongym.config.preference import OnlineDpoConfig
from reasongym.records import Group
from reasongym.training.advantages import Groups
from reasongym.training.checkpoints import LoopState
from reasongym.training.critic_step import begin_critic, finish_critic, improve_critic
from reasongym.training.experience import Experience, experience, measured, pairs_of
from reasongym.training.measure import with_measured
from reasongym.training.optimize import optimize
from reasongym.training.rows import Sample
from reasongym.training.session import Session

__all__ = ["Learnt", "learn_from_file", "learn_from_groups", "prepare"]


class Learnt(NamedTuple):
    """The step's metrics, and the KL coefficient of the next one."""

    metrics: dict[str, float]
    kl_coefficient: float | None = None


def prepare(session: Session, state: LoopState, groups: Sequence[Group]) -> Experience:
    """What a batch of scored groups gives to learn from. The policy and its critic are asked, and not changed; the
    reference of online DPO may be renewed, which once more from the same policy changes nothing."""
    config, algorithm = session.config, session.config.algorithm
    if isinstance(algorithm, OnlineDpoConfig):
        # First, so that it is the policy of the step's beginning.
        if algorithm.reference_every and state.step and state.step % algorithm.reference_every == 0:
            session.ranks.call("renew_reference")
        return Experience(pairs_of(session.ranks, config, groups))
    return experience(session.ranks, session.critic, config, groups, kl_coefficient=_kl_coefficient(session, state))


def learn_from_groups(session: Session, state: LoopState, found: Experience) -> Learnt:
    """All optimizer steps that are made of what `prepare` has found."""
    if isinstance(session.config.algorithm, OnlineDpoConfig):
        number = sum(len(group) for group in found.groups) / 2
        return Learnt({"train/pairs": number} | optimize(session.ranks, session.config, found.groups,
                                                         updates=state.updates))
    return _policy_gradient(session, state, found)


def learn_from_file(session: Session, state: LoopState) -> Learnt:
    """All optimizer steps of the next batch of the file."""
    config, source = session.config, session.examples
    assert source is not None
    source.position = state.position
    groups = source.take(source.batch_size)
    if passed_over := source.passed_over():
        session.progress.note(passed_over)
    if config.algorithm.needs_reference:
        groups = measured(groups, "reference_logprobs", session.ranks, "reference_logprobs", config)
    point = (lambda samples: _reference_point(session, samples)) if config.algorithm.name == "kto" else None
    return Learnt(optimize(session.ranks, config, groups, updates=state.updates, reference_point=point))


def _policy_gradient(session: Session, state: LoopState, found: Experience) -> Learnt:
    algorithm = session.config.algorithm
    assert isinstance(algorithm, PolicyGradientConfig)
    values = _improve(session, state, found.groups)
    if found.kl is None:
        return Learnt(values)
    coefficient = _kl_coefficient(session, state)
    values |= {"train/kl": found.kl, "train/kl_coefficient": coefficient}
    if algorithm.kl.target is None:
        return Learnt(values)
    num_samples = sum(len(group) for group in found.groups)
    return Learnt(values, kl.adapted(coefficient, kl=found.kl, target=algorithm.kl.target,
                                     horizon=algorithm.kl.horizon, num_samples=num_samples))


def _kl_coefficient(session: Session, state: LoopState) -> float:
    algorithm = session.config.algorithm
    assert isinstance(algorithm, PolicyGradientConfig)
    return algorithm.kl.coefficient if state.kl_coefficient is None else state.kl_coefficient


def _improve(session: Session, state: LoopState, groups: Groups) -> dict[str, float]:
    """The policy's optimizer steps, and the critic's. Neither reads what the other writes: on different GPUs they are
    made at the same time."""
    config, algorithm, critic = session.config, session.config.algorithm, session.critic
    if not isinstance(algorithm, PpoConfig):
        return optimize(session.ranks, config, groups, updates=state.updates)
    assert critic is not None
    if state.step < algorithm.critic.warmup_steps:
        return improve_critic(critic, config, groups, updates=state.updates)
    if session.plan.critic_apart:
        begun = begin_critic(critic, config, groups, updates=state.updates)
        values = optimize(session.ranks, config, groups, updates=state.updates)
        return values | finish_critic(critic, begun)
    values = improve_critic(critic, config, groups, updates=state.updates)
    return values | optimize(session.ranks, config, groups, updates=state.updates)


def _reference_point(session: Session, samples: Sequence[Sample]) -> float:
    """KTO's z: completions behind prompts that are not theirs, under the present policy and the reference."""
    trainer, ranks = session.config.trainer, session.ranks
    others = kto.mismatched([sample.prompt_ids for sample in samples])
    crossed = [replace(samples[other], prompt_ids=sample.prompt_ids, columns={})
               for sample, other in zip(samples, others, strict=True)]
    for column, method in (("logprobs", "logprobs"), ("reference_logprobs", "reference_logprobs")):
        crossed = with_measured(crossed, column, ranks, method, budget=trainer.micro_batch_tokens)
    return kto.reference_point([
        sum(a - b for a, b, kept in zip(s.columns["logprobs"], s.columns["reference_logprobs"], s.mask, strict=True)
            if kept) for s in crossed])

