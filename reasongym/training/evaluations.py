"""A held-out evaluation of a run as a result of its own: `evals/step-000010/`, as `reasongym eval` writes one, and its
entry in a results store.

Nothing here stops a run: the numbers are in metrics.jsonl already.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from reasongym.config import RunConfig
from reasongym.errors import ConfigError, ReasongymError, message
from reasongym.evaluation.assembling import answer_of, assemble, engine_record, sent_to_engine, task_record
from reasongym.evaluation.prompting import prompts_digest, template_of
from reasongym.evaluation.record import Decoding, ModelRecord, Prompting, Result, write_result
from reasongym.evaluation.run import Evaluated
from reasongym.evaluation.samples import Sample
from reasongym.records import Group
from reasongym.tracking import RunFolder

if TYPE_CHECKING:
    from reasongym.leaderboard.store import Store
    from reasongym.training.session import Session

__all__ = ["check_store", "discard_evaluations_after", "keep_evaluation"]


def check_store(store: str | None) -> None:
    """Before a run starts. Raises ConfigError, DataError for an address that no store can have."""
    if store is None:
        return
    parts = urlsplit(store)
    if parts.password or any("password" in name for name in parse_qs(parts.query)):
        raise ConfigError(message("evaluation.store holds a password", got="an address with a password in it",
                                  expected="one without: config.yaml is written from it, and loggers get it",
                                  remedy="put the password in the environment variable PGPASSWORD, or in ~/.pgpass"))
    needed = ["sqlalchemy", "alembic", *(["psycopg"] if parts.scheme.startswith("postgres") else [])]
    for package in needed:
        if importlib.util.find_spec(package) is None:
            raise ConfigError(message("evaluation.store needs a package that is not installed", got=f"no {package}",
                                      expected="the extra 'leaderboard'",
                                      remedy="pip install 'reasongym[leaderboard]', or leave evaluation.store out"))
    from reasongym.leaderboard.connecting import read_url

    read_url(store)


def keep_evaluation(session: Session, step: int, groups: Sequence[Group], evaluated: tuple[float, float]) -> None:
    """Write the result, and enter it; what fails is told, once a store fails it is left alone.

    evaluated: seconds of sampling, and of all with scoring.
    """
    folder = _place(session.folder, step)
    try:
        samples = tuple(_samples(groups))
        write_result(folder, _result(session, step, Evaluated(samples, *evaluated)), samples)
    except Exception as error:  # boundary: whatever a disk or a library does, a run of days goes on
        why = str(error) if isinstance(error, ReasongymError) else f"{type(error).__name__}: {error}"
        session.progress.note(f"warning: the evaluation of step {step} has no result in {folder}: {why}")
        return
    if session.config.evaluation.store is not None and not session.store_failed:
        _enter(session, session.config.evaluation.store, folder)


def discard_evaluations_after(session: Session, step: int) -> None:
    """Results of later steps, in the folder and in the store: a run that went back to `step` makes them anew."""
    folder, store = session.folder, session.config.evaluation.store
    for found in folder.evaluations.glob("step-*"):
        number = found.name.removeprefix("step-")
        if number.isdecimal() and int(number) > step:
            shutil.rmtree(found, ignore_errors=True)
    if store is not None and not session.store_failed:
        _with_store(session, store, lambda opened: _withdraw(session, opened, step))


def _withdraw(session: Session, store: Store, step: int) -> None:
    from reasongym.leaderboard.reading import run_key

    run_id = _environment(session.folder).get("run_id")
    if isinstance(run_id, str):
        store.withdraw(run_key(run_id, session.folder.name), after=step)


def _enter(session: Session, store: str, folder: Path) -> None:
    from reasongym.leaderboard.reading import read_folder

    _with_store(session, store, lambda opened: opened.add(read_folder(folder)))


def _with_store(session: Session, store: str, work: Callable[[Store], object]) -> None:
    """What fails is told, and the store left alone from then on."""
    try:
        from reasongym.leaderboard.store import Store

        with Store(store, create=True) as opened:
            work(opened)
    except Exception as error:  # boundary: whatever a database does, the run goes on
        session.store_failed = True  # a store that does not answer costs a minute each time
        why = str(error).replace("\n", " ")
        session.progress.note(f"warning: evaluations of this run no longer enter the store: {why} Enter them later: "
                              f"reasongym leaderboard add --store URL {session.folder.evaluations}")


def _place(folder: RunFolder, step: int) -> Path:
    return folder.evaluations / f"step-{step:06d}"


def _samples(groups: Sequence[Group]) -> list[Sample]:
    return [Sample(group=place, sample=number, prompt=group.prompt, answer=answer_of(one.completion, group.prompt),
                   verdicts=one.verdicts, reward=one.reward)
            for place, group in enumerate(groups) for number, one in enumerate(group.rollouts)]


def _result(session: Session, step: int, evaluated: Evaluated) -> Result:
    config, prompts = session.config, session.held_out
    template = template_of(session.prompts.tokenizer, "auto")
    decoding = Decoding(samples=config.evaluation.samples, temperature=config.evaluation.temperature,
                        max_new_tokens=config.rollout.max_new_tokens, seed=config.seed,
                        max_prompt_tokens=config.rollout.max_prompt_tokens)
    rows = [prompt.example for prompt in prompts]
    return assemble(
        evaluated, config, engine=engine_record(config),
        model=ModelRecord(path=f"{session.folder.name}@step-{step}", dtype=session.plan.dtype),
        task=task_record(config, session.task, config.evaluation.split, rows, prompts, session.judges),
        prompting=Prompting(template=template.text, template_hash=template.hash,
                            prompts_digest=prompts_digest(prompts)),
        decoding=decoding.model_copy(update={"sent": sent_to_engine(decoding)}),
        environment=_environment(session.folder) | {"training": _training(config, session.folder, step)})


def _training(config: RunConfig, folder: RunFolder, step: int) -> dict[str, Any]:
    return {"run": str(folder.path), "step": step, "from": config.model.path, "algorithm": config.algorithm.name}


def _environment(folder: RunFolder) -> dict[str, Any]:
    """The run's own: nothing of it changes from evaluation to evaluation."""
    try:
        found = json.loads(folder.environment.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
