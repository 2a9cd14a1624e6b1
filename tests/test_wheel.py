"""What is built for others: sdist and wheel hold every file of the package, and the wheel works without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
MUST_HOLD = {"reasongym/py.typed", "reasongym/verifiers/gsm8k.py", "reasongym/tasks/base.py",
             "reasongym/sandbox/__init__.py", "reasongym/configs/cpu.yaml"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Path:
    """The folder of an sdist, and of a wheel that was built from it and not from the tree."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(command, cwd=repo_root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def package_files(repo_root: Path) -> set[str]:
    """Every file under reasongym/, those behind its symbolic links included."""
    found = {Path(folder, name).relative_to(repo_root).as_posix()
             for folder, _, names in os.walk(repo_root / "reasongym", followlinks=True) for name in names}
    return {name for name in found if "__pycache__" not in name}


def test_the_wheel_holds_every_file_of_the_package(dist: Path, package_files: set[str]) -> None:
    held = set(zipfile.ZipFile(next(dist.glob("*.whl"))).namelist())
    assert held >= MUST_HOLD
    assert package_files - held == set()


def test_the_sdist_holds_every_file_as_itself_and_not_as_a_link(dist: Path, package_files: set[str]) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert held >= MUST_HOLD | {"LICENSE", "pyproject.toml"}
    assert package_files - held == set()


def test_the_wheel_leaves_the_name_verifiers_to_its_owner(dist: Path) -> None:
    top = {name.partition("/")[0] for name in zipfile.ZipFile(next(dist.glob("*.whl"))).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"reasongym"}


def test_the_wheel_alone_verifies_an_answer_without_torch(dist: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    wheel = next(dist.glob("*.whl"))
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, cwd=tmp_path, timeout=500)
    cases = [{"id": "a", "response": "So 6 * 7 = 42.\n#### 42", "reference": "42"},
             {"id": "b", "response": "#### 425", "reference": "42"}]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    verify = [str(tmp_path / "venv/bin/reasongym"), "verify", "--verifier", "gsm8k",
              "--input", "cases.jsonl", "--output", "-"]
    done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(verdict["id"], verdict["score"], verdict["status"]) for verdict in verdicts] == \
        [("a", 1.0, "correct"), ("b", 0.0, "wrong")]
    absent = subprocess.run([python, "-c", "import torch"], capture_output=True, cwd=tmp_path)
    assert absent.returncode != 0
