"""A step's groups: sampled, scored and, under dynamic sampling, chosen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from reasongym.algorithms import dapo
from reasongym.errors import ScoringError, message
from reasongym.records import Group, Prompt
from reasongym.training.checkpoints import LoopState
from reasongym.training.collect import (
    Batch,
    Collected,
    Sampling,
    collect,
    dynamic_sampling,
    group_metrics,
    valid_rewards,
)
from reasongym.training.session import Session

__all__ = ["sample", "watching"]


def sample(session: Session, state: LoopState) -> Batch:
    """The groups of the step after `state`. Raises ScoringError when dynamic sampling finds no group that differs."""
    if session.config.rollout.mode == "async":
        return session.sampled_ahead(state).batch(watching(session, state.step + 1, "waiting for groups"))
    session.start_at(state)
    return _in_turn(session, state.step + 1)


def _in_turn(session: Session, step: int) -> Batch:
    """While the ranks wait."""
    started, wanted = time.monotonic(), session.config.rollout.prompts_per_step
    dynamic = dynamic_sampling(session.config)
    if dynamic is None:
        rounds = [_round(session, step, wanted, [])]
        groups = chosen = rounds[0].groups
        return Batch(groups, chosen, _metrics(rounds, started))
    rounds, groups, chosen = [], [], []
    while len(chosen) < wanted and len(rounds) < dynamic.max_rounds:
        rounds.append(_round(session, step, _missing(wanted, len(chosen), len(groups)), rounds))
        groups = [*groups, *rounds[-1].groups]
        chosen = [group for group in groups if dapo.informative(valid_rewards(group))]
    if not chosen:
        raise ScoringError(_all_flat(groups, len(rounds)))
    return Batch(groups, chosen[:wanted], _metrics(rounds, started) | {
        "rollout/rounds": float(len(rounds)), "rollout/chosen_groups": float(len(chosen[:wanted]))})


def _metrics(rounds: list[Collected], started: float) -> dict[str, float]:
    groups = [group for found in rounds for group in found.groups]
    answers = sum(len(group.rollouts) for group in groups)
    return group_metrics(groups, time.monotonic() - started) | {
        "rollout/scored_early_share": sum(found.num_scored_early for found in rounds) / max(answers, 1),
        "rollout/scoring_wait_seconds": sum(found.wait_seconds for found in rounds),
        "rollout/abandoned_groups": float(sum(len(found.abandoned) for found in rounds))}


def _missing(wanted: int, chosen: int, sampled: int) -> int:
    """Prompts of the next round: as many as make up what is missing at the yield so far, one full batch at most."""
    if not chosen:
        return wanted
    return min(wanted, math.ceil((wanted - chosen) * sampled / chosen))


def _round(session: Session, step: int, count: int, before: Sequence[Collected]) -> Collected:
    """`count` groups, of `rollout.oversample` times as many prompts. before: the step's earlier rounds, so that no seed
    is used twice in a step. Prompts whose groups were broken off come first when prompts are taken next."""
    config = session.config
    sampling = Sampling(config.rollout.group_size, config.rollout.max_new_tokens, config.rollout.temperature,
                        config.seed)
    placed = _take_prompts(session, math.ceil(count * config.rollout.oversample))
    found = collect(session.engines, session.scoring, session.parts, [prompt for prompt, _ in placed], sampling,
                    step=step, watch=watching(session, step, "sampling"), score_timeout_s=config.scoring.timeout_s,
                    first_row=sum(earlier.num_begun for earlier in before), enough=count)
    session.prompts.again = sorted([*session.prompts.again, *(placed[row][1] for row in found.abandoned)])
    return found


def _take_prompts(session: Session, count: int) -> list[tuple[Prompt, int]]:
    """The next prompts, in the order that the seed gives, with their positions."""
    rollout, source = session.config.rollout, session.prompts
    passed_over = source.too_long
    prompts = [source.take_one() for _ in range(count)]
    if source.too_long > passed_over:
        session.progress.note(f"{source.too_long - passed_over} prompts of more than {rollout.max_prompt_tokens} "
                              f"tokens were passed over (rollout.max_prompt_tokens)")
    return prompts


def _all_flat(groups: list[Group], rounds: int) -> str:
    rewards = sorted({reward for group in groups for reward in valid_rewards(group)})
    return message("no prompt has answers that differ in reward",
                   got=f"{len(groups)} prompts in {rounds} rounds, each with one reward for all its answers: "
                       f"{', '.join(f'{reward:g}' for reward in rewards[:5]) or 'none'}",
                   expected="some answers to be better than others to the same prompt",
                   remedy="easier prompts, a part of the reward that comes earlier (such as format), a higher "
                          "rollout.temperature, or algorithm.dynamic_sampling.enabled=false")


def watching(session: Session, step: int, what: str) -> Callable[[int, int], None]:
    """Shows progress, and breaks off where the run was told to stop."""
    def watch(done: int, total: int) -> None:
        session.stop.check()
        session.recover()
        session.progress.phase(step, what, done, total)

    return watch
