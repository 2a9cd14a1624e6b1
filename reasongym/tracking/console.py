"""What a person sees while a run trains: a header, one line a step, a live status within the step, a summary."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.text import Text

from reasongym.printable import printable
from reasongym.tracking.numbers import duration
from reasongym.tracking.overview.health import health
from reasongym.tracking.overview.run import Run
from reasongym.tracking.step_line import StepLine

__all__ = ["Progress"]

PLAIN_STATUS_SECONDS = 30.0
"""A log file gets a status line this often at most; a terminal has a live one."""
ETA_STEPS = 20
HEADING_EVERY = 25


class Progress:
    """The console of a training run, as a context manager.

    total_steps: the last step of the run. plain: lines without control characters; by default where the stream is not a
    terminal. Text given to it may come from a model: it is made printable and read as text, never as markup.
    """

    def __init__(self, total_steps: int, plain: bool | None = None, *, stream: TextIO | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stdout
        self._plain = not self._stream.isatty() or os.environ.get("TERM") == "dumb" if plain is None else plain
        self._console = Console(file=self._stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._clock, self._total = clock, total_steps
        self._line = StepLine(total_steps, width=10_000 if self._plain else self._console.width)
        self._phases: dict[str, tuple[int, int]] = {}
        self._phase_step = 0
        self._phase_start = self._last_status = clock()
        self._step_seconds: deque[float] = deque(maxlen=ETA_STEPS)
        self._last_step_end: float | None = None
        self._lines_since_heading = HEADING_EVERY
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if not self._plain:
            self._live = Live(console=self._console, get_renderable=self._status, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._live is not None:
            self._phases = {}
            self._live.stop()
            self._live = None

    def header(self, values: Mapping[str, object]) -> None:
        """What is about to run: label -> value, one line each."""
        width = max(map(len, values), default=0)
        for label, value in values.items():
            self._print(Text.assemble((f"{label:<{width}}  ", "dim"), printable(str(value))))
        self._print(Text(""))

    def phase(self, step: int, name: str, done: int, total: int) -> None:
        """How far a phase of the step is: `sampling`, 37, 64. Several may run at a time; a total of 0 has no count."""
        if step != self._phase_step or not self._phases:
            self._phases, self._phase_step, self._phase_start = {}, step, self._clock()
        finished = [other for other, (count, of) in self._phases.items() if count >= of and other != name]
        if name not in self._phases:
            for other in finished:
                del self._phases[other]
        self._phases[name] = (done, total)
        if self._plain and self._clock() - self._last_status >= PLAIN_STATUS_SECONDS:
            self._print(Text(self._status_text()))

    def step(self, step: int, values: Mapping[str, float]) -> None:
        """One line for a finished step; `values` as they are written to the metrics."""
        now = self._clock()
        if self._last_step_end is not None:  # evaluation and checkpoints between two steps are part of what is left
            self._step_seconds.append(now - self._last_step_end)
        self._last_step_end = now
        known = self._step_seconds or [values.get("step/seconds", now - self._phase_start)]
        if self._lines_since_heading >= HEADING_EVERY:
            self._print(Text(self._line.heading(values), "bold"))
            self._lines_since_heading = 0
        self._phases = {}
        self._lines_since_heading += 1
        self._print(Text(self._line.row(step, values, eta=sum(known) / len(known) * (self._total - step))))

    def evaluation(self, step: int, values: Mapping[str, float]) -> None:
        """One line for a held-out evaluation: values under `eval/...`."""
        shown = [f"{name.removeprefix('eval/').removeprefix('reward/')} {value:.3f}" for name, value in values.items()
                 if name.startswith("eval/reward/")]
        prompts = f"  ({values['eval/prompts']:.0f} prompts)" if "eval/prompts" in values else ""
        self._print(Text(printable(f"held-out at step {step}: " + "  ".join(shown) + prompts), "cyan"))

    def note(self, text: str) -> None:
        """A line that explains something once."""
        self._print(Text(printable(text), "dim" if len(text) < 200 else ""))

    def banner(self, text: str) -> None:
        """Something that no one may miss."""
        if self._plain:
            edge = "!" * 100
            self._print(Text("\n".join([edge, *(f"!!  {line}" for line in printable(text).splitlines()), edge])))
        else:
            self._console.print(Panel(Text(printable(text), "bold"), border_style="bold yellow", title="please read"))

    def summary(self, folder: Path, task: str, model: str) -> None:
        """The end of a run: what was gained, what went wrong, where it lies, what to type next. `model`: what training
        began from."""
        told = health(Run(folder))
        self._print(Text(""))
        rows = {name: (f"{value} ({below})" if below else value).replace("→", "->")  # not every terminal has it
                for name, value, below in told.tiles}
        self.header(rows | {"Started from": model, "Run folder": str(folder)})
        for what, remedy in told.findings:
            self._print(Text(f"{what}\n  {remedy}", "yellow"))
        self._print(Text("Next:", "bold"))
        for command in _next_commands(folder, task):
            self._print(Text(printable(f"  {command}"), "green"))

    def _print(self, text: Text) -> None:
        self._last_status = self._clock()
        if self._plain:  # written by hand: rich would cut lines at the width it assumes for a pipe
            encoding = self._stream.encoding or "utf-8"
            self._stream.write(f"{text.plain}\n".encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        else:
            self._console.print(text)

    def _status(self) -> Text | Spinner:
        return Spinner("dots", text=Text(self._status_text(), "dim")) if self._phases else Text("")

    def _status_text(self) -> str:
        counts = [f"{name} {done}/{total}" if total else name for name, (done, total) in self._phases.items()]
        elapsed = duration(self._clock() - self._phase_start)
        return printable(f"step {self._phase_step}/{self._total}: " + " · ".join([*counts, elapsed]))


def _next_commands(folder: Path, task: str) -> list[str]:
    """Lines for a shell, and for Python where they say so."""
    final, config = folder / "final", folder / "config.yaml"
    return [
        f"reasongym report {quote(str(folder))}",
        f"tensorboard --logdir {quote(str(folder / 'tensorboard'))}",
        f"reasongym eval --model {quote(str(final))} --task {quote(task)} --recipe {quote(str(config))}",
        "python:",
        "  from transformers import AutoModelForCausalLM, AutoTokenizer",
        f"  model = AutoModelForCausalLM.from_pretrained({str(final)!r})",
        f"  tokenizer = AutoTokenizer.from_pretrained({str(final)!r})",
    ]
