"""The suite of hostile programs in tests/attacks: what each must get, and what of the machine must be as it was.

A program says in comments at its head:
    tries           what it tries
    stopped by      names of layers, the load-bearing first; the verifier's own are `separation`, `values` and `output`
    ends            how its job may end: an Ending, with a status where it matters; alternatives apart by `or`
    open without    layers without all of which it succeeds, although with any one of them it does not
    limits          other than LIMITS
    channel         `yes` where it runs as a session does, with the channel at descriptor 3
Programs in forging/ are answers to a task instead, with `tests`, kinds of tests they are judged by, and `verdict`.
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from reasongym.sandbox import Ending, Job, Limits, Result, Sandbox

__all__ = ["ATTACKS", "FOLDER", "Attack", "Machine", "machine", "run_attack", "shortfall", "witnessed"]

FOLDER = Path(__file__).parent / "attacks"
LIMITS = {"wall_s": 60.0, "cpu_s": 0.3, "memory_mb": 128, "processes": 8, "work_mb": 8, "file_mb": 4, "output_kb": 64}
OVERHEAD_MB = 64
"""What a control group counts beside a job's own memory: the agent, pipes, page tables."""
MARK = "reasongym-attack"
_KEY = 0x52470000 | os.getpid() & 0xFFFF  # another suite on this machine has another
_IPC_CREAT, _IPC_RMID = 0o1000, 0


class Attack(NamedTuple):
    """said: the head's lines, name -> text."""

    name: str
    family: str
    source: bytes
    said: dict[str, str]

    def words(self, key: str) -> list[str]:
        return self.said.get(key, "").split()

    @property
    def limits(self) -> Limits:
        other = dict(pair.split("=") for pair in self.words("limits"))
        return Limits(**{**LIMITS, **{key: float(value) if key.endswith("_s") else int(value)
                                      for key, value in other.items()}})  # type: ignore[arg-type]


def _read(path: Path) -> Attack:
    text = path.read_text()
    head = text[:re.search(r"^(?!# )", text, re.MULTILINE).start()]  # type: ignore[union-attr]
    said = dict(line.removeprefix("# ").split(": ", 1) for line in head.splitlines())
    return Attack(path.stem, path.parent.name, path.read_bytes(), said)


ATTACKS = [_read(path) for path in sorted(FOLDER.glob("*/*.py"))]


class Machine(NamedTuple):
    """What stands outside while attacks run. token: a secret that each attack is told and no later program may find."""

    loopback: socket.socket
    abstract: socket.socket
    secret: Path
    bystander: subprocess.Popen[bytes]
    token: str
    name: str
    clock_s: float
    devices: dict[str, int]

    def arguments(self) -> tuple[str, ...]:
        """As the programs expect them."""
        return (str(self.loopback.getsockname()[1]), self.abstract.getsockname()[1:].decode(), str(self.secret),
                str(self.bystander.pid), str(_KEY), self.name, self.token)

    def harm(self) -> str:
        """What is not as it was, for a person; empty where all is."""
        reached = select.select([self.loopback, self.abstract], [], [], 0)[0]
        marked = [path for folder in ("/", "/tmp", "/dev", "/dev/shm", "/dev/mqueue", "/etc", "/usr", "/var/tmp")
                  for path in Path(folder).glob("*") if MARK in path.name]
        checks = {"a service was reached": bool(reached),
                  "the secret was changed": not self.secret.read_text().startswith("reasongym-secret"),
                  "a process was ended": self.bystander.poll() is not None,
                  "the name was changed": os.uname().nodename != self.name,
                  "the clock was set": abs(time.time() - time.monotonic() - self.clock_s) > 3600.0,
                  "a device was changed": _devices() != self.devices,
                  "something was mounted": MARK in Path("/proc/self/mounts").read_text(),
                  f"files were left: {marked}": bool(marked)}
        return "; ".join(what for what, is_so in checks.items() if is_so)


def _devices() -> dict[str, int]:
    return {name: os.stat(f"/dev/{name}").st_mode for name in ("null", "zero", "full", "random", "urandom")}


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """Services, a secret, a process and a memory segment for attacks to reach; gone at the end."""
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(_KEY, 4096, _IPC_CREAT | 0o666)
    secret = folder / "secret.txt"
    secret.write_text("reasongym-secret")
    os.chmod(secret, 0o644)
    for parent in (folder, folder.parent):
        with suppress(PermissionError):
            os.chmod(parent, 0o755)
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]
    with socket.create_server(("127.0.0.1", 0)) as loopback, socket.socket(socket.AF_UNIX) as abstract, \
            subprocess.Popen(command, stdin=subprocess.PIPE) as bystander:
        abstract.bind(f"\0{MARK}-{secrets.token_hex(8)}")
        abstract.listen()
        try:
            yield Machine(loopback, abstract, secret, bystander, secrets.token_hex(8), os.uname().nodename,
                          time.time() - time.monotonic(), _devices())
        finally:
            libc.shmctl(segment, _IPC_RMID, None)


def run_attack(attack: Attack, sandbox: Sandbox, outside: Machine) -> Result:
    """To its end, whatever that is."""
    helper = (FOLDER / "attack.py").read_bytes()
    job = Job(files={"main.py": attack.source, "attack.py": helper}, arguments=outside.arguments(),
              limits=attack.limits)
    if "channel" not in attack.said:
        return sandbox.run(job)
    session = sandbox.open(job)
    with suppress(EOFError):
        while True:
            session.receive(timeout_s=attack.limits.wall_s, limit_bytes=2**16)
    return session.finish()


def shortfall(attack: Attack, result: Result) -> str:
    """What of the result is not as the attack must end, for a person; empty where all is."""
    said = result.stdout.decode(errors="replace").splitlines()
    if breaches := [line for line in said if line.startswith("BREACH")]:
        return "\n".join(breaches)
    allowed = [ending.split() for ending in attack.said["ends"].split(" or ")]
    if not any(result.ending == ending[0] and str(result.status) in (ending[1:] or [str(result.status)])
               for ending in allowed):
        return f"it {result.ending} with {result.status}: {result.stderr.decode(errors='replace')[-2000:]}"
    if (result.ending, result.status) == (Ending.EXITED, 0) and "held" not in said:
        return f"it did not reach its end: {said}"
    kept = max(len(result.stdout), len(result.stderr)), attack.limits.output_kb * 1024
    if kept[0] > kept[1]:
        return f"{kept[0]} bytes of output were kept, limit {kept[1]}"
    most = attack.limits.memory_mb + OVERHEAD_MB
    return f"{result.peak_mb} MiB of memory, limit {most}" if (result.peak_mb or 0) > most else ""


def witnessed(sandbox: Sandbox, digest: str) -> str:
    """What the next program sees."""
    files = {f"{to}.py": (FOLDER / f"{name}.py").read_bytes() for to, name in (("main", "witness"),
                                                                            ("attack", "attack"))}
    result = sandbox.run(Job(files=files, arguments=(digest,), limits=Limits(**{**LIMITS, "cpu_s": 5.0})))  # type: ignore[arg-type]
    assert (result.status, result.stderr) == (0, b""), result
    return result.stdout.decode()
