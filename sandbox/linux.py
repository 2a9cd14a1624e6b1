"""The system calls that the standard library lacks, through ctypes; each raises OSError. Linux 5.14 or later.

Loaded inside the walls too, so it knows nothing of the rest of the package.
"""

from __future__ import annotations

import ctypes
import os
import struct

__all__ = [
    "AT_FDCWD", "CAP_KILL", "CAP_SYS_ADMIN", "CLONE_NEWCGROUP", "CLONE_NEWIPC", "CLONE_NEWNET",
    "CLONE_NEWNS", "CLONE_NEWPID", "CLONE_NEWUSER", "CLONE_NEWUTS", "MNT_DETACH", "MS_BIND", "MS_NODEV", "MS_NOEXEC",
    "MS_NOSUID", "MS_PRIVATE", "MS_RDONLY", "MS_REC", "MS_REMOUNT", "PR_SET_CHILD_SUBREAPER", "PR_SET_DUMPABLE",
    "PR_SET_NO_NEW_PRIVS", "PR_SET_PDEATHSIG", "install_filter", "keep_capabilities", "mount", "pivot_root", "prctl",
    "protect_tree", "unmount", "unshare"]

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 28, 36, 38, 47
CAP_KILL, CAP_SYS_ADMIN = 5, 21
AT_FDCWD = -100

_SECCOMP_MODE_FILTER = 2
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_SECUREBITS = 0xEF  # NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE with their locks; the lock of KEEP_CAPS
_MOUNT_SETATTR = 442  # the same number on every architecture, as for all calls added since Linux 5.1
_AT_RECURSIVE = 0x8000
_NUM_CAPABILITIES = 64  # more than any kernel knows; EINVAL ends the loop

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def prctl(option: int, value: int) -> None:
    """Calls whose only argument is a number."""
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave the namespaces that the flags name; the process must have one thread."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2); kind and data are left empty for binds."""
    arguments = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _check(_libc.mount(*arguments), f"mount {source} on {target}")


def unmount(target: str, flags: int = 0) -> None:
    """umount2(2)."""
    _check(_libc.umount2(target.encode(), flags), f"unmount {target}")


def pivot_root(new_root: str, old_root: str) -> None:
    """pivot_root(2)."""
    _check(_libc.pivot_root(new_root.encode(), old_root.encode()), f"pivot_root {new_root}")


def protect_tree(target: str, flags: int) -> None:
    """Add flags (their MS_ and MOUNT_ATTR_ values agree for the four used here) to a mount and to all below it.

    A plain remount would reach the top mount alone: a file system mounted below would stay writable.
    """
    attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
    _check(_libc.syscall(_MOUNT_SETATTR, AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, len(attributes)),
           f"mount_setattr {target}")


def keep_capabilities(kept: frozenset[int]) -> None:
    """Give up all others for good: effective, permitted, inheritable, ambient and the bounding set.

    Dropping from the bounding set needs CAP_SETPCAP, which a process without it has no use for: it holds nothing.
    """
    zero = ctypes.c_ulong(0)
    for capability in range(_NUM_CAPABILITIES):
        if capability not in kept and _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), zero, zero, zero) == -1:
            break
    _libc.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(_PR_CAP_AMBIENT_CLEAR_ALL), zero, zero, zero)
    _libc.prctl(PR_SET_SECUREBITS, ctypes.c_ulong(_SECUREBITS), zero, zero, zero)
    low, high = (sum(1 << (bit - base) for bit in kept if base <= bit < base + 32) for base in (0, 32))
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, struct.pack("=6I", low, low, 0, high, high, 0)), "capset")


def install_filter(program: bytes) -> None:
    """Put a seccomp filter (`struct sock_filter`s, 8 bytes each) on this process; needs PR_SET_NO_NEW_PRIVS first."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    prog = Program(len(program) // 8, program)
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.byref(prog), zero, zero), "seccomp")
