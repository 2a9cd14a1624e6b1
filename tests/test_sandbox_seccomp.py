"""The filter on system calls, judged by a small machine that runs it as the kernel would."""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from reasongym.sandbox import seccomp
from reasongym.sandbox.syscalls import ALLOWED, ANSWERED, ARCHITECTURES, CONDITIONAL, FATAL, RULES

ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSED, UNKNOWN = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
HEADERS = {"x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")}
TABLES = (ALLOWED, CONDITIONAL, *(table for table, _ in ANSWERED), FATAL)


def verdict(machine: str, number: int, arguments: Sequence[int] = (), architecture: int | None = None) -> int:
    """What the filter returns, by the rules of classic BPF (linux/filter.h)."""
    data = struct.pack("=IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *[*arguments, *[0] * 6][:6])
    program = list(struct.iter_unpack("=HBBI", seccomp.program(machine)))
    at = accumulator = 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x54:
                accumulator &= value
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x25:
                at += if_true if accumulator > value else if_false
            case 0x06:
                return int(value)


def number(machine: str, name: str) -> int:
    found = {key: value for table in TABLES for key, value in table.items()}[name][list(ARCHITECTURES).index(machine)]
    assert found is not None
    return found


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_each_table_has_its_verdict(machine: str) -> None:
    column = list(ARCHITECTURES).index(machine)
    answered = ((table, 0x00050000 | answer) for table, answer in ANSWERED)
    for table, expected in ((ALLOWED, ALLOW), *answered, (FATAL, KILL)):
        wrong = [name for name, numbers in table.items()
                 if (found := numbers[column]) is not None and verdict(machine, found) != expected]
        assert not wrong
    assert verdict(machine, 5000) == UNKNOWN


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(("name", "arguments", "expected"), [
    ("clone", (0x11,), ALLOW),  # SIGCHLD: a fork
    ("clone", (0x003D0F00,), ALLOW),  # what pthread_create asks for
    ("clone", (0x11 | 0x10000000,), REFUSED),  # a new user namespace
    ("clone", (0x11 | 0x00020000,), REFUSED),
    ("prlimit64", (0, 7), ALLOW),
    ("prlimit64", (1, 7), REFUSED),
    ("prlimit64", (0, 4), REFUSED),  # RLIMIT_CORE at 0 starts a machine's handler of core dumps, at 1 not
    ("setrlimit", (4,), REFUSED),
    ("setpriority", (0, 0, 5), ALLOW),
    ("setpriority", (2, 0, 5), REFUSED),  # PRIO_USER: the agent too
    ("setpriority", (0, 1, 5), REFUSED),
    ("socketpair", (1, 1), ALLOW),
    ("socketpair", (2, 1), REFUSED),
    ("ioctl", (0, 0x5401), ALLOW),
    ("ioctl", (0, 0x5412), REFUSED),  # TIOCSTI types into a terminal
    ("fcntl", (0, 1), ALLOW),
    ("fcntl", (0, 1031), REFUSED),  # F_SETPIPE_SZ
    ("prctl", (15,), ALLOW),
    ("prctl", (4, 1), REFUSED),
    ("sched_setaffinity", (1,), REFUSED),
])
def test_arguments_decide(machine: str, name: str, arguments: tuple[int, ...], expected: int) -> None:
    assert verdict(machine, number(machine, name), arguments) == expected
    high = [argument | 1 << 40 for argument in arguments]  # the kernel does not read these bits; nor may the filter
    assert verdict(machine, number(machine, name), high) == expected


def test_what_would_reach_the_disk_of_the_machine_is_answered_and_not_done() -> None:
    """An fsync of a system's folder flushes the machine's writes; an fadvise of a library drops its cached pages."""
    for name in ("fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync", "fadvise64"):
        assert verdict("x86_64", number("x86_64", name)) == 0x00050000
    for name in ("listxattr", "fsetxattr"):  # shutil.copy2 takes EPERM for a failure of the copy
        assert verdict("x86_64", number("x86_64", name)) == 0x00050000 | errno.ENOTSUP


def test_another_architecture_kills() -> None:
    assert verdict("x86_64", number("x86_64", "getpid"), architecture=0x40000003) == KILL  # 32-bit calls, other numbers
    assert verdict("x86_64", number("x86_64", "getpid") | 0x40000000) == KILL  # x32


@pytest.mark.parametrize("name", ["socket", "connect", "shmget", "semget", "msgget", "mq_open", "memfd_create",
                                  "personality", "sendmsg", "readahead", "inotify_init1", "fanotify_init", "shmat"])
def test_a_call_that_is_not_listed_is_refused(name: str) -> None:
    assert not [table for table in TABLES if name in table]


def test_no_call_is_in_two_tables_and_each_condition_has_a_rule() -> None:
    names = [name for table in TABLES for name in table]
    assert len(names) == len(set(names))
    assert set(RULES) == set(CONDITIONAL)


def test_numbers_are_the_kernels() -> None:
    for machine, header in HEADERS.items():
        if not header.exists():  # the kernel's headers are not part of a set-up; where they are, they are the truth
            continue
        text = header.read_text()
        true = {name: int(value) for name, value in re.findall(r"#define __NR_(\w+) (\d+)", text)}
        column = list(ARCHITECTURES).index(machine)
        ours = {name: numbers[column] for table in TABLES for name, numbers in table.items()}
        assert {name: value for name, value in ours.items() if name in true} == {
            name: value for name, value in true.items() if name in ours}


def test_a_machine_without_a_table_is_an_error() -> None:
    with pytest.raises(OSError, match="no table of system calls for riscv64"):
        seccomp.program("riscv64")


def test_the_profile_for_containers_is_made_of_the_same_tables(repo_root: Path) -> None:
    assert (repo_root / "sandbox/seccomp.json").read_text() == seccomp.oci_profile()
