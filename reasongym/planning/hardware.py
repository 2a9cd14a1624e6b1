"""What one machine has: cores, memory, disk, CPU features, GPUs; read from /proc and nvidia-smi, or given by hand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from reasongym.errors import ConfigError, message

__all__ = ["Gpu", "Hardware"]

GIB = 1024**3
BFLOAT16_FLAGS = frozenset({"amx_bf16", "avx512_bf16"})
FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
SIZE = r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*gi?b\s*$"
GPU_MACHINE = re.compile(r"^\s*([0-9]{1,4})\s*[x\u00d7]\s*(.+?)\s+" + SIZE, re.IGNORECASE)
CPU_MACHINE = re.compile(r"^\s*cpu\s+([0-9]{1,6})\s+cores?\s+" + SIZE, re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU. compute_capability: (major, minor), or None where nvidia-smi did not say."""

    name: str
    memory_gib: float
    compute_capability: tuple[int, int] | None = None

    @property
    def bfloat16(self) -> bool:
        """Ampere (8.0) is the first generation that multiplies bfloat16; an unnamed capability counts as one."""
        return self.compute_capability is None or self.compute_capability >= (8, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """One machine; a cluster is several alike. Sizes in GiB.

    memory_gib: what this process may use, the smallest of the machine's and its control groups'. disk_free_gib: at the
    path given to `detect`. shared_memory_gib: free in /dev/shm.
    """

    cores: int
    memory_gib: float
    disk_free_gib: float
    shared_memory_gib: float
    cpu_features: tuple[str, ...] = ()
    gpus: tuple[Gpu, ...] = ()

    @property
    def cpu_bfloat16(self) -> bool:
        """Whether the CPU multiplies bfloat16 matrices. One that does not is about 20 times slower in bfloat16 than in
        float32: 7.6 against 150 tokens/s of training for SmolLM2-135M on two AVX2 cores."""
        return not BFLOAT16_FLAGS.isdisjoint(self.cpu_features)

    @classmethod
    def detect(cls, path: Path | str = ".", *, root: Path = Path("/"), deadline_s: float = 10.0) -> Hardware:
        """This machine. path: where the disk is measured (its nearest existing parent). root: where proc and sys are
        read. deadline_s: for nvidia-smi; one that does not answer counts as no GPU. Never raises for what is absent."""
        return cls(
            cores=_cores(root),
            memory_gib=_memory_bytes(root) / GIB,
            disk_free_gib=_free_bytes(Path(path)) / GIB,
            shared_memory_gib=_free_bytes(root / "dev" / "shm") / GIB,
            cpu_features=_cpu_features(root),
            gpus=_gpus(deadline_s),
        )

    @classmethod
    def described(cls, text: str) -> Hardware:
        """A machine by hand, for a dry run: `8x H100 80GB`, or `cpu 16 cores 64GB`.

        A GPU machine is given 16 cores a GPU, three times the GPUs' memory and 4,000 GiB of disk, as rented ones have;
        set other figures with `dataclasses.replace`. A GPU maker's GB is read as GiB (an H100 80GB reports 79.6).
        Raises ConfigError for a text of another form, and for more than 9,999 GPUs.
        """
        if cpu := CPU_MACHINE.match(text):
            memory = float(cpu[2])
            return cls(cores=int(cpu[1]), memory_gib=memory, disk_free_gib=100.0, shared_memory_gib=memory / 2,
                       cpu_features=("avx2",))
        found = GPU_MACHINE.match(text)
        if not found or int(found[1]) < 1 or float(found[3]) <= 0:
            raise ConfigError(message("a hardware description is not understood", got=repr(text),
                                      expected="for example '8x H100 80GB' or 'cpu 16 cores 64GB'",
                                      remedy="write COUNTx NAME MEMORYGB"))
        count = int(found[1])
        gpus = (Gpu(name=found[2], memory_gib=float(found[3])),) * count
        memory = 3 * count * gpus[0].memory_gib
        return cls(cores=16 * count, memory_gib=memory, disk_free_gib=4000.0, shared_memory_gib=memory / 2,
                   cpu_features=("avx2", "avx512f"), gpus=gpus)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cores(root: Path) -> int:
    """Cores this process may run on: its affinity, cut by the control group's quota (version 2, then 1)."""
    cores = len(os.sched_getaffinity(0))
    cgroup = root / "sys" / "fs" / "cgroup"
    quota, period = [*_read(cgroup / "cpu.max").split(), "", ""][:2]
    if not quota:
        quota, period = _read(cgroup / "cpu/cpu.cfs_quota_us").strip(), _read(cgroup / "cpu/cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit() and int(period) > 0:
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def _memory_bytes(root: Path) -> int:
    """The smallest of /proc/meminfo and every memory limit from this process's control group up to the root."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    limits = [int(total[1]) * 1024] if total else []
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, group = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            limits += _limits(root / "sys/fs/cgroup", group, "memory.max")
        elif "memory" in controllers.split(","):
            limits += _limits(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes")
    return min(limits, default=0)


def _limits(mount: Path, group: str, file: str) -> list[int]:
    folder = Path(group.lstrip("/"))
    texts = [_read(mount / part / file).strip() for part in (folder, *folder.parents)]
    return [int(text) for text in texts if text.isdigit()]


def _cpu_features(root: Path) -> tuple[str, ...]:
    flags = re.search(r"^flags\s*:(.*)$", _read(root / "proc/cpuinfo"), re.MULTILINE)
    present = set(flags[1].split()) if flags else set()
    return tuple(feature for feature in FEATURES if feature in present)


def _free_bytes(path: Path) -> int:
    for part in (path.expanduser().absolute(), *path.expanduser().absolute().parents):
        if part.exists():
            return shutil.disk_usage(part).free
    return 0


def _gpus(deadline_s: float) -> tuple[Gpu, ...]:
    query = ["nvidia-smi", "--query-gpu=name,memory.total,compute_cap", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=deadline_s, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = [_gpu(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return _visible([gpu for gpu in found if gpu is not None], os.environ.get("CUDA_VISIBLE_DEVICES"))


def _visible(gpus: list[Gpu], setting: str | None) -> tuple[Gpu, ...]:
    """Those that CUDA_VISIBLE_DEVICES leaves; nvidia-smi lists them all. Names instead of numbers count as any GPU."""
    if setting is None:
        return tuple(gpus)
    named = [part.strip() for part in setting.split(",") if part.strip() not in {"", "-1"}]
    if all(part.isdigit() for part in named):
        return tuple(gpus[int(part)] for part in named if int(part) < len(gpus))
    return tuple(gpus[:len(named)])


def _gpu(line: str) -> Gpu | None:
    """`NVIDIA H100 80GB HBM3, 81559, 9.0` (MiB); None for a line of another form."""
    found = re.match(r"^(.+), (\d+), (\d+)\.(\d+)$", line.strip())
    if not found:
        return None
    return Gpu(name=found[1], memory_gib=int(found[2]) / 1024, compute_capability=(int(found[3]), int(found[4])))
