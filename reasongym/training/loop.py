"""The training loop: sample, score, advantages, update, sync, log, save."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from reasongym.config import RunConfig
from reasongym.errors import ReasongymError
from reasongym.records import Group
from reasongym.tracking import write_rollouts
from reasongym.training.checkpoints import LoopState
from reasongym.training.collect import Sampling, check_errors, collect, group_metrics
from reasongym.training.curriculum import level_of, moved
from reasongym.training.evaluations import keep_evaluation
from reasongym.training.learn import learn_from_file, learn_from_groups, prepare
from reasongym.training.optimize import update_count
from reasongym.training.sampling import sample, watching
from reasongym.training.session import Interrupted, Session

__all__ = ["train"]


def train(session: Session, state: LoopState) -> LoopState:
    """Run from `state` to config.steps. What stops it while the ranks' weights stand still (SIGTERM, Ctrl-C, a failed
    engine, failing verifiers, a task without rows) is raised after the last whole step was saved."""
    config = session.config
    session.push_weights(state.version)
    while True:
        if evaluation_due(config, state):
            with saved_on_failure(session, state):
                state = evaluate(session, state)
        last = state.step >= config.steps
        if last or save_due(config, state):
            save(session, state)
        if last:
            return state
        state = train_step(session, state)


def train_step(session: Session, state: LoopState) -> LoopState:
    """One step: a batch of prompts from sampling to the engines' new weights, or a batch of a file."""
    config, started, step = session.config, time.monotonic(), state.step + 1
    with saved_on_failure(session, state):
        session.stop.check()
    groups: list[Group] = []
    values: dict[str, float] = {}
    if config.algorithm.samples:
        with saved_on_failure(session, state):
            batch = sample(session, state)
        groups, values = batch.groups, batch.metrics
        with ThreadPoolExecutor(1, "rollouts") as beside:
            written = beside.submit(write, session, step, groups)
            with saved_on_failure(session, state):
                check_errors(groups, config.scoring.max_error_share)
            session.release_engines()
            session.progress.phase(step, "updating", 0, 1)
            found = prepare(session, state, batch.chosen)
        with saved_on_failure(session, state):
            written.result()
        learnt = learn_from_groups(session, state, found)
    else:
        session.progress.phase(step, "updating", 0, 1)
        learnt = learn_from_file(session, state)
    values |= learnt.metrics
    position, again = session.place()
    state = replace(state, step=step, position=position, again=again, version=state.version + 1,
                    updates=state.updates + update_count(config), kl_coefficient=learnt.kl_coefficient)
    if config.task.curriculum.last:
        values["task/level"] = float(level_of(config, state))
        state = moved(config, state, groups)
    if config.algorithm.samples or evaluation_due(config, state):
        session.progress.phase(step, "sending weights", 0, 1)
        with saved_on_failure(session, state):
            values |= session.push_weights(state.version)
    record(session, step, values | {"step/seconds": time.monotonic() - started}, groups)
    return state


def evaluate(session: Session, state: LoopState) -> LoopState:
    """Held-out reward of the present policy; remembers the best."""
    evaluation = session.config.evaluation
    sampling = Sampling(evaluation.samples, session.config.rollout.max_new_tokens, evaluation.temperature,
                        session.config.seed)
    started = time.monotonic()
    with session.ahead.held() if session.ahead else contextlib.nullcontext():
        found = collect(session.engines, session.scoring, session.parts, session.held_out, sampling, step=0,
                        watch=watching(session, state.step, "evaluating"),
                        score_timeout_s=session.config.scoring.timeout_s)
    groups, seconds = found.groups, time.monotonic() - started
    check_errors(groups, session.config.scoring.max_error_share)
    values = group_metrics(groups, seconds, prefix="eval/")
    session.metrics.write(state.step, values)
    session.progress.evaluation(state.step, values)
    keep_evaluation(session, state.step, groups, (seconds - found.wait_seconds, seconds))
    reward, state = values["eval/reward/mean"], replace(state, evaluated_step=state.step)
    if state.best_reward is None or reward > state.best_reward:
        return replace(state, best_reward=reward, best_step=state.step)
    return state


def record(session: Session, step: int, values: dict[str, float], groups: list[Group]) -> None:
    """Numbers to disk and to the screen; a diagnosis when learning cannot happen."""
    session.metrics.write(step, values)
    session.loggers.answers(step, groups)
    session.progress.step(step, values)
    trouble = session.diagnosis.observe(step, values, groups) if groups else None
    if trouble:
        session.progress.banner(trouble)


def write(session: Session, step: int, groups: list[Group]) -> None:
    """The step's rollouts to disk, before the policy learns from them."""
    if session.config.tracking.rollouts:
        write_rollouts(session.folder, step, groups)


def save(session: Session, state: LoopState) -> None:
    """A checkpoint of `state`, unless it has one; the ranks hold exactly its weights between steps."""
    if state.step in session.checkpoints.steps():
        return
    session.progress.phase(state.step, "saving", 0, 1)
    session.checkpoints.save(state, session.save_weights)


@contextlib.contextmanager
def saved_on_failure(session: Session, state: LoopState) -> Iterator[None]:
    """Around work that leaves the ranks' weights as `state` has them."""
    try:
        yield
    except (Interrupted, ReasongymError):
        save(session, state)
        session.progress.note(f"step {state.step} is saved. Continue with: reasongym train --resume "
                              f"{session.folder.path}")
        raise


def evaluation_due(config: RunConfig, state: LoopState) -> bool:
    """Before the first step, every so many, and after the last; once each."""
    return state.evaluated_step != state.step and due(config.evaluation.every, state.step, config.steps)


def save_due(config: RunConfig, state: LoopState) -> bool:
    """Every so many steps, and where an evaluation has just found the best weights so far; not before the first."""
    every = config.checkpoint.every
    is_best = config.checkpoint.keep_best and state.step == state.best_step
    return every > 0 and state.step > 0 and (is_best or due(every, state.step, config.steps))


def due(every: int, step: int, last: int) -> bool:
    """Every so many steps, and after the last one; 0 is never."""
    return every > 0 and (step % every == 0 or step == last)
