"""The docker backend on a real engine: its walls, its sizes, and what comes of a container or engine that fails."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sandbox_rounds
from docker_engines import PrivateEngine, archive, engine_for_tests, why_none_can_run
from sandbox_jobs import QUICK, job, printed, run

from reasongym.sandbox import Ending, Job, Limits, Result, Sandbox, SandboxError, boot, image, open_sandbox
from reasongym.sandbox.contained import MODULES
from reasongym.sandbox.docker_api import Engine
from reasongym.sandbox.docker_container import LABEL, UNNAMED_USERS, host_labels
from reasongym.sandbox.docker_engine import LAYERS, look, open_docker
from reasongym.sandbox.pool import Pool

pytestmark = pytest.mark.timeout(600)  # an engine with its image may have to be made first


@pytest.fixture(scope="module")
def engine(docker_host: str) -> Iterator[Engine]:
    opened = Engine(docker_host)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def sandbox(docker_host: str) -> Iterator[Sandbox]:
    with open_docker(workers=1, host=docker_host) as opened:
        run(opened, "")  # has a container of QUICK's size made, so that a test sees only its own
        yield opened


def containers(engine: Engine) -> list[str]:
    """Of this process, that run: one whose agent has ended the engine removes by itself, a while later."""
    return [found["Id"] for found in engine.api.containers(filters={"label": f"{LABEL}.pid={os.getpid()}"})]


def in_rounds(way: str, host: str, folder: Path) -> list[tuple[str, int]]:
    """Of sandbox_rounds.py in a process of its own: what was said in each round, and the descriptors held after it.

    In this process a thread of an earlier test may open or close one meanwhile.
    """
    ended = subprocess.run([sys.executable, "-W", "error", sandbox_rounds.__file__, way, host], timeout=300,
                           env=os.environ | {"TMPDIR": str(folder)}, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")  # what the collector finds open is a warning there
    return [(said, held) for said, held in json.loads(ended.stdout)]


def until(condition: Callable[[], object], *, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


# --- the walls ---


def test_every_result_names_the_layers(sandbox: Sandbox) -> None:
    result = run(sandbox, "print('in')")
    assert (result.stdout, result.layers[-len(LAYERS):]) == (b"in\n", LAYERS)
    assert sandbox.layers() == result.layers


def test_a_program_has_no_right_no_name_and_the_filter(sandbox: Sandbox) -> None:
    source = """
        import os
        for line in open("/proc/self/status"):
            if line.startswith(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp:", "Groups")):
                print(*line.split()[1:])
        print(*os.getresuid(), *os.getresgid(), os.uname().nodename)
    """
    *rights, ids = printed(sandbox, source).split("\n")
    assert rights[-7:] == [*["0" * 16] * 5, "1", "2"]
    assert ids.split()[-1] == "sandbox"
    assert {int(word) for word in ids.split()[:-1]} < set(UNNAMED_USERS)


def test_the_engine_is_asked_for_every_wall_also_where_another_would_hold(sandbox: Sandbox, engine: Engine) -> None:
    run(sandbox, "")
    asked = engine.api.inspect_container(containers(engine)[0])["HostConfig"]
    security = dict(option.split("=" if "=" in option else ":", 1) for option in asked["SecurityOpt"])
    assert security["no-new-privileges"] == "true"
    assert json.loads(security["seccomp"])["defaultAction"] == "SCMP_ACT_ERRNO"
    assert asked["Memory"] == asked["MemorySwap"] == (QUICK.memory_mb + 48) * 2**20
    assert (asked["PidsLimit"], asked["NanoCpus"]) == (QUICK.processes + 2, 10**9)
    expected = {"ReadonlyRootfs": True, "CapDrop": ["ALL"], "NetworkMode": "none", "IpcMode": "none", "Init": False,
                "AutoRemove": True, "Privileged": False}
    assert {name: asked[name] for name in expected} == expected
    assert [mount["ReadOnly"] for mount in asked["Mounts"]] == [True]
    assert asked["LogConfig"]["Type"] == "none"


def test_nothing_of_the_machine_is_seen(sandbox: Sandbox, repo_root: Path) -> None:
    source = f"""
        import os
        print([name for name in os.listdir("/proc") if name.isdigit()][0])
        for path in ({str(repo_root)!r}, "/var/run/docker.sock", "/run/docker.sock", "/root/.ssh"):
            print(os.path.exists(path), end=" ")
        for folder in ("/sys", "/proc/sys", "/agent", "/dev/mqueue", "/dev/pts", "/var"):
            print(os.listdir(folder), end=" ")
        for file in ("/proc/cmdline", "/proc/meminfo", "/proc/kcore", "/proc/version", "/proc/cpuinfo", "/proc/keys"):
            print(open(file, "rb").read() if os.access(file, os.R_OK) else b"", end=" ")
    """
    assert printed(sandbox, source).split("\n") == \
        ["1", " ".join(["False"] * 4 + ["[]"] * 6 + ["b''"] * 6)]


def test_only_three_folders_can_be_written_and_none_executed(sandbox: Sandbox) -> None:
    source = """
        import os, shutil
        for top, folders, _ in os.walk("/"):
            folders[:] = [name for name in folders if top != "/" or name not in ("proc", "sys")]
            if os.access(top, os.W_OK):
                print(top)
                copy = shutil.copy("/usr/bin/env", top + "/program")
                os.chmod(copy, 0o755)
                try:
                    os.execv(copy, [copy])
                except PermissionError:
                    pass
    """
    assert sorted(printed(sandbox, source).split()) == ["/dev/shm", "/tmp", "/work"]


def test_no_set_user_id_program_is_in_the_image(sandbox: Sandbox) -> None:
    source = """
        import os, stat
        for top, _, names in os.walk("/usr"):
            for name in names:
                if os.lstat(f"{top}/{name}").st_mode & (stat.S_ISUID | stat.S_ISGID):
                    print(top, name)
    """
    assert printed(sandbox, source) == ""


def test_the_agent_survives_signals_and_cannot_be_read(sandbox: Sandbox, engine: Engine) -> None:
    source = """
        import os, signal
        for number in signal.valid_signals():
            try:
                os.kill(1, number)
            except OSError as error:
                print(error)
        for look, names in ((os.listdir, "fd root cwd"), (lambda path: open(path, "rb").read(1), "environ maps mem")):
            for name in names.split():
                try:
                    print(name, look("/proc/1/" + name))
                except OSError:
                    pass
    """
    before = containers(engine)
    assert printed(sandbox, source) == ""
    assert run(sandbox, "").status == 0
    assert containers(engine) == before


CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), timeout=2); print('reached')"


@pytest.mark.parametrize(("without", "reached"), [
    (frozenset(), False),
    (frozenset({"seccomp"}), False),
    (frozenset({"seccomp", "network"}), True),
])
def test_no_program_reaches_the_machines_network(docker_host: str, without: frozenset[str], reached: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, \
            open_docker(workers=1, host=docker_host, without=without) as weakened:
        result = run(weakened, CONNECT.format(port=server.getsockname()[1]))
    assert (result.stdout == b"reached\n") == reached
    assert not without & set(result.layers)


# --- sizes ---


def test_a_job_of_another_size_gets_a_container_of_its_size(sandbox: Sandbox, engine: Engine) -> None:
    source = """
        import os
        print(sum(os.statvfs(path).f_blocks * os.statvfs(path).f_frsize for path in ("/work", "/tmp", "/dev/shm")))
    """
    assert printed(sandbox, source, work_mb=8) == str(8 * 2**20)
    before = containers(engine)
    assert printed(sandbox, source, work_mb=40, memory_mb=200) == str(40 * 2**20)
    assert printed(sandbox, source, work_mb=40, memory_mb=200) == str(40 * 2**20)
    assert len(containers(engine)) == len(before)
    assert containers(engine) != before


def test_processes_that_are_small_each_are_ended_when_they_are_large_together(sandbox: Sandbox) -> None:
    # 6 x 60 MiB: each below its own limit of 128, all above the group's of 128 + 48.
    source = """
        import os, time
        for _ in range(6):
            if os.fork() == 0:
                kept = bytearray(60 * 2**20)
                time.sleep(60)
        time.sleep(60)
    """
    assert run(sandbox, source).ending is Ending.MEMORY
    assert run(sandbox, "print(1)").stdout == b"1\n"


def test_a_fork_bomb_meets_the_limit_and_the_next_job_is_well(sandbox: Sandbox) -> None:
    source = """
        import os, time
        for made in range(100):
            try:
                if os.fork() == 0:
                    time.sleep(60)
            except BlockingIOError:
                print(made)
                break
    """
    assert 1 <= int(printed(sandbox, source, processes=8)) <= 9
    assert printed(sandbox, "import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]))") == "2"


def test_a_full_work_folder_is_the_programs_failure_and_gone_for_the_next(sandbox: Sandbox) -> None:
    source = """
        import errno
        for folder in ("/work", "/tmp", "/dev/shm"):
            try:
                with open(folder + "/fill", "wb") as file:
                    while True:
                        file.write(bytes(2**16))
            except OSError as error:
                print(errno.errorcode[error.errno])
    """
    assert printed(sandbox, source).split() == ["ENOSPC"] * 3
    assert printed(sandbox, "import os; print(os.listdir('/work'), os.listdir('/tmp'))") == "['main.py'] []"


def test_what_a_job_leaves_is_emptied_by_an_agent_without_rights(sandbox: Sandbox, engine: Engine) -> None:
    before = containers(engine)
    run(sandbox, """
        import os, time
        for folder in ("/work", "/tmp", "/dev/shm"):
            os.chdir(folder)
            os.makedirs("a/b")
            open("a/b/deep", "w").close()
            os.chmod("a/b", 0)
            os.chmod("a", 0)
        os.chmod("/tmp", 0)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
    """)
    source = """
        import os
        for folder in ("/work", "/tmp", "/dev/shm"):
            print(oct(os.stat(folder).st_mode), os.listdir(folder))
        print(len([name for name in os.listdir("/proc") if name.isdigit()]))
    """
    assert printed(sandbox, source).splitlines() == ["0o40700 ['main.py']", "0o40700 []", "0o40700 []", "2"]
    assert containers(engine) == before


# --- containers and hosts that die ---


def running_job(engine: Engine) -> str:
    """The container whose agent has a child, once there is one."""
    found: list[str] = []

    def look_for_it() -> bool:
        for container in containers(engine):
            pid = engine.api.inspect_container(container)["State"]["Pid"]
            if pid and Path(f"/proc/{pid}/task/{pid}/children").read_text():
                found.append(container)
        return bool(found)

    until(look_for_it)
    return found[0]


def test_a_job_whose_container_is_killed_is_tried_once_more(sandbox: Sandbox, engine: Engine) -> None:
    run(sandbox, "")
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(run, sandbox, "import time; time.sleep(4); print('done')")  # long enough to be found
        killed = running_job(engine)
        engine.remove(killed)
        assert answer.result().stdout == b"done\n"
    until(lambda: killed not in sandbox_rounds.containers(engine, os.getpid()))


def test_a_session_whose_container_is_killed_is_an_error_and_not_a_result(sandbox: Sandbox, engine: Engine) -> None:
    session = sandbox.open(job("import os, time; os.write(3, bytes([0, 0, 0, 1, 65])); time.sleep(60)"))
    session.receive(timeout_s=20, limit_bytes=1)
    engine.remove(running_job(engine))
    with pytest.raises(SandboxError, match=r"the agent (died|is gone)"):
        session.finish()
    assert run(sandbox, "print(1)").stdout == b"1\n"


HOST = """
import sys
from reasongym.sandbox import Job
from reasongym.sandbox.docker_engine import open_docker
sandbox = open_docker(workers=1, host=sys.argv[1])
session = sandbox.open(Job(files={"main.py": b"import os, time; os.write(3, bytes([0, 0, 0, 1, 65])); time.sleep(60)"}))
session.receive(timeout_s=20, limit_bytes=1)
print("running", flush=True)
sys.stdin.read()
"""


def test_a_killed_host_leaves_no_container(engine: Engine, repo_root: Path) -> None:
    host = subprocess.Popen([sys.executable, "-c", HOST, engine.host], cwd=repo_root, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    assert host.stdin is not None
    assert host.stdout is not None
    with host.stdin, host.stdout:
        assert host.stdout.readline() == b"running\n"
        label = {"label": f"{LABEL}.pid={host.pid}"}
        assert len(engine.api.containers(filters=label)) == 1
        host.send_signal(signal.SIGKILL)
        host.wait()
        until(lambda: not engine.api.containers(all=True, filters=label))


def test_containers_of_dead_hosts_are_removed_and_those_of_living_ones_are_not(engine: Engine) -> None:
    dead = host_labels() | {f"{LABEL}.started": "1"}  # this process's number, which another had before
    elsewhere = dead | {f"{LABEL}.namespace": "pid:[1]"}
    made = [engine.api.create_container(image.tag(), "true", labels=labels)["Id"]
            for labels in (dead, elsewhere, host_labels())]
    try:
        with open_docker(workers=1, host=engine.host):
            left = [container["Id"] for container in engine.api.containers(all=True)]
        assert [container in left for container in made] == [False, True, True]
    finally:
        for container in made:
            engine.remove(container)


def test_a_closed_sandbox_leaves_no_container_descriptor_or_folder(engine: Engine, tmp_path: Path) -> None:
    rounds = in_rounds("ran", engine.host, tmp_path)
    assert [said for said, _ in rounds] == ["".join(f"{number}\n" for number in range(8))] * len(rounds)
    assert len({held for _, held in rounds}) == 1, rounds
    assert os.listdir(tmp_path) == []


# --- engines that fail ---


@pytest.fixture
def own_engine() -> Iterator[PrivateEngine]:
    if reason := why_none_can_run():
        pytest.skip(f"no Docker engine can run here: {reason}")
    engine = PrivateEngine()
    try:
        engine.start()
        image.import_image(archive(), host=engine.host)
        yield engine
    finally:
        engine.remove()


def test_an_engine_that_stops_is_an_error_and_its_return_is_noticed(own_engine: PrivateEngine) -> None:
    with open_docker(workers=1, host=own_engine.host) as sandbox:
        session = sandbox.open(job("import time; time.sleep(60)"))
        own_engine.stop()
        with pytest.raises(SandboxError, match=r"the agent (died|is gone)"):
            session.finish()
        with pytest.raises(SandboxError, match=r"no Docker engine.*remedy: "):
            run(sandbox, "print(1)")
        own_engine.start()
        assert run(sandbox, "print(1)").stdout == b"1\n"


def test_an_engine_that_hangs_is_an_error(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "socket"))
        silent.listen(8)
        with pytest.raises(SandboxError, match="failed at being asked who it is"):
            Engine(f"unix://{tmp_path}/socket", answer_s=0.1)


def test_a_socket_without_engine_is_an_error_that_says_so(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(tmp_path / "socket"))
    with pytest.raises(SandboxError, match="no Docker engine answers"):
        look(f"unix://{tmp_path}/socket")
    with pytest.raises(SandboxError, match="there is no socket"):
        look(f"unix://{tmp_path}/none")


def test_a_socket_without_permission_is_an_error_that_names_the_group(tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", refused)
    with pytest.raises(SandboxError, match=r"no permission .* add this user to the group"):
        look(f"unix://{tmp_path}/socket")


@pytest.mark.parametrize("host", ["tcp://192.0.2.1:2375", "ssh://somewhere", "192.0.2.1:2375"])
def test_an_engine_elsewhere_is_refused_before_it_is_spoken_to(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(SandboxError, match="expected one on this machine"):
        open_sandbox("docker")


def test_a_missing_image_is_an_error_and_auto_goes_on_to_the_local_backend(docker_host: str,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    with open_sandbox("auto", workers=1) as found:
        assert found.name == "docker"
    monkeypatch.setattr(image, "tag", lambda: "reasongym-sandbox:absent")
    assert look(docker_host).image_is_built is False
    with pytest.raises(SandboxError, match=r"has no image reasongym-sandbox:absent; remedy: `reasongym sandbox build`"):
        open_sandbox("docker", workers=1)
    with open_sandbox("auto", workers=1) as found:
        assert found.name == "local"


def test_what_cannot_be_had_is_refused_by_name(docker_host: str) -> None:
    with pytest.raises(SandboxError, match="knows no runtime 'no-such'"):
        open_docker(workers=1, host=docker_host, runtime="no-such")
    with pytest.raises(ValueError, match="no layer of the docker sandbox to go without is named"):
        open_docker(workers=1, host=docker_host, without={"mount"})


def test_an_engine_without_control_groups_is_refused_unless_given_up(docker_host: str,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Engine.__init__

    def without_groups(self: Engine, *arguments: object, **options: object) -> None:
        asked(self, *arguments, **options)  # type: ignore[arg-type]
        self.details |= {"PidsLimit": False, "MemoryLimit": False}

    monkeypatch.setattr(Engine, "__init__", without_groups)
    with pytest.raises(SandboxError, match="cannot limit memory, processes"):
        open_docker(workers=1, host=docker_host)
    with open_docker(workers=1, host=docker_host, without={"cgroup"}) as weakened:
        assert "cgroup" not in run(weakened, "").layers


def test_a_container_whose_agent_cannot_start_is_an_error_that_names_the_image(docker_host: str,
                                                                               tmp_path: Path) -> None:
    rounds = in_rounds("refused", docker_host, tmp_path)
    for said, _ in rounds:
        assert "ended before its agent came; remedy: `reasongym sandbox build" in said
    assert len({held for _, held in rounds}) == 1, rounds  # a run asks again and again


def test_the_limits_of_a_default_job_are_those_a_first_container_has(sandbox: Sandbox, engine: Engine) -> None:
    sandbox.run(job("", limits=Limits()))
    before = containers(engine)
    sandbox.run(job("", limits=Limits(wall_s=QUICK.wall_s, output_kb=1)))
    assert containers(engine) == before


def test_the_fixture_skips_by_a_reason_that_ci_knows_only_where_no_engine_could_run(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(pytest.skip.Exception, match="no Docker engine can run here: this user is not root"), \
            engine_for_tests():
        pass


def test_a_runtime_that_cannot_run_a_job_is_refused_when_it_is_opened(docker_host: str,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(self: Pool, job: Job) -> Result:
        raise SandboxError("the agent died during a job: Function not implemented")

    monkeypatch.setattr(Pool, "run", lacking)
    with pytest.raises(SandboxError, match=r"the runtime runc cannot run a job: .*Function not implemented.*remedy:"):
        open_docker(workers=1, host=docker_host, runtime="runc")


def test_a_container_is_shown_all_modules_that_its_agent_loads() -> None:
    text = boot.command("contained", 0, python=sys.executable)[-2].partition("exec(")[0]
    names = "print(*(name.rpartition('.')[2] for name in sys.modules if name.startswith('reasongym.sandbox.')))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", text + names], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(MODULES)
