"""`reasongym sandbox`: exit statuses, streams, what is said of limits, of missing backends and of given-up layers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from processes import below

from reasongym.cli import cli
from reasongym.cli.sandbox import LEFT_OPEN
from reasongym.sandbox import SandboxError
from reasongym.sandbox.local import LAYERS

Runner = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    """A program's text, words before the file, words behind it."""

    def run(source: str, *options: str, arguments: tuple[str, ...] = (), stdin: bytes = b"") -> Result:
        path = tmp_path / "answer.py"
        path.write_text(source)
        words = ["sandbox", "run", "--backend", "local", *options, str(path), *arguments]
        return CliRunner().invoke(cli, words, input=stdin)

    return run


def test_streams_arguments_and_status_are_the_programs(run: Runner) -> None:
    source = "import sys\nprint(sys.argv, sys.stdin.buffer.read())\nprint('bad', file=sys.stderr)\nsys.exit(7)"
    done = run(source, arguments=("--timeout", "-x", "--", "ü"), stdin=b"in\xff")
    assert done.stdout == "['/work/answer.py', '--timeout', '-x', '--', 'ü'] b'in\\xff'\n"
    assert (done.stderr, done.exit_code) == ("bad\n", 7)


def test_output_that_is_no_text_is_passed_on(run: Runner) -> None:
    assert run("import os; os.write(1, bytes(range(256)))").stdout_bytes == bytes(range(256))


@pytest.mark.parametrize(("source", "options", "status", "said"), [
    ("import time; time.sleep(60)", ("--timeout", "0.3"), 124, "0.3 s of wall time (--timeout)"),
    ("while True: pass", ("--cpu-s", "0.2", "--timeout", "60"), 137, "0.2 s of CPU time (--cpu-s)"),
    ("bytearray(10**9)", ("--memory-mb", "64"), 1, "out of memory at 64 MiB"),
    ("while True: pass", ("--cpu-s", "1", "--timeout", "60"), 152, "1 s of CPU time (--cpu-s)"),
    ("print('MemoryError'); raise SystemExit('no MemoryError')", (), 1, ""),
    ("print('x' * 5000)", ("--output-kb", "1"), 0, "beyond 1 KiB was dropped"),
    ("import os; os.kill(os.getpid(), 15)", (), 143, ""),
    ("import ctypes; ctypes.CDLL(None).unshare(0)", (), 159, ""),
])
def test_what_a_limit_ends_is_said_and_has_its_status(run: Runner, source: str, options: tuple[str, ...], status: int,
                                                      said: str) -> None:
    done = run(source, *options)
    assert done.exit_code == status, done.output
    assert said in done.stderr
    assert ("reasongym sandbox:" in done.stderr) == bool(said)


def test_a_traceback_begins_in_the_program(run: Runner) -> None:
    """The frame that starts it is no business of who wrote it."""
    lines = run("def f():\n    return 1 / 0\n\nf()").stderr.splitlines()
    assert (lines[:2], lines[-1]) == (["Traceback (most recent call last):", '  File "/work/answer.py", line 4, in '
                                       "<module>"], "ZeroDivisionError: division by zero")
    assert run("def f(:").stderr.startswith('  File "/work/answer.py", line 1\n')


def command(path: Path) -> list[str]:
    return [sys.executable, "-m", "reasongym", "sandbox", "run", "--backend", "local", str(path)]


