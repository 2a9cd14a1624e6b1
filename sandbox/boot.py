"""How an interpreter is started that knows this folder's modules and the standard library, and nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["command", "interpreter"]

_TEXT = """
import sys, types
for name, path in (("reasongym", ""), ("reasongym.sandbox", {folder!r})):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [path]
from reasongym.sandbox.{module} import main
exec(compile(*main(int(sys.argv[1]))))
"""
"""main() serves, and comes back in a job's process alone. The program then runs at the top of a real `__main__`, so
that its end (exit status, atexit, threads, traceback) is what the interpreter makes of it."""


def command(module: str, control_fd: int, *, python: str, folder: str | None = None) -> list[str]:
    """Command line that calls `main(control_fd)` of a module of this folder. folder: where it lies, if not here."""
    text = _TEXT.format(folder=folder or str(Path(__file__).resolve().parent), module=module)
    return [python, "-I", "-S", "-B", "-c", text, str(control_fd)]


def interpreter() -> str:
    """The real file behind a virtual environment's link: inside the walls the link does not exist."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))
