"""A run from its first check to its last file: plan, folder, session, loop, final model, report."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from reasongym.config import RunConfig, dump_yaml
from reasongym.errors import ConfigError, EngineError, SyncError, TrainerError, message
from reasongym.planning import Hardware, Plan, plan, shape_of
from reasongym.planning.placement import num_critic_ranks, num_engines
from reasongym.tasks import RewardPart, Task
from reasongym.tracking import Progress, RunFolder, environment, read_metrics, write_report
from reasongym.tracking.ending import failure_recorded, write_ending
from reasongym.tracking.loggers import Loggers, RunInfo, check_loggers
from reasongym.training.checkpoints import LoopState, full_disk_error
from reasongym.training.curriculum import check_levels
from reasongym.training.evaluations import check_store, discard_evaluations_after
from reasongym.training.garbage import settled
from reasongym.training.loop import train
from reasongym.training.lora import check_lora
from reasongym.training.offline import OfflineSource, offline_source
from reasongym.training.opening import open_session, run_checkpoints
from reasongym.training.overlap import overlap_facts, overlap_note
from reasongym.training.quiet import quiet_libraries
from reasongym.training.session import Interrupted, Session
from reasongym.training.task import make_task, reward_parts
from reasongym.training.tensor_parallel import check_layers

__all__ = ["resume_run", "start_run"]

LOCK_TRIES = 10
INTERRUPTED = 130  # exit status, as shells report Ctrl-C


class Job(NamedTuple):
    """What a run is made of, checked. examples: of an algorithm that learns from a file."""

    plan: Plan
    task: Task
    parts: tuple[RewardPart, ...]
    examples: OfflineSource | None


def start_run(config: RunConfig, hardware: Hardware) -> int:
    """Train a new run. Returns the exit status. Everything that can be refused is, before the folder is made."""
    quiet_libraries()
    job = _prepare(config, hardware)
    name = config.name if config.name != "auto" else _name(config)
    config = config.model_copy(update={"name": name})
    folder = RunFolder(Path(config.runs) / name)
    with _alone(folder):
        folder.write_config(dump_yaml(config))
        overlap = overlap_facts(config, job.task)
        folder.write_environment(environment({"run_id": uuid.uuid4().hex, **_facts(job), **overlap}))
        return _run(config, job, folder, saved=None, told=overlap_note(overlap))


def resume_run(config: RunConfig, hardware: Hardware, path: Path, *, step: int | None) -> int:
    """Continue the run in `path` from its newest checkpoint, or from that of `step`."""
    quiet_libraries()
    job = _prepare(config, hardware)
    folder = RunFolder(path, resume=True)
    with _alone(folder):
        saved = _saved(config, job, folder, step)  # before anything is started or written
        folder.write_config(dump_yaml(config))
        return _run(config, job, folder, saved=saved)


@contextlib.contextmanager
def _alone(folder: RunFolder) -> Iterator[None]:
    """One process a run's folder: a second one that resumed it would delete what the first still writes."""
    with (folder.path / ".lock").open("w") as lock:
        for _ in range(LOCK_TRIES):  # `reasongym runs` takes it for an instant, to see who is there
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.1)
        else:
            raise ConfigError(message(f"the run {folder.path} is going on", got="another process that trains in it",
                                      expected="a run that has ended", remedy="stop that process first, or wait"))
        with failure_recorded(folder.path):
            yield


def _prepare(config: RunConfig, hardware: Hardware) -> Job:
    from reasongym.models import load_tokenizer, model_folder

    check_loggers(config.tracking.loggers)
    check_store(config.evaluation.store)
    model = model_folder(config.model.path)
    check_lora(config.model.lora, model, trust_remote_code=config.model.trust_remote_code)
    check_layers(model, config.trainer.tensor_parallel, trust_remote_code=config.model.trust_remote_code)
    planned = plan(config, hardware, shape_of(config.model.path))
    task = make_task(config, training=True)
    task.example(config.task.split, 0, seed=config.seed)  # an unknown split or malformed row shows now
    check_levels(config)
    parts = reward_parts(config, task)
    if config.algorithm.samples:
        return Job(planned, task, parts, None)
    tokenizer = load_tokenizer(model, trust_remote_code=config.model.trust_remote_code)
    return Job(planned, task, parts, offline_source(config, task, tokenizer))


def _run(config: RunConfig, job: Job, folder: RunFolder, *, saved: tuple[LoopState, Path | None] | None,
         told: str = "") -> int:
    with Progress(config.steps) as progress:
        _announce(progress, config, job, folder)
        if told:
            progress.note(told)
        for left in reversed(range(config.resources.max_restarts + 1)):
            began = time.time()
            try:
                return _attempt(config, job, folder, progress, saved=saved)
            except (EngineError, SyncError, TrainerError) as error:
                # A fault that comes before anything was learned would come again.
                if not left or not _has_learned(folder, since=began):
                    raise
                progress.banner(f"{error}\n\nThe run begins anew from its newest checkpoint "
                                f"(resources.max_restarts: {left} left).")
            saved = _saved(config, job, folder, None)
    raise AssertionError("the last attempt returns or raises")


