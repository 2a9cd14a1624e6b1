"""The programs of `inside/` as the files of a job: there is no reasongym to import in a sandbox."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import MappingProxyType

__all__ = ["CALLER", "EXAMINER", "program"]

CALLER = "caller"
EXAMINER = "examiner"

_BOOT = """import sys
for name in {names!r}:
    module = type(sys)("reasongym.verifiers.code.inside." + name)
    sys.modules[module.__name__] = module
    with open(name + ".py", encoding="utf-8") as file:
        exec(compile(file.read(), name + ".py", "exec"), module.__dict__)
module.main()
"""


@cache
def program(name: str) -> MappingProxyType[str, bytes]:
    """CALLER or EXAMINER with the modules it imports."""
    names = ("values", "channel", *(("reading",) if name == EXAMINER else ()), name)
    sources = {f"{each}.py": (Path(__file__).parent / "inside" / f"{each}.py").read_bytes() for each in names}
    return MappingProxyType({"main.py": _BOOT.format(names=names).encode(), **sources})
