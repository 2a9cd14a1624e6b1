"""Data sets of the Hugging Face hub, or their copies in the local cache; what cannot be had is said within seconds."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping

from reasongym.errors import DataError, message

__all__ = ["HubRows", "load", "reachable"]

_CONNECT_S = 5.0

HubRows = Mapping[str, Iterable[Mapping[str, object]]]
"""Split -> rows."""


def load(task: str, name: str, config: str | None = None, *,
         is_reachable: Callable[[str], bool] | None = None) -> HubRows:
    """The splits of a data set. Raises DataError where `datasets` is not installed or the hub cannot be reached.

    is_reachable: whether an address answers, instead of asking it.
    """
    try:
        import datasets
        from huggingface_hub import constants
    except ImportError as error:
        raise _missing(task, name, f"the package {error.name} is not installed") from error
    if not constants.HF_HUB_OFFLINE and not (is_reachable or reachable)(constants.ENDPOINT):
        raise _missing(task, name, f"the hub cannot be reached (asked for {_CONNECT_S:g} s at most)")
    try:
        loaded: HubRows = datasets.load_dataset(*(part for part in (name, config) if part is not None))
    except Exception as error:  # the boundary to a client that raises the exceptions of several HTTP and file libraries
        raise _missing(task, name, f"{type(error).__name__}: {str(error)[:160]}") from error
    return loaded


def reachable(endpoint: str) -> bool:
    """Whether the address answers at all. In a thread, because a name look-up has no time-out of its own."""
    answered = threading.Event()

    def ask() -> None:
        try:
            with urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=_CONNECT_S):
                answered.set()
        except urllib.error.HTTPError:
            answered.set()
        except (OSError, ValueError):
            return

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_CONNECT_S)
    return answered.is_set()


def _missing(task: str, name: str, got: str) -> DataError:
    return DataError(message(f"the rows of {task} were not found", got=got,
                             expected=f"rows given as data, a folder in REASONGYM_DATA, or the hub's {name}",
                             remedy="pass --data FOLDER with train.jsonl and test.jsonl; HF_HUB_OFFLINE=1 uses a copy "
                                    "in the local cache without asking the hub"))
