"""A run from its first check to its last file: plan, folder, session, loop, final model, report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from reasongym.config import RunConfig, dump_yaml
from reasongym.planning import Hardware, Plan, plan, shape_of
from reasongym.tasks import RewardPart, Task
from reasongym.tracking import Progress, RunFolder, environment, write_report
from reasongym.training.checkpoints import LoopState
from reasongym.training.loop import train
from reasongym.training.quiet import quiet_libraries
from reasongym.training.session import Interrupted, Session, open_session
from reasongym.training.task import make_task, reward_parts

__all__ = ["resume_run", "start_run"]

INTERRUPTED = 130  # exit status, as shells report Ctrl-C


def start_run(config: RunConfig, hardware: Hardware) -> int:
    """Train a new run. Returns the exit status. Everything that can be refused is, before the folder is made."""
    quiet_libraries()
    planned, task, parts = _prepare(config, hardware)
    name = config.name if config.name != "auto" else _name(config)
    config = config.model_copy(update={"name": name})
    folder = RunFolder(Path(config.runs) / name)
    folder.write_config(dump_yaml(config))
    folder.write_environment(environment(_facts(planned, task)))
    return _run(config, planned, folder, task, parts, resume=False, step=None)


def resume_run(config: RunConfig, hardware: Hardware, path: Path, *, step: int | None) -> int:
    """Continue the run in `path` from its newest checkpoint, or from that of `step`."""
    quiet_libraries()
    planned, task, parts = _prepare(config, hardware)
    folder = RunFolder(path, resume=True)
    folder.write_config(dump_yaml(config))
    return _run(config, planned, folder, task, parts, resume=True, step=step)


def _prepare(config: RunConfig, hardware: Hardware) -> tuple[Plan, Task, tuple[RewardPart, ...]]:
    from reasongym.models import model_folder

    model_folder(config.model.path)
    planned = plan(config, hardware, shape_of(config.model.path))
    task = make_task(config, training=True)
    task.example(config.task.split, 0, seed=config.seed)  # an unknown split or malformed row shows now
    return planned, task, reward_parts(config, task)


def _run(config: RunConfig, planned: Plan, folder: RunFolder, task: Task, parts: tuple[RewardPart, ...], *,
         resume: bool, step: int | None) -> int:
    with Progress(config.steps) as progress:
        _announce(progress, config, planned, folder, task)
        with open_session(config, planned, folder, progress, task=task, parts=parts) as session:
            try:
                with session.stop.listening():
                    state = _restore(session, step) if resume else LoopState()
                    train(session, state)
            except Interrupted:
                progress.note(f"interrupted; saved. Continue with: reasongym train --resume {folder.path}")
                write_report(folder.path)
                return INTERRUPTED
            progress.note("writing the final model and the report")
            _export(session)
        write_report(folder.path)
        progress.summary(folder.path, session.metrics.read(), task=config.task.name, model=config.model.path)
    return 0


def _restore(session: Session, step: int | None) -> LoopState:
    """The checkpoint's state on the ranks, and records on disk cut back to it."""
    state, path = session.checkpoints.load(step)
    session.ranks.call("load", str(path))
    session.checkpoints.discard_after(state.step)
    session.metrics.truncate_after(state.step)
    for file in session.folder.rollouts.glob("step-*.parquet"):
        if int(file.stem.removeprefix("step-")) > state.step:
            file.unlink()
    session.progress.note(f"resumed from step {state.step} ({path})")
    return state


def _export(session: Session) -> None:
    """final/: a Hugging Face folder, complete or absent."""
    scratch = session.folder.path / ".final.tmp"
    session.ranks.call("export", str(scratch), session.model)
    target = session.folder.final
    if target.exists():
        target.rename(session.folder.path / f".final.{time.time_ns()}.old")
    scratch.rename(target)


def _announce(progress: Progress, config: RunConfig, planned: Plan, folder: RunFolder, task: Task) -> None:
    rollout, source = config.rollout, task.provenance()
    progress.header({
        "task": f"{config.task.name} ({source['source']})",
        "model": config.model.path,
        "algorithm": f"{config.algorithm.name}, {config.steps} steps of {rollout.prompts_per_step} prompts x "
                     f"{rollout.group_size} answers",
        "placement": f"{config.trainer.ranks} ZeRO-{config.trainer.zero_stage} rank(s), {rollout.engines} engine(s), "
                     f"{planned.device}, {planned.dtype}, weights by {planned.transport}",
        "folder": folder.path,
    })
    if "substitute_for" in source:
        progress.banner(f"{source['substitute_for'].upper()} WAS NOT FOUND: training on {source['source']} instead.\n"
                        f"Give the real rows with --data or REASONGYM_DATA. Scores of this run are not "
                        f"{source['substitute_for']} scores.")
    for warning in planned.warnings:
        progress.note(f"warning: {warning}")


def _facts(planned: Plan, task: Task) -> dict[str, Any]:
    return {"device": planned.device, "dtype": planned.dtype, "transport": planned.transport,
            "dataset": dict(task.provenance())}


def _name(config: RunConfig) -> str:
    task = Path(config.task.name.partition(":")[0]).stem
    return f"{task}-{config.algorithm.name}-{time.strftime('%Y%m%d-%H%M%S')}"
