"""Verifiers: programs that check an answer. `(response, reference, *, example) -> Verdict | float | bool`.

This folder is imported as `reasongym.verifiers`, so that it never shadows the package named `verifiers` on PyPI.
"""

if __name__ != "reasongym.verifiers":
    raise ImportError(f"this folder is the package reasongym.verifiers; it was imported as {__name__!r}. "
                      "Run from outside the repository, or write `import reasongym.verifiers`.")

from reasongym.verifiers.registration import REGISTERED, Verifier, verifier
from reasongym.verifiers.verdict import Status, Verdict, as_verdict

__all__ = ["REGISTERED", "Status", "Verdict", "Verifier", "as_verdict", "verifier"]
