"""The local sandbox: small jobs a second, what one adds to a bare interpreter, what many with bombs leave behind. The
docker sandbox, where an engine with the image answers: the first two."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reasongym.sandbox import Ending, Job, Limits, Sandbox, SandboxError, open_sandbox

WORKERS = 2
SMALL_JOBS = 400
COMPARED = 40
MIXED_JOBS = 1000
BOMB_EVERY = 10
SMALL = b"print(sum(range(10)))\n"
TIGHT = Limits(wall_s=5.0, cpu_s=0.2, memory_mb=128, processes=8, work_mb=8, output_kb=16)
BOMBS = (
    b"while True: pass",
    b"x = []\nwhile True: x.append(bytearray(2**20))",
    b"import os\nwhile True:\n try: os.fork()\n except OSError: pass",
    b"while True: print('x' * 4096)",
    b"f = open('/tmp/fill', 'wb')\nwhile True: f.write(bytes(2**20))",
    b"import os, time\nif os.fork() == 0:\n os.setsid()\n os.fork()\n time.sleep(60)",
    b"import os\nwhile True:\n os.mkdir('a')\n os.chdir('a')",
)


def measure() -> dict[str, float]:
    """Rates in jobs a second; median milliseconds; growth over the run with bombs of this process and its own."""
    with open_sandbox("local", workers=WORKERS) as sandbox:
        figures = _small(sandbox) | _mixed(sandbox)
    try:
        with open_sandbox("docker", workers=WORKERS) as sandbox:
            figures |= {f"docker_{name}": value for name, value in _small(sandbox).items()}
    except SandboxError as error:
        print(f"sandbox: no figures for docker: {error}")
    return figures


def _small(sandbox: Sandbox) -> dict[str, float]:
    _run_all(sandbox, [SMALL] * 20)
    started = time.perf_counter()
    _run_all(sandbox, [SMALL] * SMALL_JOBS)
    return {"small_jobs_per_second": SMALL_JOBS / (time.perf_counter() - started)} | _added(sandbox)


def _run_all(sandbox: Sandbox, programs: Sequence[bytes]) -> list[Ending]:
    def run(program: bytes) -> Ending:
        return sandbox.run(Job(files={"main.py": program}, limits=TIGHT)).ending

    with ThreadPoolExecutor(WORKERS) as threads:
        return list(threads.map(run, programs))


def _added(sandbox: Sandbox) -> dict[str, float]:
    """One after the other, taking turns, so that a busy machine is busy for both."""
    bare, walled = [], []
    for _ in range(COMPARED):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", SMALL], stdout=subprocess.DEVNULL, check=True)
        middle = time.perf_counter()
        sandbox.run(Job(files={"main.py": SMALL}))
        bare.append(middle - started)
        walled.append(time.perf_counter() - middle)
    bare_ms, walled_ms = 1e3 * statistics.median(bare), 1e3 * statistics.median(walled)
    return {"bare_ms": bare_ms, "sandboxed_ms": walled_ms, "added_ms": walled_ms - bare_ms}


def _mixed(sandbox: Sandbox) -> dict[str, float]:
    programs = [BOMBS[n // BOMB_EVERY % len(BOMBS)] if n % BOMB_EVERY == 0 else SMALL for n in range(MIXED_JOBS)]
    before = _footprint()
    started = time.perf_counter()
    try:
        endings = _run_all(sandbox, programs)
    except SandboxError as error:
        raise SystemExit(f"a bomb reached the sandbox itself: {error}") from error
    seconds = time.perf_counter() - started
    harmless = [ending for ending, program in zip(endings, programs, strict=True) if program == SMALL]
    assert set(harmless) == {Ending.EXITED}, "a bomb reached another job"
    after = _footprint()
    grown = {f"grown_{name}": after[name] - before[name] for name in after}
    return {"mixed_jobs_per_second": MIXED_JOBS / seconds} | grown


def _footprint() -> dict[str, float]:
    """Of this process and all below it: processes, descriptors, threads, MiB resident."""
    pids, pending = [os.getpid()], [os.getpid()]
    while pending:
        pid = pending.pop()
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = [int(word) for word in (task / "children").read_text().split()]
            pids += children
            pending += children
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return {"processes": len(pids), "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(), "mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20}
