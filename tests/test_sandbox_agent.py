"""What one job can do to itself, to the machine's resources and to the job after it on the same warm worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import held
from sandbox_jobs import RememberingWalls, job, printed, run

from reasongym.sandbox import Ending, Job, Limits, Sandbox, SandboxError, Session
from reasongym.sandbox.local import LocalWalls
from reasongym.sandbox.pool import Pool
from reasongym.sandbox.process import ChildEnclosure


@pytest.fixture(scope="module")
def walls() -> RememberingWalls:
    return RememberingWalls()


@pytest.fixture(scope="module")
def sandbox(walls: RememberingWalls) -> Iterator[Sandbox]:
    with Pool(walls, workers=1) as opened:
        yield opened


@pytest.fixture
def one_worker(sandbox: Sandbox, walls: RememberingWalls) -> Iterator[None]:
    """The test's jobs all ran on the same worker: cleaning, not replacing, kept them apart."""
    run(sandbox, "")
    built = len(walls.built)
    yield
    run(sandbox, "")
    assert len(walls.built) == built


# --- a program's own end ---


@pytest.mark.parametrize(("source", "ending", "status"), [
    ("", Ending.EXITED, 0),
    ("raise SystemExit(7)", Ending.EXITED, 7),
    ("import os; os._exit(0)", Ending.EXITED, 0),
    ("1 / 0", Ending.EXITED, 1),
    ("def broken(:", Ending.EXITED, 1),
    ("import os; os.kill(os.getpid(), 9)", Ending.SIGNALLED, 137),
    ("import os; os.abort()", Ending.SIGNALLED, 134),
    ("import ctypes; ctypes.string_at(0)", Ending.SIGNALLED, 139),
    ("import ctypes; ctypes.CDLL(None).unshare(0)", Ending.SIGNALLED, 159),  # 128 + SIGSYS
    ("import time; time.sleep(60)", Ending.WALL_TIME, 137),
    ("while True: pass", Ending.CPU_TIME, 137),
    ("x = bytearray(10**9)", Ending.MEMORY, 1),
])
def test_each_end_has_its_name(sandbox: Sandbox, source: str, ending: Ending, status: int) -> None:
    short = {Ending.WALL_TIME: {"wall_s": 0.5}, Ending.CPU_TIME: {"cpu_s": 0.1}}.get(ending, {})
    result = run(sandbox, source, **short)
    assert (result.ending, result.status) == (ending, status), result


def test_a_program_is_started_as_an_interpreter_would(sandbox: Sandbox) -> None:
    source = """
        import atexit, sys, helper
        atexit.register(print, "at exit")
        print(__name__, __file__, sys.argv, helper.value, {name for name in globals() if not name.startswith("__")}
              == {"atexit", "sys", "helper"})
        print(sys.stdin.read(), [name for name in sys.modules if "reasongym" in name])
        import threading
        threading.Thread(target=lambda: print("from a thread")).start()
    """
    result = sandbox.run(job(source, "--flag", "ü", stdin=b"in", helper=b"value = 1"))
    assert result.stdout.decode().splitlines() == [
        "__main__ /work/main.py ['/work/main.py', '--flag', 'ü'] 1 True", "in []", "from a thread", "at exit"]


def test_output_beyond_the_limit_is_dropped_and_said(sandbox: Sandbox) -> None:
    result = run(sandbox, "import sys\nsys.stdout.write('a' * 5000)\nsys.stderr.write('b' * 10)", output_kb=2)
    assert (result.stdout, result.stderr, result.cut, result.status) == (b"a" * 2048, b"b" * 10, True, 0)


def test_output_without_end_costs_the_host_no_memory(sandbox: Sandbox) -> None:
    result = run(sandbox, "while True: print('x' * 65536)", cpu_s=0.2, output_kb=4)
    assert (result.ending, len(result.stdout), result.cut) == (Ending.CPU_TIME, 4096, True)


@pytest.mark.parametrize("broken", [
    job("", limits=Limits(cpu_s=float("inf"))), job("", limits=Limits(memory_mb=1)),
    job("", limits=Limits(processes=0)), job("", "a\0b"), Job(files={"../main.py": b""}, main="../main.py"),
    Job(files={"a.py": b""}), Job(files={"main.py": bytes(2**21)}, limits=Limits(work_mb=2))])
