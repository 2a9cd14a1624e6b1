"""What a person sees while an evaluation runs: one live line, or a line now and then where there is no terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from reasongym.evaluation.run import Tally
from reasongym.printable import printable
from reasongym.tracking.numbers import duration

__all__ = ["Progress"]

PLAIN_SECONDS = 15.0


class Progress:
    """A context manager; `show` takes each new tally. part: the name of the reward part whose score is running."""

    def __init__(self, part: str, *, plain: bool | None = None, stream: TextIO | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._part, self._stream, self._clock = part, stream or sys.stdout, clock
        self._plain = not self._stream.isatty() or os.environ.get("TERM") == "dumb" if plain is None else plain
        self._live: Live | None = None
        self._tally: Tally | None = None
        self._started = self._last = clock()

    def __enter__(self) -> Self:
        self._started = self._last = self._clock()
        if not self._plain:
            console = Console(file=self._stream, highlight=False, markup=False, emoji=False)
            self._live = Live(console=console, get_renderable=self._line, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, tally: Tally) -> None:
        """Take in what is known; the last answer is always shown."""
        self._tally = tally
        done = tally.scored + tally.failed == tally.total
        if self._plain and (done or self._clock() - self._last >= PLAIN_SECONDS):
            self._last = self._clock()
            self._stream.write(f"{self._text(tally)}\n")
            self._stream.flush()

    def _line(self) -> Text:
        return Text(self._text(self._tally) if self._tally else "waiting for the first answer", "dim")

    def _text(self, tally: Tally) -> str:
        elapsed = max(self._clock() - self._started, 1e-9)
        told = [f"sampled {tally.sampled}/{tally.total}", f"scored {tally.scored}"]
        if tally.mean is not None and tally.interval is not None:
            told.append(f"{self._part} {tally.mean:.3f} [{tally.interval.low:.3f}, {tally.interval.high:.3f}]")
        if tally.failed:
            told.append(f"{tally.failed} without an answer")
        if tally.errors:
            told.append(f"{tally.errors} verifier errors")
        told.append(f"{tally.tokens / elapsed:,.0f} tokens/s")
        ended, left = tally.sampled - tally.known + tally.failed, tally.total - tally.sampled - tally.failed
        if ended > 0 and left > 0:
            told.append(f"{duration(elapsed / ended * left)} left")
        return printable(" · ".join(told))
