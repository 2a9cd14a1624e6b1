"""What the loop works with: engines, ranks, scoring, prompts, records on disk."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from reasongym.config import RunConfig
from reasongym.errors import EngineError, SyncError, TrainerError
from reasongym.evaluation.record import PartRecord
from reasongym.planning import Plan
from reasongym.records import Prompt
from reasongym.rollout.elastic import Elastic
from reasongym.rollout.pool import EnginePool
from reasongym.rollout.prompts import PromptSource
from reasongym.scoring import ScoringPool
from reasongym.sync.checksums import ALL, Columns, compare, in_turn
from reasongym.tasks import RewardPart, Task
from reasongym.tracking import Diagnosis, MetricsLog, Progress, RunFolder
from reasongym.tracking.loggers import Loggers
from reasongym.training.checkpoints import Checkpoints, LoopState
from reasongym.training.continuous import Continuous
from reasongym.training.curriculum import task_at
from reasongym.training.group import RankGroup
from reasongym.training.offline import OfflineSource

__all__ = ["Interrupted", "Session", "Stop"]

CRITIC = "critic"  # its folder in a checkpoint


class Interrupted(Exception):
    """SIGTERM or Ctrl-C was received; raised where the run can be left with nothing half-done."""


@dataclass
class Stop:
    """Remembers a signal until the loop can act on it. A second one ends the process at once. watch: raises where the
    run cannot go on."""

    signal: int | None = None
    watch: Callable[[], None] = lambda: None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = number

    def check(self) -> None:
        if self.signal is not None:
            raise Interrupted
        self.watch()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(kw_only=True)
class Session:
    """One run's parts. `model`: a path for loaders; `parts`: reward parts with the run's verifier and weights.

    judges: the parts' verifiers as the scoring workers loaded them. examples: of an algorithm that learns from a file.
    critic: of PPO. ahead: sampling that goes on by itself. elastic: where the engines can change.
    """

    config: RunConfig
    plan: Plan
    model: str
    task: Task
    parts: tuple[RewardPart, ...]
    judges: tuple[PartRecord, ...]
    prompts: PromptSource
    held_out: list[Prompt]
    engines: EnginePool
    ranks: RankGroup
    scoring: ScoringPool
    folder: RunFolder
    checkpoints: Checkpoints
    metrics: MetricsLog
    loggers: Loggers
    progress: Progress
    weight_bytes: int
    examples: OfflineSource | None = None
    critic: RankGroup | None = None
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    stop: Stop = field(default_factory=Stop)
    num_compared: int = 0
    version: int = 0
    connected: list[Any] = field(default_factory=list)
    store_failed: bool = False
    ahead: Continuous | None = None
    elastic: Elastic | None = None

    @property
    def source(self) -> PromptSource | OfflineSource:
        """What the run walks through."""
        return self.examples or self.prompts

    def start_at(self, state: LoopState) -> None:
        """Prompts go on where `state` stands, at its level."""
        self.prompts.position, self.prompts.again = state.position, list(state.again)
        self._set_level(state)

    def sampled_ahead(self, state: LoopState) -> Continuous:
        """The sampling that goes on by itself: begun at `state` when it is first asked for."""
        if self.ahead is None:
            self.start_at(state)
            self.ahead = Continuous(self.config, engines=self.engines, scoring=self.scoring, parts=self.parts,
                                    prompts=self.prompts, version=state.version, steps=self.config.steps - state.step)
        self._set_level(state)
        return self.ahead

    def place(self) -> tuple[int, tuple[int, ...]]:
        """Position of the prompts, and those before it that have to be sampled again."""
        return self.ahead.place() if self.ahead else (self.source.position, tuple(self.source.again))

    def stop_sampling(self) -> None:
        """End what goes on by itself."""
        ahead, self.ahead = self.ahead, None
        if ahead:
            ahead.close()

    def retire_engines(self) -> None:
        """Nothing is sampled any more: the engines end while the last files are written."""
        self.stop_sampling()
        self.engines.retire()

    def _set_level(self, state: LoopState) -> None:
        if self.config.task.curriculum.last:
            self.prompts.task = task_at(self.config, state)

    def push_weights(self, version: int) -> dict[str, float]:
        """The policy to every engine as `version`, checked as sync.verify says; nothing where there is no engine.

        Raises SyncError.
        """
        if not self.engines.engines:
            return {}
        self.version = version
        while True:
            handles = self.engines.feedable(self.stop.check)
            try:
                return self._push(handles, version)
            except (EngineError, SyncError, TrainerError):
                self.stop.watch()  # without a head, no engine can be asked nor started
                if not self.engines.replace_dead(handles):
                    raise

    def recover(self) -> None:
        """Engines come and go as the user asks; and weights to those that were started anew, where no other is left to
        sample."""
        if self.elastic:
            self.elastic.attend(self._feed, self.version)
        if not self.engines.serving:
            self.push_weights(self.version)

    def _feed(self, handles: Sequence[Any]) -> None:
        """The weights that the others have, to engines that were added."""
        self._push(list(handles), self.version)

    def _push(self, handles: list[Any], version: int) -> dict[str, float]:
        started, told = time.monotonic(), self.engines.told_of(handles)
        if handles != self.connected:
            self.num_compared = 0
            self.connected = []  # where it fails, the way to the earlier ones is closed too
            self.ranks.call("connect", self.plan.transport, handles, [one.tensor_parallel for one in told],
                            self.config.sync.timeout_s)
            self.connected = handles
        whole = {one.index: handle for one, handle in zip(told, handles, strict=True) if one.tensor_parallel == 1}
        compared = self._compared() if whole else None
        if self.plan.shares_gpus:
            self.engines.call("wake_up", handles=handles)
        digests = self.ranks.call("send_weights", version, compared)[0]
        values = {"sync/seconds": time.monotonic() - started, "sync/bytes": float(self.weight_bytes),
                  "sync/pause_seconds": max(self.engines.call("pause_seconds", handles=handles))}
        if compared is not None:
            found = self.engines.call("checksums", compared, handles=list(whole.values()))
            for index, got in zip(whole, found, strict=True):
                compare(digests, got, engine=index, version=version)
            values["sync/verify_seconds"] = time.monotonic() - started - values["sync/seconds"]
            self.num_compared += 1
        self.engines.serve(handles, version)
        if self.ahead:
            self.ahead.advance(version)
        return values

    def _compared(self) -> Columns | None:
        """The columns whose checksums are compared after the next transfer to the present engines."""
        verify = self.config.sync.verify
        if verify == "never" or (verify == "first" and self.num_compared):
            return None
        return in_turn(self.num_compared) if verify == "in_turn" and self.num_compared else ALL

    def save_weights(self, folder: str) -> None:
        """Policy and critic to the checkpoint `folder`."""
        target = Path(folder).absolute()  # the ranks' working folder may be another one
        self.ranks.call("save", str(target))
        if self.critic is not None:
            self.critic.call("save", str(target / CRITIC))

    def load_weights(self, folder: str) -> None:
        """What `save_weights` wrote."""
        source = Path(folder).absolute()
        self.ranks.call("load", str(source))
        if self.critic is not None:
            self.critic.call("load", str(source / CRITIC))

    def release_engines(self) -> None:
        """Where engine and trainer share a GPU: the engine sleeps while the trainer works."""
        if self.plan.shares_gpus:
            self.engines.call("sleep")
