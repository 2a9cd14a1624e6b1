"""`reasongym new`: what it writes runs as it is, and it writes over nothing."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from reasongym.checking.templates import template
from reasongym.cli import cli
from reasongym.cli.new import command
from reasongym.errors import ConfigError

NAMES = {"verifier": "capital_city", "task": "sorting"}


def new(kind: str, name: str, folder: Path) -> Result:
    return CliRunner().invoke(command, [kind, name, "--folder", str(folder)])


def next_commands(result: Result) -> list[list[str]]:
    return [shlex.split(line) for line in result.stdout.partition("next:\n")[2].splitlines()]


@pytest.mark.parametrize("kind", NAMES)
def test_the_generated_tests_pass(kind: str, tmp_path: Path, repo_root: Path) -> None:
    """They run `reasongym check` on what was written, too."""
    folder = tmp_path / "my rules"
    assert new(kind, NAMES[kind], folder).exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == [f"{NAMES[kind]}.py", f"test_{NAMES[kind]}.py"]
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder),
                           str(folder)], cwd=repo_root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_generated_verifier_is_found_by_verify(tmp_path: Path, repo_root: Path) -> None:
    new("verifier", "capital_city", tmp_path)
    done = subprocess.run([sys.executable, "-m", "reasongym", "verify", "--input", "-", "--workers", "1",
                           "--verifier", f"{tmp_path}/capital_city.py:capital_city"], cwd=repo_root, text=True,
                          input='{"response": "It is\\nParis", "reference": "Paris"}\n', capture_output=True)
    assert (done.returncode, '"status": "correct"' in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize("kind", NAMES)
def test_what_it_says_to_type_next_can_be_typed(kind: str, tmp_path: Path) -> None:
    commands = next_commands(new(kind, NAMES[kind], tmp_path / "my rules"))
    assert {words[1] for words in commands if words[0] == "reasongym"} >= {"check", "train"}
    for program, name, *arguments in (words for words in commands if words[0] == "reasongym"):
        found = cli.get_command(click.Context(cli), name)
        assert program == "reasongym"
        assert found is not None
        found.make_context(name, arguments)


@pytest.mark.parametrize("there", ["capital_city.py", "test_capital_city.py"])
def test_a_file_that_is_there_is_left_alone_and_nothing_else_written(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    result = new("verifier", "capital_city", tmp_path)
    assert isinstance(result.exception, ConfigError)
    assert "is there already" in str(result.exception)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(there, "mine")]


def test_a_link_to_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "capital_city.py").symlink_to(tmp_path / "elsewhere.py")
    assert isinstance(new("verifier", "capital_city", tmp_path).exception, ConfigError)
    assert not (tmp_path / "elsewhere.py").exists()


@pytest.mark.parametrize(("name", "why"), [
    ("3rd", "cannot name"), ("a b", "cannot name"), ("../up", "cannot name"), ("class", "cannot name"),
    ("match", "cannot name"), ("Capital", "cannot name"), ("a" * 300, "cannot name"), ("", "cannot name"),
    ("exact", "taken"), ("gsm8k", "taken"), ("csv", "module"), ("click", "module"), ("test_it", "pytest"),
    ("conftest", "pytest"), ("verdict", "itself needs"), ("mapping", "itself needs"), ("str", "itself needs"),
    ("response", "itself needs"), ("none", "itself needs"),
])
def test_a_name_that_cannot_be_used_is_refused(name: str, why: str, tmp_path: Path) -> None:
    result = new("verifier", name, tmp_path)
    assert isinstance(result.exception, ConfigError)
    assert why in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_a_task_may_not_bear_the_name_of_another(tmp_path: Path) -> None:
    error = new("task", "arithmetic", tmp_path).exception
    assert isinstance(error, ConfigError)
    assert "taken" in str(error)


def test_a_folder_that_cannot_be_made_is_misuse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = new("task", "sorting", tmp_path / "file" / "below").exception
    assert isinstance(error, ConfigError)
    assert error.exit_status == 2


@pytest.mark.parametrize("which", ["verifier", "test_verifier", "task", "test_task"])
def test_a_template_is_short_and_fits_the_line(which: str) -> None:
    lines = template(which).replace("@name@", "capital_city").replace("@Name@", "CapitalCity").splitlines()
    assert len(lines) < 70
    assert max(map(len, lines)) <= 120
