"""A root file system of Debian packages, as an archive: for machines that can pull no image.

debootstrap finds, fetches and verifies the packages of the release this machine runs, from the mirror that apt is
configured with; their files are then put together without running any of their scripts, so no right is needed. Covers
Debian and what is made of it, with Python 3.11 or later. It does not cover what such scripts would set up (users,
caches, alternatives): an interpreter needs none of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from shutil import which
from typing import NamedTuple

from reasongym.sandbox import leftovers
from reasongym.sandbox.image_bytecode import add_bytecode
from reasongym.sandbox.image_programs import check_time, run_program
from reasongym.sandbox.jobs import SandboxError

__all__ = ["closure", "make_archive", "recipe", "write_packages"]

ROOTS = ("base-files", "coreutils", "dash", "libc-bin", "python3", "tzdata")
"""With what they depend on, by name."""
NOT_NEEDED = frozenset({"awk", "debconf", "debianutils", "dpkg", "mawk", "perl-base"})
"""Depended on by scripts that are not run."""
SKIPPED = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/", "var/", "usr/share/bug/")
MERGED = ("bin", "lib", "lib64", "sbin")
FOLDERS = ("agent", "dev", "proc", "sys", "tmp", "var", "work")
OLDEST_PYTHON = 11


class Source(NamedTuple):
    """mirror: address. suite: code name of the release."""

    mirror: str
    suite: str


def recipe() -> bytes:
    """What the content follows from; not the packages' versions, which are those of the day."""
    return repr((ROOTS, sorted(NOT_NEEDED), SKIPPED, MERGED, FOLDERS, "no set-user-id", "compiled")).encode()


def make_archive(archive: Path, progress: Callable[[str], None], until: float) -> None:
    """Write the archive, a tar. until: as time.monotonic(). Raises SandboxError saying what is missing."""
    if lacking := [name for name in ("debootstrap", "dpkg-deb", "apt-get") if which(name) is None]:
        raise SandboxError(f"an image of Debian packages cannot be made without {', '.join(lacking)}; remedy: as root, "
                           "apt-get install debootstrap; elsewhere build from the Dockerfile, which pulls its base")
    with tempfile.TemporaryDirectory(prefix=leftovers.prefix("packages")) as name:
        folder = Path(name)
        source = _source(Path("/etc/os-release").read_text(), until)
        progress(f"fetching the packages of Debian's {source.suite} with debootstrap, for which there is a mirror")
        fetched = folder / "packages.tar.gz"
        run_program(["debootstrap", "--variant=minbase", "--include=" + ",".join(ROOTS), f"--make-tarball={fetched}",
              source.suite, str(folder / "root"), source.mirror], until, environment=_with_proxy(until))
        with tarfile.open(fetched) as tar:
            tar.extractall(folder, filter="data")
        packages = dict(_described(path, until) for path in folder.glob("var/cache/apt/archives/*.deb"))
        chosen = closure({name: package.depends for name, package in packages.items()})
        _check_python(chosen)
        progress(f"putting together the files of {len(chosen)} packages")
        with tarfile.open(archive, "w") as out:
            write_packages(out, (packages[name].path for name in sorted(chosen)), until)
    progress("compiling the standard library")
    add_bytecode(archive, until)


class _Package(NamedTuple):
    path: Path
    depends: tuple[str, ...]


def closure(depends: Mapping[str, tuple[str, ...]]) -> set[str]:
    """ROOTS and all they depend on, directly or not, of what is there. Raises SandboxError where a root is not."""
    if lacking := [name for name in ROOTS if name not in depends]:
        raise SandboxError(f"debootstrap fetched no package {', '.join(lacking)}; expected Debian or a release made of "
                           "it; remedy: build from the Dockerfile, which pulls its base")
    found: set[str] = set()
    pending = list(ROOTS)
    while pending:
        name = pending.pop()
        if name in found or name in NOT_NEEDED or name not in depends:  # absent: another of several alternatives is
            continue
        found.add(name)
        pending += depends[name]
    return found


