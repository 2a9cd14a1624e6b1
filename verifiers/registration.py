"""How a verifier gets its name: the `@verifier` decorator, for one answer a call or for many."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from reasongym.verifiers.verdict import Verdict

__all__ = ["REGISTERED", "BatchVerifier", "Verifier", "verifier"]

Verifier = Callable[..., Verdict | float | bool]
"""`(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict | float | bool`"""

F = TypeVar("F", bound=Callable[..., Any])
Many = Callable[..., Any]
"""`(responses, references, *, examples) -> list`: three lists of one length in, one answer each out, in their order."""

Prepare = Callable[[], object]

REGISTERED: dict[str, Verifier] = {}


class BatchVerifier:
    """A verifier of many answers at once, which can be called with one like any other: that is a batch of one.

    Where the function is a coroutine function, both ways return what has to be awaited.
    """

    def __init__(self, function: Many) -> None:
        functools.update_wrapper(self, function, updated=())
        del self.__dict__["__wrapped__"]  # it would show the signature of the lists to those who inspect this object
        self._function = function

    def __call__(self, response: str, reference: object, *, example: Mapping[str, object]) -> Any:
        answers = self.many([response], [reference], examples=[example])
        return _first(answers) if inspect.isawaitable(answers) else answers[0]

    def many(self, responses: Sequence[str], references: Sequence[object], *,
             examples: Sequence[Mapping[str, object]]) -> Any:
        """The function's list, one answer a response. Raises TypeError or ValueError where it is no such list."""
        answers = self._function(responses, references, examples=examples)
        return _awaited(answers, len(responses)) if inspect.isawaitable(answers) else _one_each(answers, len(responses))


async def _first(answers: Awaitable[list[Any]]) -> Any:
    return (await answers)[0]


async def _awaited(answers: Awaitable[Any], count: int) -> list[Any]:
    return _one_each(await answers, count)


def _one_each(answers: Any, count: int) -> list[Any]:
    """Which answer is whose is known by its place alone: a list of another length is worth nothing."""
    if not isinstance(answers, list | tuple):
        raise TypeError(f"a batch verifier returns a list, got {type(answers).__name__}")
    if len(answers) != count:
        raise ValueError(f"a batch verifier returns one answer a response, got {len(answers)} for {count}")
    return list(answers)


@overload
def verifier(name: str, *, batch: Literal[False] = False, prepare: Prepare | None = None) -> Callable[[F], F]: ...
@overload
def verifier(name: str, *, batch: Literal[True], prepare: Prepare | None = None) -> Callable[[Many], BatchVerifier]: ...
def verifier(name: str, *, batch: bool = False, prepare: Prepare | None = None) -> Callable[[Any], Any]:
    """Register a function under `name`, so that `--verifier name` and a task's reward parts find it.

    batch: the function takes lists, `(responses, references, *, examples) -> list`; it becomes a BatchVerifier.
    prepare: opens what the first answer would have to wait for; each scoring worker calls it as it starts, and goes on
    where it raises. Raises ValueError when another function already has the name.
    """

    def register(function: Any) -> Any:
        known = REGISTERED.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (function.__module__, function.__qualname__):
            raise ValueError(f"two verifiers are named {name!r}: {known.__module__}.{known.__qualname__} "
                             f"and {function.__module__}.{function.__qualname__}; rename one")
        found: Any = BatchVerifier(function) if batch else function
        if prepare is not None:
            found.prepare = prepare
        REGISTERED[name] = found
        return found

    return register
