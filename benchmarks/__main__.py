"""`python -m benchmarks [NAME ...]`: runs them, prints a line each, and writes benchmarks/results/<name>.json."""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("algorithms", "code_rows", "graders", "lm_eval_harness", "memory", "rows", "sandbox", "scoring",
         "scoring_hostile", "transfer", "trl_losses", "trl_preference")
LONG = ("algorithms", "lm_eval_harness")  # most of an hour: run when it is named
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; expected some of {', '.join(NAMES)}", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    for name in names or [name for name in NAMES if name not in LONG]:
        started = time.monotonic()
        figures = importlib.import_module(f"benchmarks.{name}").measure()
        record = {"benchmark": name, "command": f"python -m benchmarks {name}", "commit": _commit(),
                  "machine": _machine(), "seconds": round(time.monotonic() - started, 1), "figures": figures}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)
    return 0


def _commit() -> str:
    """With `-dirty` where a file differs that is not a result itself."""
    commit = _git("describe", "--always")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{RESULTS}")
    return f"{commit}{'-dirty' if changed else ''}" if commit else "not a git checkout"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()


def _machine() -> str:
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    return f"{model}, {os.cpu_count()} cores"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