def test_a_job_that_cannot_be_is_the_callers_mistake(sandbox: Sandbox, broken: Job) -> None:
    with pytest.raises(ValueError, match=r"got .*expected|null character"):
        sandbox.run(broken)


# --- resources ---


@pytest.mark.parametrize("source", [
    "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(60,)).start()\n"
    "    except RuntimeError: pass",
    # Many processes share the time: each alone is far from the limit.
    "import os\nfor _ in range(6):\n    if os.fork() == 0:\n        while True: pass\nimport time; time.sleep(60)",
    # Children that are gone count too.
    "import os\nwhile True:\n    if os.fork() == 0:\n        sum(range(10**5)); os._exit(0)\n    os.wait()",
    # So do those whose parent is gone too, which the agent reaps.
    "import os\nends = os.pipe()\nfor _ in range(12):\n    if os.fork() == 0:\n        if os.fork() == 0:\n"
    "            os.write(ends[1], bytes([sum(range(4 * 10**6)) % 2]))\n        os._exit(0)\n    os.wait()\n"
    "    os.read(ends[0], 1)",
    "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "while True: pass",
    "10 ** 10 ** 8",  # one operation of the interpreter, which no signal handler interrupts
    "import re; re.match('(a+)+b', 'a' * 40)",
])
def test_processor_time_is_of_all_processes_together(sandbox: Sandbox, one_worker: None, source: str) -> None:
    result = run(sandbox, source, cpu_s=0.3, memory_mb=256)
    assert result.ending is Ending.CPU_TIME
    assert result.cpu_s >= 0.3


def test_memory_is_of_all_processes_together(sandbox: Sandbox) -> None:
    source = """
        import os, time
        for _ in range(6):
            if os.fork() == 0:
                block = bytearray(40 * 2**20)
                time.sleep(60)
        time.sleep(60)
    """
    assert run(sandbox, source, memory_mb=100).ending is Ending.MEMORY


@pytest.mark.parametrize("folder", ["/work", "/tmp", "/dev/shm"])
def test_what_is_written_is_bounded(sandbox: Sandbox, one_worker: None, folder: str) -> None:
    source = f"""
        import os
        written = 0
        try:
            for n in range(99):
                with open(f"{folder}/{{n}}", "wb") as file:
                    written += file.write(bytes(2**20))
        except OSError as error:
            print(error.errno, written <= 4 * 2**20)
        try:
            for n in range(99999):
                os.mkdir(f"{folder}/folder{{n}}")
        except OSError as error:
            print(error.errno)
    """
    assert printed(sandbox, source, work_mb=4) == "28 True\n28"  # ENOSPC, of space and of files
    assert printed(sandbox, f"print(__import__('os').listdir({folder!r}))") in ("[]", "['main.py']")


def test_one_file_is_bounded(sandbox: Sandbox) -> None:
    source = """
        try:
            with open("/tmp/one", "wb", 0) as file:
                while True:
                    file.write(bytes(2**18))
        except OSError as error:
            print(error.errno)
    """
    assert printed(sandbox, source, file_mb=2) == "27"  # EFBIG


def test_each_job_has_its_own_limits(sandbox: Sandbox, one_worker: None) -> None:
    source = "import resource as r, os\nprint(r.getrlimit(r.RLIMIT_AS)[0] >> 20, os.statvfs('/work').f_blocks >> 8)"
    assert printed(sandbox, source, memory_mb=64, work_mb=2) == "64 2"
    assert printed(sandbox, source, memory_mb=256, work_mb=16) == "256 16"


# --- the next job on the same worker ---


