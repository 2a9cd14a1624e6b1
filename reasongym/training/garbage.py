"""The collector of garbage during a run: what the libraries brought is not looked through again and again."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["settled"]


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Within, the collector passes over all that is there at the beginning; afterwards over nothing.

    A run's libraries hold some hundred thousand objects that never die, and the answers of a few steps are enough for
    Python to look at every one of them.
    """
    gc.collect()  # what is garbage now would stay until the end
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
