"""`python -m benchmarks [NAME ...]`: runs them, prints a line each, and writes benchmarks/results/<name>.json."""

from __future__ import annotations

import importlib
import json
import sys
import time

from benchmarks.record import RESULTS, commit, machine

NAMES = ("algorithms", "asynchronous_simulation", "code_rows", "coordinator", "faults", "graders", "hot_swap",
         "lm_eval_harness", "memory", "plan_accuracy", "rollout_peers", "rows", "sandbox", "scoring", "scoring_hostile",
         "trainer_speed", "transfer", "trl_grpo", "trl_losses", "trl_preference")
LONG = ("algorithms", "faults", "lm_eval_harness")  # most of an hour: run when it is named


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; expected some of {', '.join(NAMES)}", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    for name in names or [name for name in NAMES if name not in LONG]:
        started = time.monotonic()
        figures = importlib.import_module(f"benchmarks.{name}").measure()
        record = {"benchmark": name, "command": f"python -m benchmarks {name}", "commit": commit(),
                  "machine": machine(), "seconds": round(time.monotonic() - started, 1), "figures": figures}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
