"""Runs that faults are made in: a tiny model on real Ray, vLLM and two ZeRO-3 ranks, started as a user starts them."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.fault_processes import PATIENCE, POLL_S, known
from reasongym.tracking import read_metrics

STEPS, PROMPTS, GROUP, RUN_SEED = 14, 4, 4, 7
END_S = 300.0 * PATIENCE
"""Longest time from the last fault to the end of a run, and from one of its steps to the next."""
SETTINGS = ("trainer.ranks=2", f"rollout.prompts_per_step={PROMPTS}", f"rollout.group_size={GROUP}",
            "rollout.max_new_tokens=12", "rollout.max_prompt_tokens=480", "rollout.kv_cache_gib=0.1",
            "rollout.max_num_seqs=32", "rollout.max_restarts=50", "resources.max_restarts=50", "evaluation.prompts=4",
            "evaluation.every=4", "checkpoint.every=2", "trainer.learning_rate=1e-3", "trainer.mini_batches=2",
            f"trainer.step_timeout_s={45 * PATIENCE:g}")  # so long a rank that stands still is waited for
PROGRAMS = '''
from reasongym.verifiers import Status
from reasongym.verifiers.code import code

PROGRAM = """```python
import time

def same(x):
    time.sleep(0.2)
    return x
```"""


@verifier("program_and_parity")
def program_and_parity(response, reference, *, example):
    """A random model writes no programs: one that takes a while stands for each of its answers."""
    asked = {"entry_point": "same", "tests": [{"args": [1], "expected": 1}]}
    found = code(PROGRAM, asked, example={"sandbox": "local"})
    return (1 + len(response) % 7) / 7 if found.status is Status.CORRECT else found
'''


class Place(NamedTuple):
    """Where a run goes on. runs: the folder of its runs, as its own processes see it. seen: the same, from here.

    prefix: what stands before its command. module: whose command it is. data: what the faults of this place work on.
    """

    runs: Path
    seen: Path
    prefix: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
    module: str = "reasongym"
    data: Any = None


class Work(NamedTuple):
    """What a run trains on."""

    task: str
    verifier: str
    settings: tuple[str, ...] = ()


SUMS = Work("arithmetic", "length_parity")
# Its engine takes one answer at a time: it rounds otherwise where other answers are sampled beside one, and of these
# longer prompts more or fewer are there when it begins. Two undisturbed runs were 6e-5 of a weight apart.
CODE = Work("code_synth", "program_and_parity", ("rollout.max_num_seqs=1",))


def make_workshop(folder: Path) -> Path:
    """The folder, with a tiny model and verifiers that give it something to learn from."""
    tiny = importlib.import_module("tests.tiny_model")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "model" / "config.json").exists():
        tiny.make_tiny_model(folder / "model")
    (folder / "rules.py").write_text(f"{tiny.VERIFIER}\n{PROGRAMS}")
    return folder


class Training:
    """One run: `reasongym train`, then --resume as often as it takes. What it says is in `log`."""

    def __init__(self, workshop: Path, name: str, place: Place, work: Work) -> None:
        self.place, self.name = place, name
        self.folder, self.log = place.seen / name, workshop / f"{name}.log"
        sets = (*SETTINGS, f"task.verifier={workshop}/rules.py:{work.verifier}", *work.settings, *place.settings)
        self._new = ["--task", work.task, "--model", str(workshop / "model"), "--recipe", "cpu", "--steps", str(STEPS),
                     "--seed", str(RUN_SEED), "--name", name, "--runs", str(place.runs),
                     *(word for setting in sets for word in ("--set", setting))]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.log.unlink(missing_ok=True)
        self._run(self._new)

    def resume(self) -> None:
        self._run(["--resume", str(self.place.runs / self.name)])

    def _run(self, arguments: Sequence[str]) -> None:
        variables = {"HF_HUB_OFFLINE": "1", "RAY_worker_niceness": "0", **self.place.variables}
        with self.log.open("ab") as output:
            self.process = known(subprocess.Popen(
                [*self.place.prefix, sys.executable, "-m", self.place.module, "train", *arguments], stdout=output,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=os.environ | variables, start_new_session=True))

    @property
    def rows(self) -> list[dict[str, Any]]:
        return read_metrics(self.folder / "metrics.jsonl")

    @property
    def words(self) -> str:
        """What it has said so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def reaches(self, step: int) -> bool:
        """Waits for the step; False where the run ended, or took too long, before it."""
        return self._waits_for(lambda: max((row["step"] for row in self.rows), default=-1) >= step, END_S)

    def goes_on(self, since: float, within_s: float) -> bool:
        """Waits for a row of its metrics that is newer than `since` (seconds since 1970)."""
        return self._waits_for(lambda: any(row["time"] > since for row in self.rows[-1:]), within_s)

    def ended(self, within_s: float = END_S) -> int | None:
        """Its exit status; None where it goes on after that time."""
        assert self.process is not None
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """One that goes on where it should not."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _waits_for(self, condition: Callable[[], bool], within_s: float) -> bool:
        assert self.process is not None
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if condition():
                return True
            if self.process.poll() is not None:
                return condition()
            time.sleep(POLL_S)
        return False


def step_seconds(folder: Path) -> float:
    """Of the mean step of the run there."""
    found = [float(row["step/seconds"]) for row in read_metrics(folder / "metrics.jsonl") if "step/seconds" in row]
    return sum(found) / max(len(found), 1)
