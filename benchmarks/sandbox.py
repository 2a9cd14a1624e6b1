"""The local sandbox: small jobs a second, what one adds to a bare interpreter, what many with bombs leave behind. The
docker sandbox, where an engine with the image answers: the first two.

`python -m benchmarks.sandbox --jobs 10000` runs that many with bombs on every backend that is here, and prints what
this process, its own and the machine hold before and after.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reasongym.sandbox import Ending, Job, Limits, Sandbox, SandboxError, open_sandbox

WORKERS = 2
SMALL_JOBS = 400
COMPARED = 40
MIXED_JOBS = 1000
BOMB_EVERY = 10
REPORTS = 10
"""How often a long run says how far it is."""
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
        figures = _small(sandbox) | _mixed(sandbox, MIXED_JOBS)
    try:
        with open_sandbox("docker", workers=WORKERS) as sandbox:
            figures |= {f"docker_{name}": value for name, value in _small(sandbox).items()}
    except SandboxError as error:
        print(f"sandbox: no figures for docker: {error}")
    return figures


def _small(sandbox: Sandbox) -> dict[str, float]:
    list(_run_all(sandbox, [SMALL] * 20))
    started = time.perf_counter()
    list(_run_all(sandbox, [SMALL] * SMALL_JOBS))
    return {"small_jobs_per_second": SMALL_JOBS / (time.perf_counter() - started)} | _added(sandbox)


def _run_all(sandbox: Sandbox, programs: Sequence[bytes]) -> Iterator[Ending]:
    def run(program: bytes) -> Ending:
        return sandbox.run(Job(files={"main.py": program}, limits=TIGHT)).ending

    with ThreadPoolExecutor(WORKERS) as threads:
        yield from threads.map(run, programs)


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


def _mixed(sandbox: Sandbox, num_jobs: int, *, progress: bool = False) -> dict[str, float]:
    programs = [BOMBS[n // BOMB_EVERY % len(BOMBS)] if n % BOMB_EVERY == 0 else SMALL for n in range(num_jobs)]
    list(_run_all(sandbox, [SMALL] * WORKERS))  # the workers are there before and after
    before = _footprint()
    started = time.perf_counter()
    try:
        for number, (ending, program) in enumerate(zip(_run_all(sandbox, programs), programs, strict=True), start=1):
            assert program != SMALL or ending is Ending.EXITED, "a bomb reached another job"
            if progress and number % max(1, num_jobs // REPORTS) == 0:
                print(f"{sandbox.name}: {number} of {num_jobs} jobs, {time.perf_counter() - started:.0f} s", flush=True)
    except SandboxError as error:
        raise SystemExit(f"a bomb reached the sandbox itself: {error}") from error
    seconds = time.perf_counter() - started
    after = _footprint()
    if progress:
        for name in after:
            print(f"{sandbox.name}: {name} {before[name]:.4g} before, {after[name]:.4g} after", flush=True)
    return {"mixed_jobs_per_second": num_jobs / seconds} | {f"grown_{name}": after[name] - before[name]
                                                            for name in after}


def _footprint() -> dict[str, float]:
    """Of this process and all below it: processes, descriptors, threads, MiB resident. Of the machine: its processes
    (a container's are not below this one), and MiB written to the folder for temporary files and to shared memory."""
    pids, pending = [os.getpid()], [os.getpid()]
    while pending:
        pid = pending.pop()
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = [int(word) for word in (task / "children").read_text().split()]
            pids += children
            pending += children
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    written = sum(shutil.disk_usage(folder).used for folder in (tempfile.gettempdir(), "/dev/shm"))
    return {"processes": len(pids), "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(), "mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            "machine_processes": sum(name.isdigit() for name in os.listdir("/proc")), "disk_mib": written / 2**20}


def main() -> None:
    """The long run with bombs."""
    parser = argparse.ArgumentParser(description="Many jobs, every tenth of them a bomb, and what they leave behind.")
    parser.add_argument("--jobs", type=int, default=MIXED_JOBS)
    parser.add_argument("--backend", choices=("local", "docker"), action="append", help="default: both")
    asked = parser.parse_args()
    for name in asked.backend or ("local", "docker"):
        try:
            with open_sandbox(name, workers=WORKERS) as sandbox:
                figures = _mixed(sandbox, asked.jobs, progress=True)
        except SandboxError as error:
            print(f"sandbox: no figures for {name}: {error}")
            continue
        print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
