"""Inside the tests' sandbox: runs a data set's tests; their calls of the candidate go to the host and back as data.

The candidate's code is never here: what it returned is rebuilt from bytes as exact plain types, so no `__eq__` of its
own can meet an assertion. Broken are tests that do not compile, import what is not there, or fail before the candidate
has answered once. From then on every failure of theirs is the candidate's: an UnboundLocalError, a SyntaxError of
`eval(candidate(1))`, a value that cannot be passed on may all be what it answered, and one that could make its tests
look broken would leave its group when it pleases.

    host: {"nonce", "prelude", "source", "asserts", "entry_point"}
    examiner: ("call", name, args, kwargs)
    host: ("value", value), ("odd", its truth), ("raised", class, built-in class, text) or ("lost", why)
    examiner: ("passed", nonce, [bool, ...], why the first failed) or ("broken", nonce, why)
"""

from __future__ import annotations

import builtins
import sys

from reasongym.verifiers.code.inside.channel import receive, run_prompt, send
from reasongym.verifiers.code.inside.reading import missing_import, names_exceptions

__all__ = ["main"]

_SWALLOWED = (StopIteration, StopAsyncIteration, GeneratorExit)
"""What iteration takes for its own end: `all(map(candidate, cases))` would end, and hold, at the first of them."""

_MAX_LENT = 20

TYPE_CHECKING = False  # as in `channel`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main() -> None:
    order = receive()
    examiner = _Examiner(str(order["entry_point"]))
    try:
        examiner.load(str(order["prelude"]), str(order["source"]), order["asserts"])
        passed = examiner.examine(order["asserts"])
    except _Broken as error:
        send(("broken", order["nonce"], str(error)))
    else:
        send(("passed", order["nonce"], passed, examiner.why))


class _Broken(BaseException):
    """The tests' own failure, whatever they catch."""


class _Lost(BaseException):
    """There is no answer to give to the test, which fails whatever it catches."""


class _Odd:
    """What the candidate returned and did not travel: of any use but `if`, it is an object like no other."""

    def __init__(self, truth: bool) -> None:
        self._truth = truth

    def __bool__(self) -> bool:
        return self._truth


class _Examiner:
    def __init__(self, entry_point: str) -> None:
        self.why = ""
        self._entry_point = entry_point
        self._tests = type(sys)("tests")
        self._raised: list[BaseException] = []
        self._handles = False
        self._answered = False
        self._lost = ""
        self._broken: _Broken | None = None

    def load(self, prelude: str, source: str, asserts: list[str]) -> None:
        sys.modules["tests"] = self._tests
        try:
            self._read(prelude, source, asserts)
            run_prompt(prelude, self._tests.__dict__)
            setattr(self._tests, self._entry_point, self._proxy(self._entry_point))
            exec(compile(source, "tests.py", "exec"), self._tests.__dict__)
            self._swallowed_nothing()
        except BaseException as error:  # boundary: the tests are any code
            self._judge(error)

    def _read(self, prelude: str, source: str, asserts: list[str]) -> None:
        """What can be known of them before the candidate is asked anything."""
        for text in (source, *asserts):
            compile(text, "tests.py", "exec")
            if (module := missing_import(text)) is not None:
                raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        self._handles = any(map(names_exceptions, (prelude, source, *asserts)))

    def examine(self, asserts: list[str]) -> list[bool]:
        """One result for each assertion; where there are none, one for `check`."""
        if self.why:
            return [False] * max(len(asserts), 1)
        if asserts:
            return [self._holds(each) for each in asserts]
        if not callable(getattr(self._tests, "check", None)):
            raise _Broken("the tests define no check(candidate)")
        self._tests.__dict__["__candidate__"] = self._proxy(self._entry_point)
        return [self._holds("check(__candidate__)")]

    def _holds(self, test: str) -> bool:
        self._lost = ""
        self._raised.clear()
        for _ in range(_MAX_LENT):
            try:
                exec(compile(test, "tests.py", "exec"), self._tests.__dict__)
                return self._swallowed_nothing()
            except NameError as error:
                if self._is_candidates(error) or not self._lend(error.name):
                    return self._judge(error)
            except BaseException as error:  # boundary: the tests are any code
                return self._judge(error)
        return self._judge(_Broken(f"the tests use more than {_MAX_LENT} names that they do not define"))

    def _swallowed_nothing(self) -> bool:
        """An exception that nothing in the tests' text can have expected was caught by no intention of theirs."""
        if self._broken is not None:
            return self._judge(self._broken)
        if self._raised and not self._handles:
            self._lost = self._lost or _described(self._raised[0])
        self.why = self.why or self._lost
        return not self._lost

    def _judge(self, error: BaseException) -> bool:
        if not self._answered:
            raise error if isinstance(error, _Broken) else _Broken(_described(error)) from None
        self.why = self.why or _described(error)
        return False

    def _is_candidates(self, error: BaseException) -> bool:
        return any(error is raised for raised in self._raised)

    def _lend(self, name: str | None) -> bool:
        """A module of the standard library, which one MBPP row takes from the solution's imports; else another function
        of the program: what that answers is the candidate's word as well."""
        if not name or hasattr(self._tests, name):
            return False
        setattr(self._tests, name, __import__(name) if name in sys.stdlib_module_names else self._proxy(name))
        return True

    def _proxy(self, name: str) -> Callable[..., object]:
        def candidate(*args: object, **kwargs: object) -> object:
            kind, *said = self._asked(name, args, kwargs)
            if kind == "value":
                return said[0]
            if kind == "odd":
                return _Odd(said[0] is True)
            error = _Lost(*said) if kind == "lost" else _exception(*said)
            self._raised.append(error)
            if isinstance(error, _Lost):
                self._lost = self._lost or str(error)
            raise error

        candidate.__name__ = candidate.__qualname__ = name
        return candidate

    def _asked(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        try:
            send(("call", name, args, kwargs))
        except ValueError as error:
            self._broken = _Broken(f"the tests pass {error}, which does not travel")
            raise self._broken from None
        answer = receive()
        self._answered = True
        return answer


def _exception(name: str, base: str, text: str) -> BaseException:
    """One of the built-in class of that name, else of a class made for it."""
    found: Any = _built_in(name)
    if found is None:  # no name that a class can have: those of raw bytes, "a\0b", "\ud800"
        found = type(name if name.isidentifier() else "Error", (_built_in(base) or Exception,), {})
    if issubclass(found, _SWALLOWED):
        return _Lost(f"{name}: {text}" if text else name)
    try:
        made: BaseException = found(text)
    except TypeError:  # UnicodeDecodeError and ExceptionGroup take more than a text
        made = type(found.__name__, (ValueError if issubclass(found, ValueError) else Exception,), {})(text)
    return made


def _built_in(name: str) -> type[BaseException] | None:
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _described(error: BaseException) -> str:
    try:
        text = str(error)[:200]
    except Exception:  # its own __str__ may raise
        text = ""
    if isinstance(error, _Broken | _Lost):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
