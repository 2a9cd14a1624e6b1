"""Hostile answers in a row: what the pool holds does not grow with them. The benchmark of the name runs 10,000."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MEASURE = """
import json
from benchmarks.scoring_hostile import measure
print(json.dumps(measure(300, warm_up=100, killing_every=100, timeout_s=2.0)))
"""


def test_hostile_answers_leave_memory_processes_and_descriptors_flat(repo_root: Path) -> None:
    # In a process of its own: in this one an earlier test's threads, processes and garbage may go meanwhile.
    done = subprocess.run([sys.executable, "-c", MEASURE], cwd=repo_root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    # Numbers 100 to 399, in turns of six kinds: 50 of each, but for the places of the killing ones. 110, 140 and 170
    # leave 2 over when divided by 6, so they take three places of `nan`; 210, 240 and 270 leave 0: `raises`; 310, 340
    # and 370 leave 4: `right`.
    assert figures["timeout"] == 3  # endless
    assert figures["wrong"] == 50 + 50  # long, opens
    assert figures["correct"] == 47  # right
    assert figures["error"] == 3 + 3 + 47 + 50 + 47  # dies, hoards, raises, none, nan
    assert figures["workers_replaced"] == 12, "three in each hundred, warm-up included"
    assert figures["descriptors_grown_by"] == 0
    assert figures["processes_grown_by"] == 0
    assert figures["resident_mib_grown_by"] < 16