def test_the_next_job_finds_no_file(sandbox: Sandbox, one_worker: None) -> None:
    run(sandbox, """
        import os
        for folder in ("/work", "/tmp", "/dev/shm"):
            os.chdir(folder)
            open("plain", "w").write("mark")
            os.symlink("/usr", "link")
            os.mkfifo("fifo")
            os.makedirs("a/b/c")
            open("a/b/c/deep", "w").close()
            open(os.fsdecode(bytes(range(1, 47)) + bytes(range(48, 256))), "w").close()
            os.chmod("a/b", 0)
            os.chmod("a", 0)
            os.mkdir("locked")
            os.chmod("locked", 0)
        for folder in ("/tmp", "/work"):
            os.chdir(folder)
            os.chmod(folder, 0)
    """)
    source = """
        import os
        for folder in ("/work", "/tmp", "/dev/shm"):
            print(oct(os.stat(folder).st_mode), os.listdir(folder))
    """
    assert printed(sandbox, source).splitlines() == ["0o40700 ['main.py']", "0o40700 []", "0o40700 []"]


def test_folders_deeper_than_any_path_are_removed(sandbox: Sandbox, one_worker: None) -> None:
    source = "import os\nos.chdir('/tmp')\nfor _ in range(2500):\n    os.mkdir('d' * 100); os.chdir('d' * 100)"
    assert printed(sandbox, source) == ""
    assert printed(sandbox, "import os; print(os.listdir('/tmp'))") == "[]"


def test_no_process_outlives_its_job(sandbox: Sandbox, one_worker: None) -> None:
    run(sandbox, """
        import os, signal, time
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
    """)
    assert printed(sandbox, "import os; print([n for n in os.listdir('/proc') if n.isdigit()])") == "['2']"


def test_the_next_job_cannot_count_the_last_ones_processes(sandbox: Sandbox, one_worker: None) -> None:
    run(sandbox, "import os\nfor _ in range(20):\n    if os.fork() == 0: os._exit(0)\n    os.wait()")
    assert printed(sandbox, "import os; print(os.getpid())") == "2"


def test_the_agent_never_holds_a_job(sandbox: Sandbox, walls: RememberingWalls, one_worker: None) -> None:
    mark = os.urandom(8).hex()
    source = f"print('{mark}' in open('/work/main.py').read(), input(), '{mark}')"
    result = sandbox.run(job(source, mark, stdin=mark.encode()))
    assert result.stdout == f"True {mark} {mark}\n".encode()
    agent = agent_of(walls)
    with open(f"/proc/{agent}/mem", "rb", 0) as memory:
        for line in Path(f"/proc/{agent}/maps").read_text().splitlines():
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                memory.seek(start)
                assert mark.encode() not in memory.read(end - start), line


def agent_of(walls: RememberingWalls) -> int:
    waiting = walls.built[-1]._process.pid
    return int(Path(f"/proc/{waiting}/task/{waiting}/children").read_text())


def test_without_cleaning_the_next_job_finds_files() -> None:
    with Pool(LocalWalls(without={"cleaning"}), workers=1) as weakened:
        run(weakened, "open('/tmp/mark', 'w').close()")
        assert printed(weakened, "import os; print(os.listdir('/tmp'))") == "['mark']"


def test_without_limits_a_program_has_many_processes() -> None:
    source = "import os, time\nfor _ in range(12):\n    if os.fork() == 0: time.sleep(60)\nprint('forked')"
    assert printed_or_nothing(frozenset({"rlimits", "cgroup"}), source) == "forked\n"
    assert printed_or_nothing(frozenset(), source) == ""


def printed_or_nothing(without: frozenset[str], source: str) -> str:
    with Pool(LocalWalls(without=without), workers=1) as sandbox:
        return run(sandbox, source).stdout.decode()


# --- sessions ---

ECHO = """
    import os
    def read(size):
        data = b""
        while len(data) < size:
            part = os.read(3, size - len(data))
            if not part:
                raise SystemExit(3)
            data += part
        return data
    while True:
        frame = read(int.from_bytes(read(4), "big"))
        print(len(frame), flush=True)
        os.write(3, len(frame).to_bytes(4, "big") + frame)
"""


def ask(session: Session, frame: bytes) -> bytes:
    session.send(frame, timeout_s=20)
    return session.receive(timeout_s=20, limit_bytes=2**20)


def test_a_session_answers_and_its_worker_serves_the_next(sandbox: Sandbox, one_worker: None) -> None:
    session = sandbox.open(job(ECHO))
    assert [ask(session, frame) for frame in (b"a", b"", b"b" * 100_000)] == [b"a", b"", b"b" * 100_000]
    result = session.finish()
    assert (result.ending, result.stdout) == (Ending.SIGNALLED, b"1\n0\n100000\n")
    assert session.finish() is result