def _attempt(config: RunConfig, job: Job, folder: RunFolder, progress: Progress, *,
             saved: tuple[LoopState, Path | None] | None) -> int:
    with (_loggers(config, folder, progress) as loggers,
          open_session(config, job.plan, folder, progress, loggers, task=job.task, parts=job.parts,
                       examples=job.examples) as session):
        try:
            with session.stop.listening(), settled():
                state = _restore(session, *saved) if saved else LoopState()
                train(session, state)
        except Interrupted:
            loggers.outcome = "stopped"
            write_ending(folder.path, "stopped")
            session.retire_engines()
            write_report(folder.path)
            return INTERRUPTED
        session.retire_engines()
        progress.note("writing the final model and the report")
        _export(session)
    write_ending(folder.path, "finished")
    write_report(folder.path)
    progress.summary(folder.path, task=config.task.name, model=config.model.path)
    return 0


def _loggers(config: RunConfig, folder: RunFolder, progress: Progress) -> Loggers:
    t = config.tracking
    run = RunInfo(name=folder.name, folder=str(folder.path.resolve()), config=config.model_dump(mode="json"),
                  project=t.project, prometheus_host=t.prometheus_host, prometheus_port=t.prometheus_port)
    return Loggers(t.loggers, run, timeout_s=t.logger_timeout_s, answers=t.answers, tell=progress.note)


def _saved(config: RunConfig, job: Job, folder: RunFolder, step: int | None) -> tuple[LoopState, Path | None]:
    """Where to go on: a checkpoint, or the beginning when the run ended before its first one was written."""
    checkpoints = run_checkpoints(config, folder, job.task, job.examples)
    none_was_due = not config.checkpoint.every or _steps_done(folder) <= config.checkpoint.every
    if step is None and not checkpoints.steps() and none_was_due:
        return LoopState(), None
    return checkpoints.load(step)


def _steps_done(folder: RunFolder) -> int:
    return max((row["step"] for row in read_metrics(folder.metrics)), default=0)


def _has_learned(folder: RunFolder, *, since: float) -> bool:
    """Whether a step was made since then (seconds since 1970): which one does not tell, for they are made again."""
    return any("step/seconds" in row and row["time"] >= since for row in read_metrics(folder.metrics))


def _restore(session: Session, state: LoopState, path: Path | None) -> LoopState:
    """The checkpoint's state on the ranks, and records on disk cut back to it."""
    if path:
        session.load_weights(str(path))
    session.checkpoints.discard_after(state.step)
    session.metrics.truncate_after(state.step if path else -1)
    for file in session.folder.rollouts.glob("step-*.parquet"):
        if int(file.stem.removeprefix("step-")) > state.step:
            file.unlink()
    discard_evaluations_after(session, state.step)
    session.progress.note(f"resumed from step {state.step} ({path or 'the run ended before its first checkpoint'})")
    return state


def _export(session: Session) -> None:
    """final/: a Hugging Face folder, complete or absent."""
    target = session.folder.final
    scratch, aside = (session.folder.path / f".final.{name}" for name in ("tmp", "old"))
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        session.ranks.call("export", str(scratch.absolute()), session.model)
    except TrainerError as error:
        full = full_disk_error(session.folder.path, "the final model", error)
        if full is None:
            raise
        raise full from error
    if target.exists():
        target.rename(aside)
    scratch.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def _announce(progress: Progress, config: RunConfig, job: Job, folder: RunFolder) -> None:
    planned, source = job.plan, job.task.provenance()
    progress.header({
        "task": f"{config.task.name} ({source['source']})",
        "model": config.model.path,
        "algorithm": f"{config.algorithm.name}, {config.steps} steps of {_batch(config, job.examples)}",
        "placement": f"{_counted(config)}, {planned.device}, {planned.dtype}"
                     f"{f', weights by {planned.transport}' if num_engines(config) else ''}",
        "folder": folder.path,
    })
    if "substitute_for" in source:
        progress.banner(f"{source['substitute_for'].upper()} WAS NOT FOUND: training on {source['source']} instead.\n"
                        f"Give the real rows with --data or REASONGYM_DATA. Scores of this run are not "
                        f"{source['substitute_for']} scores.")
    for warning in planned.warnings:
        progress.note(f"warning: {warning}")
    for note in job.examples.notes if job.examples else ():
        progress.note(note)


def _batch(config: RunConfig, examples: OfflineSource | None) -> str:
    if examples is None:
        return f"{config.rollout.prompts_per_step} prompts x {config.rollout.group_size} answers"
    source = examples.provenance
    return f"{examples.batch_size} examples: {source['source']} ({source['rows']} rows)"


def _counted(config: RunConfig) -> str:
    counts = {f"ZeRO-{config.trainer.zero_stage} rank(s)": config.trainer.ranks,
              "of the critic": num_critic_ranks(config), "engine(s)": num_engines(config)}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _facts(job: Job) -> dict[str, Any]:
    examples = {"examples": dict(job.examples.provenance)} if job.examples else {}
    return {"device": job.plan.device, "dtype": job.plan.dtype, "transport": job.plan.transport,
            "dataset": dict(job.task.provenance()), **examples}


def _name(config: RunConfig) -> str:
    task = Path(config.task.name.partition(":")[0]).stem
    return f"{task}-{config.algorithm.name}-{time.strftime('%Y%m%d-%H%M%S')}"