def _described(path: Path, until: float) -> tuple[str, _Package]:
    """Alternatives are all taken, where they were fetched: `debconf | debconf-2.0`."""
    shown = "--showformat=${Package}\n${Pre-Depends}, ${Depends}"
    fields = run_program(["dpkg-deb", "--show", shown, str(path)], until)
    name, _, text = fields.partition("\n")
    words = [re.split(r"[ (:]", part.strip())[0] for part in re.split(r"[,|]", text)]
    return name, _Package(path, tuple(word for word in words if word))


def _check_python(names: set[str]) -> None:
    versions = [int(found[1]) for name in names if (found := re.fullmatch(r"python3\.(\d+)-minimal", name))]
    if not versions or max(versions) < OLDEST_PYTHON:
        raise SandboxError(f"this release has Python 3.{max(versions, default=0)}, expected 3.{OLDEST_PYTHON} or "
                           "later; remedy: build from the Dockerfile, which pulls its base")


def _source(os_release: str, until: float) -> Source:
    """Of apt's own configuration: where it gets the main component of this release."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    suite = fields.get("VERSION_CODENAME", "").strip('"')
    lines = run_program(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(CODENAME) $(COMPONENT)",
                  "Created-By: Packages"], until)
    for line in lines.splitlines():
        mirror, *release, component = line.split(" ")
        if component == "main" and suite and suite in release:
            return Source(mirror, suite)
    raise SandboxError(f"apt's configuration names no mirror for the main component of {suite or 'this release'}; "
                       "remedy: run apt-get update and see that it works")


def _with_proxy(until: float) -> dict[str, str]:
    """debootstrap fetches by itself, and does not ask apt how."""
    environment = dict(os.environ)
    for kind in ("http", "https"):
        said = run_program(["apt-config", "shell", "proxy", f"Acquire::{kind}::Proxy"], until)
        value = said.partition("=")[2].strip().strip("'")
        if value and value != "DIRECT":
            environment.setdefault(f"{kind}_proxy", value)
    return environment


def write_packages(out: tarfile.TarFile, packages: Iterable[Path], until: float) -> None:
    """Their files, each name once, those of a release whose folders are merged under /usr."""
    written = set(MERGED) | set(FOLDERS)
    for name in FOLDERS:
        _add_special(out, name, tarfile.DIRTYPE)
    for name in MERGED:
        _add_special(out, name, tarfile.SYMTYPE, f"usr/{name}")
    for path in packages:
        check_time(until)
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(path)], stdout=subprocess.PIPE) as unpacking, \
                tarfile.open(fileobj=unpacking.stdout, mode="r|") as tar:
            for member in tar:
                member.name = _merged(member.name)
                if member.name not in written and _is_wanted(member):
                    written.add(member.name)
                    out.addfile(_harmless(member), tar.extractfile(member) if member.isreg() else None)
        if unpacking.returncode != 0:
            raise SandboxError(f"the package {path.name} cannot be unpacked; remedy: try again")


def _merged(name: str) -> str:
    """Where a release with merged folders has it: `./bin/dash` is usr/bin/dash."""
    plain = name.removeprefix("./")
    return f"usr/{plain}" if plain.partition("/")[0] in MERGED and "/" in plain else plain


def _is_wanted(member: tarfile.TarInfo) -> bool:
    kinds = member.isreg() or member.isdir() or member.issym() or member.islnk()
    return kinds and member.name not in {"", "."} and not f"{member.name}/".startswith(SKIPPED)


def _harmless(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Root's, for nobody else to write to, giving no rights to who runs it."""
    if member.islnk():
        member.linkname = _merged(member.linkname)
    member.mode &= 0o755
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _add_special(out: tarfile.TarFile, name: str, kind: bytes, target: str = "") -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = kind, target, 0o755
    out.addfile(member)
