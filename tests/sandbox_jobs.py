"""Programs for the tests of the sandbox, and walls that remember what they built."""

from __future__ import annotations

import textwrap

from reasongym.sandbox import Job, Limits, Result, Sandbox
from reasongym.sandbox.local import LocalWalls
from reasongym.sandbox.process import ChildEnclosure

__all__ = ["QUICK", "RememberingWalls", "job", "printed", "run"]

QUICK = Limits(wall_s=20.0, cpu_s=5.0, memory_mb=128, processes=8, work_mb=8)


def job(source: str, *arguments: str, stdin: bytes = b"", limits: Limits = QUICK, **files: bytes) -> Job:
    """files: name without `.py` -> content."""
    programs = {"main": textwrap.dedent(source).encode(), **files}
    return Job(files={f"{name}.py": content for name, content in programs.items()}, arguments=arguments, stdin=stdin,
               limits=limits)


def run(sandbox: Sandbox, source: str, **limits: float) -> Result:
    """limits: other than QUICK's."""
    values = {name: getattr(QUICK, name) for name in QUICK.__slots__} | limits
    return sandbox.run(job(source, limits=Limits(**values)))  # type: ignore[arg-type]


def printed(sandbox: Sandbox, source: str, **limits: float) -> str:
    """Standard output of a program that must end well."""
    result = run(sandbox, source, **limits)
    assert (result.status, result.stderr) == (0, b""), result
    return result.stdout.decode().strip()


class RememberingWalls(LocalWalls):
    """Keeps every enclosure it built."""

    def __init__(self, **options: frozenset[str]) -> None:
        super().__init__(**options)
        self.built: list[ChildEnclosure] = []

    def build(self) -> ChildEnclosure:
        """As Walls.build."""
        self.built.append(super().build())
        return self.built[-1]
