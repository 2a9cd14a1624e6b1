"""The verifier `code` on HumanEval and MBPP: a sample by default, all of both with REASONGYM_ALL_ROWS=1."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reasongym import registry
from reasongym.tasks import Example, TaskOptions
from reasongym.tasks.code_answers import fenced
from reasongym.verifiers import Status
from reasongym.verifiers.code import code

EACH = 1 if os.environ.get("REASONGYM_ALL_ROWS") else 7
"""Every seventh row; benchmarks/code_rows.py takes all."""


def rows(name: str, file: Path) -> list[Example]:
    task = registry.task(name, TaskOptions(data=str(file)))
    found = [task.example(split, index) for split in task.splits for index in range(task.size(split) or 0)]
    assert len(found) == {"humaneval": 164, "mbpp": 426}[name]  # 427, of which one for training is one for test
    return found[::EACH]


def refused(examples: list[Example], responses: list[str]) -> list[str]:
    """What did not pass, and why."""
    verdicts = [code(response, row.reference, example=row.fields)
                for row, response in zip(examples, responses, strict=True)]
    assert not [verdict.reason for verdict in verdicts if verdict.status is Status.ERROR]
    return [f"{row.fields['task_id']}: {verdict.reason}" for row, verdict in zip(examples, verdicts, strict=True)
            if verdict.status is not Status.CORRECT]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file"), [("humaneval", "HumanEval.jsonl"), ("mbpp", "sanitized-mbpp.jsonl")])
def test_every_reference_solution_passes(name: str, file: str, shared_data: Path) -> None:
    found = rows(name, shared_data / name / file)
    assert refused(found, [str(row.solution) for row in found]) == []


@pytest.mark.slow
@pytest.mark.parametrize("body", ["pass", "return 0", "return True", "return []", "return args[0]", "another's"])
def test_no_other_body_passes_humaneval(body: str, shared_data: Path) -> None:
    found = rows("humaneval", shared_data / "humaneval" / "HumanEval.jsonl")
    names = [row.reference["entry_point"] for row in found]  # type: ignore[index]
    responses = []
    for number, name in enumerate(names):
        source = f"def {name}(*args, **kwargs): {body}"
        if body == "another's":
            other = (number + 1) % len(found)
            solution = str(found[other].solution).removeprefix("```python\n").removesuffix("\n```")
            source = f"{solution}\n{name} = {names[other]}"
        responses.append(fenced(source))
    assert len(refused(found, responses)) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize("body", ["pass", "return 0"])
def test_no_empty_body_passes_mbpp(body: str, shared_data: Path) -> None:
    found = rows("mbpp", shared_data / "mbpp" / "sanitized-mbpp.jsonl")
    responses = [fenced(f"def {row.reference['entry_point']}(*args): {body}") for row in found]  # type: ignore[index]
    assert len(refused(found, responses)) == len(found)
