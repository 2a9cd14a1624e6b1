"""How a verifier gets its name: the `@verifier` decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from reasongym.verifiers.verdict import Verdict

__all__ = ["REGISTERED", "Verifier", "verifier"]

Verifier = Callable[..., Verdict | float | bool]
"""`(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict | float | bool`"""

F = TypeVar("F", bound=Callable[..., Any])

REGISTERED: dict[str, Verifier] = {}


def verifier(name: str) -> Callable[[F], F]:
    """Register a function under `name`, so that `--verifier name` and a task's reward parts find it.

    Raises ValueError when another function already has the name.
    """

    def register(function: F) -> F:
        known = REGISTERED.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (function.__module__, function.__qualname__):
            raise ValueError(f"two verifiers are named {name!r}: {known.__module__}.{known.__qualname__} "
                             f"and {function.__module__}.{function.__qualname__}; rename one")
        REGISTERED[name] = function
        return function

    return register
