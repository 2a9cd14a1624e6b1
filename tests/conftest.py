"""What every test may rely on: where things are, no network, and that a skip nobody expects fails CI.

A test marked `stack` is skipped where torch, ray, vllm or deepspeed is not installed. With CI=true a skip whose reason
names none of EXPECTED_SKIPS makes the run fail: a test that silently stopped running guards nothing.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell that starts the tests in the background has them ignore Ctrl-C, and so would the commands that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray would start its workers at nice 15
os.environ.setdefault("RAY_prestart_worker_first_driver", "0")  # and two that no actor of the tests ever is

REPO_ROOT = Path(__file__).resolve().parent.parent
STACK = ("torch", "ray", "vllm", "deepspeed")
EXPECTED_SKIPS = ("../shared/data", "no CUDA device", "no Docker engine can run here", "no PostgreSQL can run here",
                  "no browser can run here", "no network namespaces can be made here",
                  "cannot be installed beside the pinned stack", "REASONGYM_RAYLETS=1")
ABSENT = [name for name in STACK if importlib.util.find_spec(name) is None]
unexpected_skips = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The folder of pyproject.toml."""
    return REPO_ROOT


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model."""
    from tiny_model import make_tiny_model

    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def workshop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model, and a verifier in rules.py: the module's VERIFIER where it has one."""
    from tiny_model import VERIFIER, make_tiny_model

    folder = tmp_path_factory.mktemp("workshop")
    make_tiny_model(folder / "model")
    (folder / "rules.py").write_text(getattr(request.module, "VERIFIER", VERIFIER))
    return folder


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """Ray on this machine, for actors that a test starts itself."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             object_store_memory=200 * 2**20)
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def shared_data(repo_root: Path) -> Path:
    """Public data sets beside the repository; the test is skipped where there are none."""
    folder = repo_root.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data: the public data sets are not beside this repository")
    return folder


@pytest.fixture(scope="session")
def docker_host() -> Iterator[str]:
    """`unix://PATH` of a Docker engine with the sandbox's image, started where none answers; else the test is skipped,
    which CI allows only on a machine where none could run."""
    from docker_engines import engine_for_tests

    with engine_for_tests() as host:
        yield host


@pytest.fixture(scope="session")
def source_files(repo_root: Path) -> Mapping[str, Path]:
    """Module name -> file of the whole package, through its symbolic links, which pathlib's rglob does not follow."""
    found = {}
    for folder, _, names in os.walk(repo_root / "reasongym", followlinks=True):
        for path in (Path(folder, name) for name in names if name.endswith(".py")):
            dotted = ".".join(path.relative_to(repo_root).with_suffix("").parts)
            found[dotted.removesuffix(".__init__")] = path
    return found


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A unit test that connects to another machine fails. Not so tests of the stack: Ray asks for its own address."""
    if "stack" in request.keywords:
        yield
        return
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and str(address[0]) not in {"127.0.0.1", "::1", "localhost"}:
            raise AssertionError(f"unit test connects to {address[0]}: use a local stand-in, or mark the test `stack`")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


def pytest_configure(config: pytest.Config) -> None:
    config.stash[unexpected_skips] = []
    config.pluginmanager.register(SkipWatch(config), "skip-watch")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ABSENT:
        skip = pytest.mark.skip(reason=f"the training stack is not installed: no {', '.join(ABSENT)}")
        for item in items:
            if "stack" in item.keywords:
                item.add_marker(skip)


class SkipWatch:
    """With CI=true, turns a skip for a reason that is not expected into a failed run."""

    def __init__(self, config: pytest.Config) -> None:
        self.found = config.stash[unexpected_skips]
        self.on = os.environ.get("CI") == "true"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report.nodeid, report.longrepr, report.skipped and not hasattr(report, "wasxfail"))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report.nodeid, report.longrepr, report.skipped)

    def _note(self, node: str, outcome: object, skipped: bool) -> None:
        if not (self.on and skipped):
            return
        reason = str(outcome[2] if isinstance(outcome, tuple) else outcome).removeprefix("Skipped: ")
        if not any(expected in reason for expected in EXPECTED_SKIPS):
            self.found.append(f"{node}: {reason}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.found:
            terminalreporter.section("skips that EXPECTED_SKIPS in tests/conftest.py does not allow", red=True)
            terminalreporter.write_line("\n".join(self.found))
