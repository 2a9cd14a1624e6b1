"""What the agent does to a job that is over: counts, kills, empties. Every step ends in a check that it worked."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import time
from collections.abc import Iterable

__all__ = ["Census", "blur_devices", "kill_all", "renew", "wipe"]

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
MEMORY = (b"RssAnon:", b"RssShmem:")
MAX_SWEEPS = 1000
SWEEP_S = 0.001


class Census:
    """Processes of one job: living ones are read from /proc, ended ones reaped as the job's PID 1.

    proc: descriptor of /proc, None where there is none: then nothing is known of the living. main: the first process.

    memory_mb counts what each living process has in its tables, but pages of files: what several share counts for each,
    so that a job of many processes looks larger. Shared memory that a process gives back from its tables and keeps by
    its mapping is not seen: there a control group counts, else each process's address space bounds it.
    """

    def __init__(self, proc: int | None, *main: int) -> None:
        self.status = 0
        self.cpu_s = 0.0
        self.memory_mb = 0.0
        self.peak_kb = 0
        self.main = main
        self._proc = proc
        self._reaped_cpu_s = 0.0

    def take(self) -> None:
        """Reap what has ended, then read what lives."""
        while self.reap(os.WNOHANG):
            pass
        cpu_ticks = memory_kb = 0
        for pid in self.living():
            try:
                fields = self._read(f"{pid}/stat").rpartition(b")")[2].split()
                status = self._read(f"{pid}/status")
            except OSError:  # it ended meanwhile
                continue
            cpu_ticks += sum(int(field) for field in fields[11:15])
            memory_kb += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith(MEMORY))
        self.cpu_s = self._reaped_cpu_s + cpu_ticks / TICKS_PER_S
        self.memory_mb = memory_kb / 1024
        self.peak_kb = max(self.peak_kb, memory_kb)

    def living(self) -> list[int]:
        """All but this process, where it is PID 1 and /proc is of its namespace; else its children and theirs."""
        me = os.getpid()
        if self._proc is None:
            return []
        if me == 1:
            own = os.readlink("self", dir_fd=self._proc) == "1"
            return [int(name) for name in os.listdir(self._proc) if name.isdigit() and name != "1"] if own else []
        found: list[int] = []
        pending = [me]
        while pending:
            pid = pending.pop()
            with contextlib.suppress(OSError):  # it ended meanwhile
                children = self._children(pid)
                found += children
                pending += children
        return found

    def _children(self, pid: int) -> list[int]:
        tasks = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
        try:
            texts = [self._of_thread(pid, task) for task in os.listdir(tasks)]
        finally:
            os.close(tasks)
        return [int(word) for text in texts for word in text.split()]

    def _of_thread(self, pid: int, task: str) -> bytes:
        try:
            return self._read(f"{pid}/task/{task}/children")
        except OSError:  # the thread ended meanwhile; those of the others count
            return b""

    def _read(self, path: str) -> bytes:
        with open(os.open(path, os.O_RDONLY, dir_fd=self._proc), "rb") as file:
            return file.read()

    def reap(self, options: int) -> bool:
        """One ended process; False where there is none, or, without WNOHANG, none at all any more."""
        try:
            pid, status, usage = os.wait4(-1, options)
        except ChildProcessError:
            return False
        if pid == 0:
            return False
        if pid in self.main:
            self.status = status
        self._reaped_cpu_s += usage.ru_utime + usage.ru_stime
        self.cpu_s = max(self.cpu_s, self._reaped_cpu_s)
        self.peak_kb = max(self.peak_kb, usage.ru_maxrss)
        return True


def kill_all(census: Census) -> None:
    """Returns when no process of the job is left. Only PID 1 of a namespace can be sure of that: see _kill_by_name."""
    if os.getpid() != 1:
        _kill_by_name(census)
        return
    for _ in range(MAX_SWEEPS):
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        if not census.reap(0):
            return
        while census.reap(os.WNOHANG):
            pass
    raise OSError(errno.EBUSY, f"processes are left after {MAX_SWEEPS} sweeps")


def _kill_by_name(census: Census) -> None:
    """Without a namespace of our own, where kill(-1) would reach the user's every process. One that hides where /proc
    cannot be read stays: that is what going without the layer means."""
    for _ in range(MAX_SWEEPS):
        for pid in census.living() or census.main:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while census.reap(os.WNOHANG):
            pass
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        time.sleep(SWEEP_S)


def wipe(folders: Iterable[str]) -> str:
    """Empty each folder. Returns what could not be removed, or nothing."""
    for folder in folders:
        try:
            os.chmod(folder, 0o700)
            _empty(folder)
            if left := os.listdir(folder):
                return f"{folder}/{left[0]}"
            os.utime(folder, (0, 0))  # the folder stays: its times are 16 bytes that the next job could read
        except OSError as error:
            return f"{folder} ({error})"
    return ""


def renew(folders: Iterable[str]) -> None:
    """Their time of change is that of this call, which is the next job's: wiping left when the last one had ended."""
    for folder in folders:
        os.utime(folder, (0, 0))


def blur_devices() -> None:
    """Who may write to a device may set its times to now, and a pattern of those would be a message to the next job:
    all of them become now. Where the walls show devices on a read-only mount, nobody can."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/dev"):
            with contextlib.suppress(OSError):
                if stat.S_ISCHR(os.stat(f"/dev/{name}", follow_symlinks=False).st_mode):
                    os.utime(f"/dev/{name}", follow_symlinks=False)


def _empty(folder: str) -> None:
    """Deep trees are flattened, not followed: a job can nest folders deeper than any recursion or path may go."""
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fresh = os.urandom(8).hex()  # a name that the job has not laid a full folder at
    try:
        count = 0
        while names := os.listdir(top):
            for name in names:
                if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                    os.unlink(name, dir_fd=top)
                    continue
                count = _lift_children(top, name, f"{fresh}-", count)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


def _lift_children(top: int, name: str, prefix: str, count: int) -> int:
    """Move the content of a folder up under fresh names; returns the next free number."""
    os.chmod(name, 0o700, dir_fd=top)  # a folder that its owner may not write to cannot be emptied
    inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for child in os.listdir(inside):
            if stat.S_ISDIR(os.stat(child, dir_fd=inside, follow_symlinks=False).st_mode):
                os.chmod(child, 0o700, dir_fd=inside)  # moving a folder rewrites its `..`, which needs write access
                os.rename(child, f"{prefix}{count}", src_dir_fd=inside, dst_dir_fd=top)
                count += 1
            else:
                os.unlink(child, dir_fd=inside)
    finally:
        os.close(inside)
    return count
