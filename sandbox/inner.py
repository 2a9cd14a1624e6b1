"""The first steps of a job's own process, forked by the agent: read the job, lock the door, become the program.

Covers: what the process can still do once the program runs. It does not cover what the walls do (namespaces or a
container) and what the agent does afterwards (killing and cleaning). The order matters: nothing of the job is executed
before the last step, and everything that needs a right comes before that right is given up.
"""

from __future__ import annotations

import _sitebuiltins
import json
import os
import resource
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from reasongym.sandbox import linux, seccomp

__all__ = ["CHANNEL", "ENVIRONMENT", "Program", "become", "read_exactly"]

CHANNEL = 3
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/work", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}
MIB = 2**20
HARD_CPU_GRACE_S = 1
"""SIGXCPU, which a program may catch, comes at the limit; SIGKILL this much later."""


class Program(NamedTuple):
    """Arguments of compile(), left to the caller: a syntax error is then the program's own."""

    source: bytes
    filename: str
    mode: str = "exec"
    flags: int = 0
    dont_inherit: bool = True


def become(descriptors: Sequence[int], report: int, *, work: str, without: Collection[str],
           residents: int | None, own_groups: bool) -> Program:
    """Turn this freshly forked process into the job's.

    own_groups: a namespace of control groups that begins at the worker's, whose name says how the host calls it.
    descriptors: the job, stdin, stdout, stderr and, of a session, the channel. report: a pipe's end; a failure before
    the program runs is written there and is the sandbox's; its closing says that all went well.
    """
    os.setsid()
    if own_groups:
        linux.unshare(linux.CLONE_NEWCGROUP)
    report = _arrange(descriptors, report)
    _reset_signals()
    os.chdir(work)
    header = _read_job(descriptors[0])
    limits = header["limits"]
    if "rlimits" not in without:
        set_limits(limits, residents)
    if "capabilities" not in without:
        linux.keep_capabilities(frozenset())
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if "seccomp" not in without:
        linux.install_filter(seccomp.program(os.uname().machine))
    os.close(report)
    return _clean_interpreter(header, work)


def set_limits(limits: Mapping[str, Any], residents: int | None) -> None:
    """Hard limits; a process may only lower them. Each is of one process, but NPROC: of the user namespace."""
    cpu = max(1, -int(-limits["cpu_s"] // 1))
    wanted = {
        resource.RLIMIT_AS: limits["memory_mb"] * MIB,
        resource.RLIMIT_FSIZE: limits["file_mb"] * MIB,
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_CORE: 1,  # at 0 a machine's handler of core dumps, a program outside, would still be started
        resource.RLIMIT_MEMLOCK: 0, resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 256, resource.RLIMIT_NICE: 0, resource.RLIMIT_RTPRIO: 0}
    if residents is not None:
        wanted[resource.RLIMIT_NPROC] = limits["processes"] + residents
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + HARD_CPU_GRACE_S))
    # No hard one: programs that recurse deeply ask for more, of the address space that they have anyway.
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = min(8, limits["memory_mb"]) * MIB
    resource.setrlimit(resource.RLIMIT_STACK, (stack if hard == resource.RLIM_INFINITY else min(stack, hard), hard))


def read_exactly(descriptor: int, size: int) -> bytes:
    """Raises EOFError where the file ends before."""
    parts = []
    while size:
        part = os.read(descriptor, min(size, MIB))
        if not part:
            raise EOFError(f"{size} bytes are missing")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _arrange(descriptors: Sequence[int], report: int) -> int:
    """Streams at 0 to 2, the channel at 3, the job and the report above, all else closed. Returns the report's number.

    The job's descriptor keeps its number: the agent receives it above those that are overwritten here.
    """
    job, *streams = descriptors
    assert min(*descriptors, report) > CHANNEL
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target, inheritable=True)
    kept = sorted({job, report})
    low = CHANNEL + (len(streams) > CHANNEL)
    for descriptor in kept:
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
    return report


def _reset_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as every Python program has them: the call fails instead
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _read_job(descriptor: int) -> dict[str, Any]:
    """Length of the header, header, files one behind the other. Files go to the current folder."""
    header: dict[str, Any] = json.loads(read_exactly(descriptor, int.from_bytes(read_exactly(descriptor, 4))))
    for name, size in header["files"]:
        content = read_exactly(descriptor, size)
        if name == header["main"]:
            header["source"] = content
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with open(os.open(name, flags, 0o644), "wb") as file:
            file.write(content)
    os.close(descriptor)
    return header


def _clean_interpreter(header: Mapping[str, Any], work: str) -> Program:
    """As `python -I main.py` would find it, but that siblings of the main file can be imported, and no others."""
    main = f"{work}/{header['main']}"
    sys.argv = [main, *header["arguments"]]
    sys.path.insert(0, work)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    for name in [name for name in sys.modules if name.partition(".")[0] == "reasongym"]:
        del sys.modules[name]
    _open_streams()
    namespace = sys.modules["__main__"].__dict__
    builtins = namespace["__builtins__"]
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    builtins.help = _sitebuiltins._Helper()
    sys.excepthook = _print_traceback
    namespace.clear()
    namespace.update(__name__="__main__", __file__=main, __builtins__=builtins, __doc__=None, __spec__=None,
                     __loader__=None, __package__=None)
    return Program(header["source"], main)


def _print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """As the interpreter does, without the frame that the program was started from."""
    if trace is not None and trace.tb_frame.f_back is None and trace.tb_frame.f_code.co_filename == "<string>":
        trace = error.__traceback__ = trace.tb_next
    sys.__excepthook__(kind, error, trace)


def _open_streams() -> None:
    """Anew: the agent's own were opened on other files, whose buffering and position they remember."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        stream = os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8", errors=errors, closefd=False,
                           buffering=1 if name == "stderr" else -1)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
