"""vLLM's processes end with the engine that they belong to.

vLLM's core waits for ever for a front end that was killed. Ray ends the children of an actor that dies, but not where
Ray's own process of the machine died first. A process watches its parent from when vLLM loads our plug-in there, before
it loads the model: vLLM spawns its processes; one that it forked would have the plug-in already.
"""

from __future__ import annotations

import multiprocessing
import os
import threading

__all__ = ["IN_ENGINE", "end_with_engine"]

IN_ENGINE = "REASONGYM_ENGINE"
"""Environment variable of the processes of an engine. A user's own vLLM loads our plug-in too, and is left alone."""


def end_with_engine() -> None:
    """End this process with the one that started it, where both belong to an engine."""
    if IN_ENGINE in os.environ and multiprocessing.parent_process() is not None:
        threading.Thread(target=_end_with_parent, name="end with the engine", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
