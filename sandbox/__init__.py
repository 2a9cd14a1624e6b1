"""Sandboxes for untrusted code. This folder is imported as `reasongym.sandbox`."""

if __name__ != "reasongym.sandbox":
    raise ImportError(f"this folder is the package reasongym.sandbox; it was imported as {__name__!r}. "
                      "Run from outside the repository, or write `import reasongym.sandbox`.")

from reasongym.sandbox.backend import Sandbox, Session
from reasongym.sandbox.choose import open_sandbox
from reasongym.sandbox.jobs import Ending, Job, Limits, Result, SandboxError

__all__ = ["Ending", "Job", "Limits", "Result", "Sandbox", "SandboxError", "Session", "open_sandbox"]
