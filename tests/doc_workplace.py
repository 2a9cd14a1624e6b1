"""The folder in which the commands of the documentation are typed: every file, run and result that they name, small."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from conftest import REPO_ROOT
from doc_pages import blocks
from leaderboard_samples import write_folder
from sample_runs import sample_run

__all__ = ["make_workplace"]

RUNS = ("arith", "first", "my-run", "sums", "sums-grpo", "sums-dapo", "gsm8k-grpo-20260101-120000",
        "arithmetic-ppo-20260101-120000")
RIGHT = {"before": 5, "after": 9, "base": 5, "trained": 9, "gsm8k-20260101-120000": 7}
NUM_ROWS = 12
NUM_TRAIN = 14
PROBLEMS = [{"question": f"Tom has {n} pears and buys {n + 2} more. How many has he?",
             "answer": f"{n} + {n + 2} = {2 * n + 2}\n#### {2 * n + 2}"} for n in range(3, 24)]
MATH = [{"problem": f"What is ${n}^2$?", "solution": f"\\boxed{{{n * n}}}", "answer": str(n * n), "subject": "Algebra",
         "level": 1, "unique_id": f"test/algebra/{n}.json"} for n in range(2, 8)]
PROGRAM = {"task_id": "HumanEval/0", "entry_point": "add", "prompt": "def add(a, b):\n    \"\"\"The sum.\"\"\"\n",
           "canonical_solution": "    return a + b\n",
           "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(0, 0) == 0\n"}
QUESTIONS = [{"question": f"What follows {n}?", "choices": [f"the {n - 1}", f"the {n + 1}", "neither"], "answer": 1}
             for n in range(1, 9)]
EVEN = [{"id": 1, "response": "It is 12.", "reference": None, "expected": True},
        {"id": 2, "response": "It is 7.", "reference": None, "expected": "wrong"},
        {"id": 3, "response": "I do not know", "reference": None, "expected": "unparsable"}]


def make_workplace(folder: Path) -> Path:
    """Fill `folder`, which is empty."""
    for page in ("custom", "verifiers/composite"):
        for block in blocks(REPO_ROOT / f"docs/{page}.md", "python"):
            if title := re.match(r"# (\w+\.py)\n", block.text):
                (folder / title[1]).write_text(block.text)
    _data(folder)
    for name in RUNS:
        sample_run(folder / "runs" / name, steps=10)
    sample_run(folder / "RUN", steps=10)
    for name, right in RIGHT.items():
        write_folder(folder / "evals" / name, name, right=[row < right for row in range(NUM_ROWS)], text="#### 7")
    (folder / "answer.py").write_text("print(6 * 7)\n")
    (folder / "docs" / "curves").mkdir(parents=True)
    return folder


def _data(folder: Path) -> None:
    for name in ("path/to/folder", "FOLDER", "data"):
        (folder / name).mkdir(parents=True)
        _lines(folder / name / "train.jsonl", PROBLEMS[:NUM_TRAIN])
        _lines(folder / name / "test.jsonl", PROBLEMS[NUM_TRAIN:])
    _lines(folder / "math500.jsonl", MATH)
    _lines(folder / "HumanEval.jsonl", [PROGRAM])
    _lines(folder / "questions.jsonl", QUESTIONS)
    _lines(folder / "schemas.jsonl", [{"schema": {"type": "object"}, "value": {"a": 1}, "prompt": "Write JSON."}])
    _lines(folder / "answers.jsonl", [{"id": 1, "response": "48 + 24 = 72\n#### 72", "reference": "72"},
                                      {"id": 2, "response": "#### 71", "reference": "72"}])
    _lines(folder / "cases.jsonl", EVEN)
    _lines(folder / "my_pairs.jsonl", [{"prompt": "2 + 2?", "chosen": "4", "rejected": "5"}])
    _lines(folder / "my_labels.jsonl", [{"prompt": "2 + 2?", "completion": "4", "label": True},
                                        {"prompt": "3 + 2?", "completion": "4", "label": False}])


def _lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
