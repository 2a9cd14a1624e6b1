"""What a job is given: its content and its streams, checked, packed and held ready for the agent.

All of it travels as descriptors. Covers content that its holders cannot change and streams that end with the job; what
comes out of them is read in `running.py`.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket

from reasongym.sandbox.jobs import Job

__all__ = ["Descriptors"]

MIB = 2**20
LEAST = {"wall_s": 0.001, "cpu_s": 0.001, "memory_mb": 48, "processes": 1, "open_files": 12, "file_mb": 1,
         "work_mb": 1, "output_kb": 0}
"""Less than this and the interpreter does not reach the program: a failure that would look like the sandbox's."""
MOST = 2**30
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK


class Descriptors:
    """What a job is given (`inner`, in the order the agent expects) and the host's ends."""

    def __init__(self, job: Job, *, with_channel: bool) -> None:
        _check(job)
        self.inner: list[int] = []
        self.channel: socket.socket | None = None
        self.outputs: dict[int, bytearray] = {}
        self.inner += [_sealed_file("job", _packed(job)), _sealed_file("stdin", job.stdin)]
        for _ in ("stdout", "stderr"):
            ours, theirs = os.pipe()
            os.set_blocking(ours, False)
            os.fchmod(theirs, 0o622)  # open("/dev/stdout", "w") asks for this: inside is another user than the pipe's
            self.outputs[ours] = bytearray()
            self.inner.append(theirs)
        if with_channel:
            self.channel, theirs_too = socket.socketpair()
            self.channel.setblocking(False)
            self.inner.append(theirs_too.detach())

    def close_inner(self) -> None:
        while self.inner:
            os.close(self.inner.pop())

    def close(self) -> None:
        self.close_inner()
        for descriptor in self.outputs:
            os.close(descriptor)
        self.outputs = {}
        if self.channel is not None:
            self.channel.close()


def _check(job: Job) -> None:
    """Raises ValueError for a job that cannot be: the caller's mistake, neither the program's nor the sandbox's."""
    for name, least in LEAST.items():
        if not least <= (value := getattr(job.limits, name)) <= MOST:
            raise ValueError(f"a limit of a job is out of range: got {name}={value!r}, expected {least} to {MOST}")
    if (size := sum(map(len, job.files.values()))) > job.limits.work_mb * MIB // 2:
        raise ValueError(f"a job's files do not fit: got {size} bytes, expected at most half of work_mb, "
                         f"{job.limits.work_mb} MiB")
    for name in job.files:
        if name in {"", ".", ".."} or "/" in name or "\0" in name or _num_bytes(name) > 200:
            raise ValueError(f"a file of a job has no plain name: got {name!r}, expected one without folders")
    if job.main not in job.files:
        raise ValueError(f"the main file is not among the files: got {job.main!r}, expected one of {list(job.files)}")
    if any("\0" in argument for argument in job.arguments):
        raise ValueError("an argument of a job contains a null character, which no program can be given")


def _num_bytes(name: str) -> int:
    """Of bytes that are no text as well, which Python passes on as lone surrogates. Raises ValueError for others."""
    try:
        return len(os.fsencode(name))
    except UnicodeEncodeError:
        raise ValueError(f"a file of a job has a name that no file can have: got {name!r}") from None


def _packed(job: Job) -> bytes:
    limits = {name: getattr(job.limits, name) for name in job.limits.__slots__}
    header = json.dumps({"main": job.main, "arguments": job.arguments, "limits": limits,
                         "files": [(name, len(content)) for name, content in job.files.items()]}).encode()
    return b"".join([len(header).to_bytes(4), header, *job.files.values()])


def _sealed_file(name: str, content: bytes) -> int:
    """Memory that whoever holds the descriptor can read from its beginning and nobody can write to any more."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
