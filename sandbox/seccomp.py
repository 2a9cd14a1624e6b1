"""The filter on system calls: built from the tables of `syscalls.py`, as classic BPF and as a profile for containers.

Covers: a smaller kernel to attack, no sockets, no tracing, no namespaces, no keys, no System V or POSIX IPC, no
changes to processes of the same user by number. It does not cover files (the walls' work), amounts (the limits' work)
or faults in the calls that are allowed.
"""

from __future__ import annotations

import errno
import json
import struct
from functools import lru_cache

from reasongym.sandbox.syscalls import (
    AGENT_NEEDS,
    ALLOWED,
    ANSWERED,
    ARCHITECTURES,
    CONDITIONAL,
    FATAL,
    LAST_KNOWN,
    REFUSAL,
    RULES,
    Compare,
)

__all__ = ["oci_profile", "program"]

_LOAD, _AND, _EQUAL, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data; arguments are 8 bytes, low word first
_X32 = 0x40000000  # on x86_64 numbers from here on are a second set of calls, with the same numbers below


@lru_cache
def program(machine: str) -> bytes:
    """For prctl(PR_SET_SECCOMP). Raises OSError for a machine without a table."""
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}; there is one for {sorted(ARCHITECTURES)}")
    column = list(ARCHITECTURES).index(machine)
    lines = [_line(_LOAD, _ARCHITECTURE_AT), _line(_EQUAL, ARCHITECTURES[machine], 1, 0), _line(_RETURN, _KILL),
             _line(_LOAD, _NUMBER_AT)]
    if machine == "x86_64":
        lines += [_line(_GREATER, _X32 - 1, 0, 1), _line(_RETURN, _KILL)]
    answered = ((table, _ERRNO | answer) for table, answer in ANSWERED)
    for table, verdict in ((ALLOWED, _ALLOW), *answered, (FATAL, _KILL)):
        for numbers in table.values():
            if (number := numbers[column]) is not None:
                lines += [_line(_EQUAL, number, 0, 1), _line(_RETURN, verdict)]
    for name, numbers in CONDITIONAL.items():
        if (number := numbers[column]) is not None:
            block = _alternatives(RULES[name])
            lines += [_line(_EQUAL, number, 0, len(block)), *block]
    lines += [_line(_GREATER, LAST_KNOWN, 0, 1), _line(_RETURN, _ERRNO | errno.ENOSYS),
              _line(_RETURN, _ERRNO | REFUSAL)]
    return b"".join(lines)


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One `struct sock_filter`."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _alternatives(alternatives: tuple[tuple[Compare, ...], ...]) -> list[bytes]:
    """Allow where one holds; refuse else. Always returns, since it spoils the accumulator for what follows."""
    lines = []
    for compares in alternatives:
        rest = sum(_length(compare) for compare in compares)
        for compare in compares:
            lines.append(_line(_LOAD, _ARGUMENTS_AT + 8 * compare.argument))
            if compare.mask != 0xFFFFFFFF:
                lines.append(_line(_AND, compare.mask))
            rest -= _length(compare)
            lines.append(_line(_EQUAL, compare.value, 0, rest + 1))
        lines.append(_line(_RETURN, _ALLOW))
    return [*lines, _line(_RETURN, _ERRNO | REFUSAL)]


def _length(compare: Compare) -> int:
    return 2 if compare.mask == 0xFFFFFFFF else 3


def oci_profile() -> str:
    """The same for a container engine, as the text of `seccomp.json`, and what the agent itself needs besides."""
    plain = sorted({*ALLOWED, *AGENT_NEEDS})
    rules: list[dict[str, object]] = [
        {"names": plain, "action": "SCMP_ACT_ALLOW"},
        *({"names": sorted(table), "action": "SCMP_ACT_ERRNO", "errnoRet": answer} for table, answer in ANSWERED),
        {"names": sorted(FATAL), "action": "SCMP_ACT_KILL_PROCESS"}]
    for name, alternatives in RULES.items():
        if name not in plain:
            rules += [{"names": [name], "action": "SCMP_ACT_ALLOW", "args": [_oci(compare) for compare in compares]}
                      for compares in alternatives]
    profile = {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": REFUSAL,
               "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"], "syscalls": rules}
    return json.dumps(profile, indent=1) + "\n"


def _oci(compare: Compare) -> dict[str, object]:
    return {"index": compare.argument, "op": "SCMP_CMP_MASKED_EQ", "value": compare.mask, "valueTwo": compare.value}
