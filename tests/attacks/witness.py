"""The next program on the same worker: prints all it can see that another program might have left.

What it prints must be what it prints on a worker that served nobody. Arguments: the SHA-256 of a secret that must not
be in its memory.
"""

import builtins
import ctypes
import fcntl
import hashlib
import json
import math
import os
import re
import resource
import signal
import sys
import threading
import time

SECRET = re.compile(rb"TOKEN:([0-9a-f]{16})")


def started():
    """Seconds since 1970 at which this process was made, less the ticks that it is counted in."""
    ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")


def folders():
    """With whether each was changed before this process was: the last change then tells when another one ended."""
    found, began = {}, started()
    for folder in ("/tmp", "/dev/shm", "/work", os.getcwd()):
        if os.path.isdir(folder):
            status = os.stat(folder)
            own = folder not in ("/tmp", "/dev/shm")  # its own files were just written there
            found[folder] = [oct(status.st_mode), 0 if own else status.st_mtime_ns, status.st_ctime < began - 0.05,
                             sorted(os.listdir(folder))]
    found["queues"] = os.listdir("/dev/mqueue") if os.path.isdir("/dev/mqueue") else []
    return found


def devices():
    """With which were changed clearly later than the first: a pattern that another program may have made."""
    found = {name: os.stat(f"/dev/{name}") for name in ("null", "zero", "full", "random", "urandom")}
    first = min(status.st_mtime for status in found.values())
    return {name: [oct(status.st_mode), status.st_mtime > first + 0.05] for name, status in found.items()}


def process():
    return {
        "environment": dict(os.environ), "umask": oct(os.umask(0o22)), "folder": os.getcwd(), "path": sys.path,
        "limits": [resource.getrlimit(kind) for kind in range(16) if kind != resource.RLIMIT_CORE],
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": sorted(os.sched_getaffinity(0)), "descriptors": sorted(os.listdir("/proc/self/fd")),
        "signals": [repr(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), "alarm": signal.getitimer(signal.ITIMER_REAL),
        "pending": sorted(signal.sigpending()), "threads": threading.active_count(),
        "processes": sum(name.isdigit() and name != "1" for name in os.listdir("/proc")),
        "rights": [line for line in open("/proc/self/status") if line.startswith(("Cap", "NoNew", "Seccomp"))]}


def interpreter():
    return {
        "modules": sorted(sys.modules), "marked": [name for name, module in sys.modules.items()
                                                   if hasattr(module, "reasongym_attack")],
        "builtins": {name: repr(type(value)) for name, value in sorted(vars(builtins).items()) if name != "_"},
        "arithmetic": [len("sevenfy"), math.sqrt(16.0)],
        "settings": [sys.getrecursionlimit(), sys.getswitchinterval()],
        "process number": os.getpid() == ctypes.CDLL(None).getpid()}


def is_locked(path):
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def finds_secret(digest):
    for line in open("/proc/self/maps"):
        low, high, kind = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
        if kind.startswith("rw"):
            memory = ctypes.string_at(int(low, 16), int(high, 16) - int(low, 16))
            if any(hashlib.sha256(found[1]).hexdigest() == digest for found in SECRET.finditer(memory)):
                return True
    return False


def room():
    """KiB of the work folder that can be filled."""
    status = os.statvfs(".")
    return status.f_bavail * status.f_frsize // 1024, status.f_favail


seen = {"folders": folders(), "devices": devices(), "process": process(),
        "interpreter": interpreter(), "room": room(), "secret": finds_secret(sys.argv[1]),
        "locked": [is_locked(path) for path in (os.__file__, "/usr/bin/env")]}
print(json.dumps(seen))