@pytest.mark.parametrize("stdout", [">&-", ">/dev/full"])
def test_output_that_cannot_be_passed_on_is_said_in_one_line(tmp_path: Path, stdout: str) -> None:
    path = tmp_path / "many.py"
    path.write_text("import sys\nfor n in range(10**5): print(n)\nassert sys.stdin.read() == ''")
    shell = f'"$@" {stdout} </dev/null'
    done = subprocess.run(["sh", "-c", shell, "sh", *command(path)], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 125
    assert done.stderr.startswith("error: standard output of the program cannot be passed on: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_who_is_asked_to_end_does_so_with_its_status(tmp_path: Path, number: signal.Signals, status: int) -> None:
    path = tmp_path / "sleeps.py"
    path.write_text("import time\ntime.sleep(60)")
    with subprocess.Popen(command(path), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        while not below(process.pid):
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(20) == status
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


def test_a_file_that_would_be_waited_for_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = CliRunner().invoke(cli, ["sandbox", "run", str(tmp_path / "pipe")])
    assert (done.exit_code, "no regular file" in done.stderr) == (2, True)


def test_a_name_that_is_no_text_is_a_name(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/a\xff.py"
    with open(path, "w") as file:
        file.write("import sys; print(ascii(sys.argv[0]))")
    assert CliRunner().invoke(cli, ["sandbox", "run", "--backend", "local", os.fsdecode(path)]).stdout \
        == "'/work/a\\udcff.py'\n"


def test_a_longer_timeout_allows_as_much_processor_time(run: Runner) -> None:
    source = "import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[0])"
    choices = ((), ("--timeout", "33"), ("--timeout", "33", "--cpu-s", "2"))
    assert [run(source, *options).stdout for options in choices] \
        == ["10\n", "33\n", "2\n"]


@pytest.mark.parametrize(("options", "said"), [
    (("--memory-mb", "1"), "expected 48 to"), (("--without", "secomp"), "no layer to go without is named"),
    (("--backend", "none"), "isolates nothing")])
def test_what_cannot_be_done_is_refused_before_the_program_runs(run: Runner, options: tuple[str, ...],
                                                                said: str) -> None:
    done = run("print('ran')", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_no_isolation_is_said_on_every_run(run: Runner) -> None:
    done = run("print('ran')", "--backend", "none", "--unsafe-no-isolation")
    assert (done.stdout, done.stderr, done.exit_code) == ("ran\n", "reasongym sandbox: nothing was isolated\n", 0)


def test_a_failure_of_the_sandbox_is_not_the_programs(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SandboxError("no walls here")

    monkeypatch.setattr("reasongym.sandbox.open_sandbox", refuse)
    done = run("print('ran')")
    assert (done.exit_code, done.stdout, done.stderr) == (125, "", "error: no walls here\n")
    assert CliRunner().invoke(cli, ["sandbox", "info"]).exit_code == 1


def test_too_much_standard_input_is_refused(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reasongym.cli.sandbox.MAX_STDIN", 3)
    assert run("print(len(input()))", stdin=b"abc").stdout == "3\n"
    assert run("print(len(input()))", stdin=b"abcd").exit_code == 2


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


def test_info_tells_layers_and_what_their_absence_leaves_open(no_engine: None) -> None:
    done = CliRunner().invoke(cli, ["sandbox", "info", "--json"])
    found = json.loads(done.stdout)
    local = found["backends"]["local"]
    assert (done.exit_code, found["auto"], local["available"]) == (0, "local", True)
    assert {*local["layers"]} | {*local["left_open"]} == {*LEFT_OPEN} >= {*LAYERS}
    assert not {*local["layers"]} & {*local["left_open"]}
    assert found["limits"]["memory_mb"] == 512
    assert found["backends"]["docker"]["available"] is False
    assert "none.sock" in found["backends"]["docker"]["why"]


def test_info_for_people_says_the_same(no_engine: None) -> None:
    done = CliRunner().invoke(cli, ["sandbox", "info"])
    assert "local, what `auto` takes: user, mount, pid" in done.stdout
    assert "docker: not available" in done.stdout
    assert f"  without gvisor: {LEFT_OPEN['gvisor']}" in done.stdout


def test_build_without_an_engine_says_what_is_missing(no_engine: None) -> None:
    done = CliRunner().invoke(cli, ["sandbox", "build", "--pull"])
    assert done.exit_code == 125
    assert "none.sock" in done.stderr


@pytest.mark.parametrize(("words", "way"), [((), "auto"), (("--pull",), "pull"),
                                            (("--from-debootstrap",), "debootstrap")])
def test_build_is_asked_for_in_the_way_that_was_said(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...],
                                                     way: str) -> None:
    asked: list[dict[str, object]] = []

    def build_image(**options: object) -> str:
        asked.append(options)
        return "tag:1"

    monkeypatch.setattr("reasongym.sandbox.image.build_image", build_image)
    done = CliRunner().invoke(cli, ["sandbox", "build", "--force", *words])
    assert (done.stdout, asked[0]["way"], asked[0]["force"]) == ("tag:1\n", way, True)


def test_every_command_of_the_group_helps() -> None:
    group = cli.get_command(click.Context(cli), "sandbox")
    assert isinstance(group, click.Group)
    assert sorted(group.commands) == ["build", "info", "run"]
    assert all(each.help for each in group.commands.values())


def test_running_a_program_loads_neither_the_training_stack_nor_the_docker_sdk(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("print('ran')")
    script = ("import sys\nsys.argv = ['reasongym', 'sandbox', 'run', '--backend', 'local', 'answer.py']\n"
              "from reasongym.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    print(end.code, "
              "*{'torch', 'ray', 'transformers', 'docker', 'pydantic', 'rich'} & sys.modules.keys())")
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    assert (done.stdout, done.stderr) == ("ran\n0\n", "")
