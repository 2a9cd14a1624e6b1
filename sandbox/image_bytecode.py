"""Compiles the standard library inside the archive of a root file system: packages leave that to scripts.

Without it each job compiles what it imports anew, which doubles the CPU time of a small one. The archive's own
interpreter does it, started through the archive's own loader, so no right is needed.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from reasongym.sandbox import leftovers
from reasongym.sandbox.image_programs import run_program
from reasongym.sandbox.jobs import SandboxError

__all__ = ["add_bytecode"]

NEEDED = ("usr/lib/", "usr/lib64/", "usr/bin/python3")


def add_bytecode(archive: Path, until: float) -> None:
    """Appended to the archive. Raises SandboxError where the interpreter cannot be run."""
    with tempfile.TemporaryDirectory(prefix=leftovers.prefix("root")) as name:
        root = Path(name)
        with tarfile.open(archive) as tar:
            tar.extractall(root, [member for member in tar if member.name.startswith(NEEDED)], filter="tar")
        python = _only(root, "usr/bin/python3.[0-9]*")
        library = root / "usr/lib" / python.name
        command = [str(_only(root, "usr/lib*/**/ld-linux*.so.*")), "--library-path",
                   str(_only(root, "usr/lib/*/libc.so.6").parent), str(python), "-S", "-m", "compileall", "-q", "-j0",
                   "-s", str(root), "-p", "/", str(library)]
        run_program(command, until, environment={"PYTHONHOME": str(root / "usr")})
        with tarfile.open(archive, "a") as tar:
            for folder in sorted(library.rglob("__pycache__")):
                tar.add(folder, str(folder.relative_to(root)), filter=_owned_by_root)


def _only(root: Path, pattern: str) -> Path:
    found = [path for path in sorted(root.glob(pattern)) if path.is_file() and not path.is_symlink()]
    if not found:
        raise SandboxError(f"the packages hold no {pattern}; expected those of Debian or a release made of it; "
                           "remedy: build from the Dockerfile, which pulls its base")
    return found[0]


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() else 0o644
    return member
