"""Inside the tests' sandbox: runs a data set's tests; their calls of the candidate go to the host and back as data.

The candidate's code is never here: what it returned is rebuilt from bytes as exact plain types, so no `__eq__` of its
own can meet an assertion. A test that fails because of what the candidate returned or raised is the candidate's
failure; a test that does not parse, raises before its first call, or names what nobody defines is broken.

    host: {"nonce", "prelude", "source", "asserts", "entry_point"}
    examiner: ("call", name, args, kwargs)
    host: ("value", value), ("odd", its truth), ("raised", class, text) or ("lost", why)
    examiner: ("passed", nonce, [bool, ...], why the first failed) or ("broken", nonce, why)
"""

from __future__ import annotations

import builtins
import sys

from reasongym.verifiers.code.inside.channel import receive, run_prompt, send

__all__ = ["main"]

_TESTS_OWN = (NameError, ImportError, SyntaxError)
"""What no plain value of a candidate's can provoke in a test that is sound."""

_MAX_LENT = 20

TYPE_CHECKING = False  # as in `channel`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main() -> None:
    order = receive()
    examiner = _Examiner(str(order["entry_point"]))
    try:
        examiner.load(str(order["prelude"]), str(order["source"]))
        passed = examiner.examine(order["asserts"])
    except _Broken as error:
        send(("broken", order["nonce"], str(error)))
    else:
        send(("passed", order["nonce"], passed, examiner.why))


class _Broken(Exception):
    """The tests' own failure."""


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
        self._num_calls = 0
        self._lost = False

    def load(self, prelude: str, source: str) -> None:
        sys.modules["tests"] = self._tests
        try:
            run_prompt(prelude, self._tests.__dict__)
            setattr(self._tests, self._entry_point, self._proxy(self._entry_point))
            exec(compile(source, "tests.py", "exec"), self._tests.__dict__)
        except BaseException as error:  # boundary: the tests are any code
            self._judge(error)

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
        self._lost = False
        for _ in range(_MAX_LENT):
            try:
                exec(compile(test, "tests.py", "exec"), self._tests.__dict__)
                return not self._lost
            except NameError as error:
                if self._is_candidates(error) or not self._lend(error.name):
                    return self._judge(error)
            except BaseException as error:  # boundary: the tests are any code
                return self._judge(error)
        raise _Broken(f"the tests use more than {_MAX_LENT} names that they do not define")

    def _judge(self, error: BaseException) -> bool:
        is_tests = isinstance(error, _TESTS_OWN) or not self._num_calls or isinstance(error, _Broken)
        if is_tests and not self._is_candidates(error):
            raise _Broken(_described(error)) from None
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
            self._num_calls += 1
            try:
                send(("call", name, args, kwargs))
            except ValueError as error:
                raise _Broken(f"the tests pass {error}, which does not travel") from None
            kind, *said = receive()
            if kind == "value":
                return said[0]
            if kind == "odd":
                return _Odd(said[0] is True)
            self._lost = self._lost or kind == "lost"
            self._raised.append(_Lost(*said) if kind == "lost" else _exception(*said))
            raise self._raised[-1]

        candidate.__name__ = candidate.__qualname__ = name
        return candidate


def _exception(name: str, text: str) -> BaseException:
    """One of the built-in class of that name, else of a class made for it."""
    found: Any = getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        found = type(name, (Exception,), {})
    try:
        made: BaseException = found(text)
    except TypeError:  # UnicodeDecodeError and ExceptionGroup take more than a text
        made = type(name, (ValueError if issubclass(found, ValueError) else Exception,), {})(text)
    return made


def _described(error: BaseException) -> str:
    try:
        text = str(error)[:200]
    except Exception:  # its own __str__ may raise
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