@pytest.mark.parametrize(("source", "error"), [
    ("import os; os.close(3)\nimport time; time.sleep(60)", EOFError),
    ("", EOFError),
    ("import time; time.sleep(60)", TimeoutError),
    ("import os; os.write(3, b'half')\nimport time; time.sleep(60)", ValueError),  # b"half" is a length of 1.7e9
    ("import os; os.write(3, bytes([0, 0, 0, 9, 1]))", EOFError),
])
def test_a_program_that_breaks_the_frames(sandbox: Sandbox, one_worker: None, source: str,
                                          error: type[Exception]) -> None:
    session = sandbox.open(job(source))
    with pytest.raises(error):
        session.receive(timeout_s=0.3 if error is TimeoutError else 20, limit_bytes=100)
    session.finish()


def test_a_send_that_is_not_read_ends_in_time(sandbox: Sandbox) -> None:
    session = sandbox.open(job("import time; time.sleep(60)"))
    with pytest.raises(TimeoutError):
        session.send(bytes(10**7), timeout_s=0.2)
    session.finish()


def test_descriptors_sent_over_the_channel_do_not_arrive(sandbox: Sandbox) -> None:
    source = "import socket, os\nchannel = socket.socket(fileno=3)\ntry:\n    socket.send_fds(channel, [b'x'], [0])\n" \
             "except PermissionError:\n    os.write(3, bytes([0, 0, 0, 1, 65]))\nimport time; time.sleep(60)"
    run(sandbox, "")  # on whose worker it comes
    before = held()
    session = sandbox.open(job(source))
    assert session.receive(timeout_s=20, limit_bytes=1) == b"A"
    session.finish()
    assert not held() - before


def test_a_session_ends_at_its_wall_time_unasked(sandbox: Sandbox) -> None:
    session = sandbox.open(job("import time; time.sleep(60)", limits=Limits(wall_s=0.2, memory_mb=128)))
    with pytest.raises(EOFError):
        session.receive(timeout_s=20, limit_bytes=1)
    assert session.finish().ending is Ending.WALL_TIME


# --- workers ---


def test_a_killed_worker_is_replaced_and_its_job_tried_once_more() -> None:
    walls = RememberingWalls()
    with Pool(walls, workers=1) as sandbox:
        run(sandbox, "")
        os.kill(walls.built[-1]._process.pid, signal.SIGKILL)
        walls.built[-1]._process.wait()
        assert run(sandbox, "print(1)").stdout == b"1\n"
        assert len(walls.built) == 2


def test_a_worker_that_dies_in_a_session_is_an_error_and_not_a_result() -> None:
    walls = RememberingWalls()
    with Pool(walls, workers=1) as sandbox:
        session = sandbox.open(job(ECHO))
        ask(session, b"up")
        os.kill(agent_of(walls), signal.SIGSTOP)  # so that it is asked for the end before it is gone, and never answers
        session._running._stop()
        os.kill(agent_of(walls), signal.SIGKILL)
        with pytest.raises(SandboxError, match="the agent died"):
            session.finish()
        assert run(sandbox, "print(1)").stdout == b"1\n"


def test_a_second_failure_is_an_error_and_never_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    walls = RememberingWalls()

    def die(self: ChildEnclosure, limits: Limits) -> None:
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    monkeypatch.setattr(ChildEnclosure, "prepare", die)
    with Pool(walls, workers=1) as sandbox, pytest.raises(SandboxError):
        run(sandbox, "print(1)")
    assert len(walls.built) == 2


def test_a_closed_pool_takes_no_job_and_may_be_closed_again() -> None:
    sandbox = Pool(LocalWalls(), workers=1)
    run(sandbox, "")
    before = held()
    sandbox.close()
    sandbox.close()
    assert held() < before
    with pytest.raises(SandboxError, match="is closed"):
        run(sandbox, "")


def test_a_forked_process_cannot_use_its_parents_workers(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 0)
    with pytest.raises(SandboxError, match="was forked from"):
        run(sandbox, "")


