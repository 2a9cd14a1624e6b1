"""What a result is kept with."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def commit() -> str:
    """With `-dirty` where a file differs that is not a result itself."""
    found = _git("describe", "--always")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", f":(exclude){RESULTS}")
    return f"{found}{'-dirty' if changed else ''}" if found else "not a git checkout"


def machine() -> str:
    """Its processor and cores."""
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    return f"{model}, {os.cpu_count()} cores"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()
