"""The processes below one, as the machine's own table has them."""

from __future__ import annotations

import psutil


def below(pid: int) -> list[int]:
    """Children and theirs, in order; none where the process has ended.

    Found by each process's parent: the lists of children under /proc are kept by thread, and change hands as threads
    end.
    """
    try:
        return sorted(process.pid for process in psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []
