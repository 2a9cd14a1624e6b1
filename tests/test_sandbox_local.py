"""The walls of the local backend: what a program inside can reach of the machine."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import below
from sandbox_jobs import job, printed, run

from reasongym.sandbox import Sandbox, SandboxError, open_sandbox
from reasongym.sandbox.local import LAYERS, hidden_folders, shown_folders


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("local", workers=1) as opened:
        yield opened


READ = "import os\nfor path in {paths!r}:\n    print(path, os.path.exists(path))"


def test_no_file_of_the_machine_is_seen(sandbox: Sandbox, tmp_path: Path, repo_root: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("answer")
    paths = [str(secret), str(repo_root), "/etc/passwd", "/etc/shadow", "/sys", "/var", "/proc/sys", "/proc/kcore",
             "/proc/sysrq-trigger", "/proc/meminfo", "/run", str(Path.home() / ".ssh")]
    assert "True" not in printed(sandbox, READ.format(paths=paths))


def test_installed_packages_and_this_project_are_hidden(sandbox: Sandbox) -> None:
    source = """
        import glob, sys
        for prefix in {sys.base_prefix, "/usr", "/usr/local"}:
            for kind in ("site-packages", "dist-packages"):
                print(*glob.glob(f"{prefix}/lib/python3*/{kind}/*"), end="")
        try:
            import reasongym, pytest
        except ImportError as error:
            print(error.name)
    """
    assert printed(sandbox, source) == "reasongym"


def test_a_project_inside_what_is_shown_is_hidden() -> None:
    project = str(Path(shown_folders.__code__.co_filename).resolve().parents[1])
    assert project not in hidden_folders(["/usr/lib"])
    assert project in hidden_folders([str(Path(project).parent)])


def test_nothing_shown_can_be_written(sandbox: Sandbox) -> None:
    source = """
        import os, sys
        for folder in ("/", "/usr", "/usr/bin", "/dev", "/proc", sys.base_prefix + "/lib", os.__file__[:-6]):
            try:
                open(folder + "/mark", "w")
                print("wrote", folder)
            except OSError:
                pass
    """
    assert printed(sandbox, source) == ""


def test_what_is_written_cannot_be_executed(sandbox: Sandbox) -> None:
    source = """
        import os, shutil
        for folder in ("/work", "/tmp", "/dev/shm"):
            copy = shutil.copy("/usr/bin/env", folder + "/program")
            os.chmod(copy, 0o755)
            try:
                os.execv(copy, [copy])
            except PermissionError:
                pass
    """
    assert printed(sandbox, source) == ""


def test_no_process_of_the_machine_is_seen_and_the_agent_survives_signals(sandbox: Sandbox) -> None:
    source = """
        import os, signal
        for number in signal.valid_signals():
            try:
                os.kill(1, number)
            except OSError as error:
                print(error)
        print([name for name in os.listdir("/proc") if name.isdigit()], os.path.exists("/proc/1"))
    """
    assert printed(sandbox, source) == "['2'] False"
    assert run(sandbox, "print(1)").stdout == b"1\n"


def test_the_agent_cannot_be_read_or_changed(sandbox: Sandbox) -> None:
    source = """
        import os, resource
        for name in ("environ", "maps", "mem", "auxv", "fd", "root", "cwd", "exe"):
            try:
                path = "/proc/1/" + name
                print(name, os.readlink(path) if name in ("root", "cwd", "exe") else
                      os.listdir(path) if name == "fd" else open(path, "rb").read(1))
            except OSError:
                pass
        for change in (lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)),
                       lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.setpriority(os.PRIO_USER, 0, 19),
                       lambda: os.sched_setaffinity(1, {0})):
            try:
                print(change(), "changed")
            except OSError:
                pass
    """
    assert printed(sandbox, source) == ""


def test_the_environment_and_descriptors_of_the_host_stay_outside(sandbox: Sandbox,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REASONGYM_SECRET", "answer")
    source = "import os; print(sorted(os.environ), os.listdir('/proc/self/fd'))"
    # Descriptor 3 is the listing itself.
    assert printed(sandbox, source) == "['HOME', 'LANG', 'PATH', 'TMPDIR'] ['0', '1', '2', '3']"


def test_no_rights_are_left(sandbox: Sandbox) -> None:
    source = """
        for line in open("/proc/self/status"):
            if line.startswith(("Uid", "CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs", "Seccomp:")):
                print(*line.split()[1:2])
        print(open("/proc/self/uid_map").read().split()[0::2])
    """
    assert printed(sandbox, source).split("\n") == ["1000", *["0" * 16] * 4, "1", "2", "['1000', '1']"]


def test_root_outside_is_nobody_inside(sandbox: Sandbox) -> None:
    outer = int(printed(sandbox, "print(open('/proc/self/uid_map').read().split()[1])"))
    assert outer == os.geteuid() if os.geteuid() else outer > 0


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), timeout=2); print('reached')"


def test_no_socket_of_any_family_can_be_made(sandbox: Sandbox) -> None:
    source = """
        import socket
        for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_VSOCK, 38):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
                try:
                    print(socket.socket(family, kind))
                except PermissionError:
                    pass
        left, right = socket.socketpair()
        left.sendall(b"within the program")
        print(right.recv(99).decode())
    """
    assert printed(sandbox, source) == "within the program"


@pytest.mark.parametrize(("without", "reached"), [({"seccomp"}, False), ({"seccomp", "network"}, True)])
def test_the_network_namespace_holds_where_the_filter_is_gone(server: socket.socket, without: set[str],
                                                              reached: bool) -> None:
    with open_sandbox("local", workers=1, without=without) as weakened:
        result = run(weakened, CONNECT.format(port=server.getsockname()[1]))
    assert (result.stdout == b"reached\n") == reached
    assert result.layers == tuple(layer for layer in (*LAYERS, *result.layers[len(LAYERS) - len(without):])
                                  if layer not in without)


def test_without_a_root_of_its_own_a_program_reads_the_machine() -> None:
    with open_sandbox("local", workers=1, without={"mount"}) as weakened:
        assert printed(weakened, READ.format(paths=["/etc/passwd"])) == "/etc/passwd True"
        assert not {"mount", "watch"} & set(weakened.layers())


def test_without_a_process_namespace_a_program_has_another_number() -> None:
    with open_sandbox("local", workers=1, without={"pid"}) as weakened:
        assert printed(weakened, "import os; print(os.getpid() > 2)") == "True"


HOST = """
import sys
from reasongym.sandbox import Job, open_sandbox
sandbox = open_sandbox("local", workers=1)
session = sandbox.open(Job(files={"main.py": b"import os, time; os.write(3, bytes([0, 0, 0, 1, 65])); time.sleep(60)"}))
session.receive(timeout_s=20, limit_bytes=1)
print("running", flush=True)
sys.stdin.read()
"""


def test_a_killed_host_leaves_no_process(repo_root: Path) -> None:
    host = subprocess.Popen([sys.executable, "-c", HOST], cwd=repo_root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert host.stdin is not None
    assert host.stdout is not None
    with host.stdin, host.stdout:
        assert host.stdout.readline() == b"running\n"
        inside = [os.pidfd_open(pid) for pid in below(host.pid)]
        assert len(inside) == 3  # the one that waits, the agent, the job
        host.send_signal(signal.SIGKILL)
        host.wait()
        for process in inside:
            assert select.select([process], [], [], 20.0)[0], "a process outlived the host"
            os.close(process)


LIMITED = """
import resource
from reasongym.sandbox import Job, Limits, open_sandbox
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (300 * 2**20, hard))
with open_sandbox("local", workers=1) as sandbox:
    program = b"import resource; print(resource.getrlimit(resource.RLIMIT_AS)[0] >> 20)"
    print(sandbox.run(Job(files={"main.py": program}, limits=Limits(memory_mb=700))).stdout.decode())
"""


def test_the_memory_limit_of_a_scoring_worker_is_not_the_jobs(repo_root: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], cwd=repo_root, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("700", "")


def test_a_crash_starts_no_program_outside(sandbox: Sandbox) -> None:
    # At 1 the kernel neither writes a core file nor starts the machine's handler of core dumps, as it would at 0.
    source = """
        import resource
        print(open("/proc/self/limits").read().split("core file size")[1].split()[:2])
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        except (OSError, ValueError):
            print("refused")
    """
    limit = 0 if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else 1  # where the machine allows none, none
    assert printed(sandbox, source) == f"['{limit}', '{limit}']\nrefused"


def test_a_layer_that_cannot_be_had_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    # A folder that does not exist cannot be shown: stands for any step of building walls that the kernel refuses.
    monkeypatch.setattr("reasongym.sandbox.local.shown_folders", lambda python: ("/no-such-folder",))
    with pytest.raises(SandboxError, match="No such file"):
        open_sandbox("local", workers=1)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no layer to go without is named"):
        open_sandbox("local", without={"secomp"})
    with pytest.raises(ValueError, match="no sandbox is named 'dokcer'"):
        open_sandbox("dokcer")


def test_no_isolation_is_never_had_unasked_and_is_stamped() -> None:
    with pytest.raises(ValueError, match="isolates nothing"):
        open_sandbox("none")
    with open_sandbox("none", workers=1, unsafe_no_isolation=True) as unsafe:
        result = unsafe.run(job("import os, sys; print(sys.argv[1], os.getpid() > 2)", "here"))
    assert (result.stdout, result.layers) == (b"here True\n", ("none",))
