"""Inside the tests' sandbox: runs a data set's tests; their calls of the candidate go to the host and back as data.

The candidate's code is never here: what it returned is rebuilt from bytes as exact plain types, so no `__eq__` of its
own can meet an assertion. Broken are tests that do not compile, import what is not there, compare and do not assert,
ask the candidate nothing, or fail before it has answered once. From then on every failure of theirs is the
candidate's: an UnboundLocalError, a SyntaxError of `eval(candidate(1))`, a value that cannot be passed on may all be
what it answered, and one that could make its tests look broken would leave its group when it pleases.

    host: {"nonce", "prelude", "source", "asserts", "entry_point"}
    examiner: ("call", name, args, kwargs)
    host: ("value", value), ("odd", its truth), ("raised", class, built-in class, text, arguments) or ("lost", why)
    examiner: ("passed", nonce, [HELD, FAILED or PREPARED, ...], why the first failed) or ("broken", nonce, why)
PREPARED is a statement that held and tests nothing: `import math` between two assertions.
"""

from __future__ import annotations

import builtins
import contextlib
import sys

from reasongym.verifiers.code.inside.channel import receive, run_prompt, send
from reasongym.verifiers.code.inside.reading import Handler, asserts, handlers, is_forgotten, missing_import
from reasongym.verifiers.code.inside.values import MAX_MESSAGE

__all__ = ["FAILED", "HELD", "PREPARED", "main"]

HELD, FAILED, PREPARED = "held", "failed", "prepared"

_SWALLOWED = (StopIteration, StopAsyncIteration, GeneratorExit)
"""What iteration takes for its own end: `all(map(candidate, cases))` would end, and hold, at the first of them."""

_MAX_LENT = 20
_MAX_CALL = MAX_MESSAGE - 2**10
"""Bytes of a call: the host sends it on with words of its own around it."""
_NOT_RUN = 0x2A0
"""Flags of generators and coroutines: a call of one runs nothing of it."""

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
        self._unexpected: BaseException | None = None
        self._handlers: dict[str, list[Handler]] = {}
        self._classes: dict[str, type[BaseException]] = {}
        self._asserts = False
        self._num_asked = 0
        self._asked_for = False
        self._answered = False
        self._lost = ""
        self._broken: _Broken | None = None

    def load(self, prelude: str, source: str, tests: list[str]) -> None:
        sys.modules["tests"] = self._tests
        try:
            self._read(prelude, source, tests)
            run_prompt(prelude, self._tests.__dict__)
            setattr(self._tests, self._entry_point, self._proxy(self._entry_point))
            exec(compile(source, "tests.py", "exec"), self._tests.__dict__)
            self._swallowed_nothing()
        except BaseException as error:  # boundary: the tests are any code
            self._judge(error)

    def _read(self, prelude: str, source: str, tests: list[str]) -> None:
        """What can be known of them before the candidate is asked anything."""
        for text in (source, *tests):
            compile(text, "tests.py", "exec")
            if (module := missing_import(text)) is not None:
                raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        self._asserts = asserts(source)
        for text in tests or [source]:
            if is_forgotten(text):
                raise _Broken("a comparison that nothing asserts cannot fail")
        named = {"prompt.py": prelude, "tests.py": source, **{_file(n): text for n, text in enumerate(tests)}}
        self._handlers = {name: handlers(text) for name, text in named.items()}

    def examine(self, tests: list[str]) -> list[str]:
        """One result for each assertion; where there are none, one for `check`."""
        num_tests = max(len(tests), 1)
        if self.why:
            return [FAILED] * num_tests
        results = [self._result(test, _file(n)) for n, test in enumerate(tests)] or [self._checked()]
        if not self._asked_for and FAILED not in results:  # asked another function alone, it may have been told not to
            self._judge(_Broken(f"the tests never call {self._entry_point}"))
            return [FAILED] * num_tests
        return results

    def _checked(self) -> str:
        check = getattr(self._tests, "check", None)
        if not callable(check):
            raise _Broken("the tests define no check(candidate)")
        if getattr(getattr(check, "__code__", None), "co_flags", 0) & _NOT_RUN:
            self._judge(_Broken("check(candidate) is a generator or a coroutine, of which a call runs nothing"))
            return FAILED
        self._tests.__dict__["__candidate__"] = self._proxy(self._entry_point)
        return HELD if self._holds("check(__candidate__)", "tests.py") else FAILED

    def _result(self, test: str, file: str) -> str:
        """What holds and neither asserts nor asks earns nothing, or every answer would be paid for it."""
        before = self._num_asked
        if not self._holds(test, file):
            return FAILED
        tests = self._num_asked > before or (before > 0 and (self._asserts or asserts(test)))
        return HELD if tests else PREPARED

    def _holds(self, test: str, file: str) -> bool:
        self._lost = ""
        self._unexpected = None
        self._raised.clear()
        for _ in range(_MAX_LENT):
            try:
                exec(compile(test, file, "exec"), self._tests.__dict__)
                return self._swallowed_nothing()
            except NameError as error:
                if self._is_candidates(error) or not self._lend(error.name):
                    return self._judge(error)
            except BaseException as error:  # boundary: the tests are any code
                return self._judge(error)
        return self._judge(_Broken(f"the tests use more than {_MAX_LENT} names that they do not define"))

    def _swallowed_nothing(self) -> bool:
        """An exception raised where nothing in the tests' text expects one was caught by no intention of theirs."""
        if self._broken is not None:
            return self._judge(self._broken)
        if self._unexpected is not None:
            self._lost = self._lost or _described(self._unexpected)
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
        """A module of the standard library, which one MBPP row takes from the solution's imports; a class of the
        program's that was raised, for `except Own`; else another function of the program: what that answers is the
        program's word as well."""
        if not name or hasattr(self._tests, name):
            return False
        is_module = name in sys.stdlib_module_names
        lent = __import__(name) if is_module else self._classes.get(name) or self._proxy(name)
        setattr(self._tests, name, lent)
        return True

    def _proxy(self, name: str) -> Callable[..., object]:
        def candidate(*args: object, **kwargs: object) -> object:
            kind, *said = self._asked(name, args, kwargs)
            if kind == "value":
                return said[0]
            if kind == "odd":
                return _Odd(said[0] is True)
            error = _Lost(*said) if kind == "lost" else _exception(self._classes, *said)
            self._raised.append(error)
            if isinstance(error, _Lost):
                self._lost = self._lost or str(error)
            elif self._unexpected is None and not self._is_expected(error):
                self._unexpected = error
            raise error

        candidate.__name__ = candidate.__qualname__ = name
        return candidate

    def _is_expected(self, error: BaseException) -> bool:
        """By a handler around the call: another one, as of `try: import numpy`, says nothing of it."""
        frame = sys._getframe(2)
        while frame is not None:
            for first, last, names in self._handlers.get(frame.f_code.co_filename, ()):
                if first <= (frame.f_lineno or 0) <= last and _takes(names, error):
                    return True
            frame = frame.f_back  # type: ignore[assignment]
        return False

    def _asked(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        try:
            send(("call", name, args, kwargs), limit=_MAX_CALL, exact=True)
        except ValueError as error:
            self._broken = _Broken(f"the tests pass {error}, which does not travel")
            raise self._broken from None
        self._num_asked += 1
        self._asked_for |= name == self._entry_point
        answer = receive()
        self._answered = True
        return answer


def _file(number: int) -> str:
    return f"test {number}.py"


def _takes(names: tuple[str, ...], error: BaseException) -> bool:
    """Whether a handler of those classes may be meant for it; one of a class of the tests' own for any."""
    classes = [_built_in(name) for name in names]
    return not names or None in classes or isinstance(error, tuple(filter(None, classes)))


def _exception(made_before: dict[str, type[BaseException]], name: str, base: str, text: str,
               arguments: tuple[object, ...]) -> BaseException:
    """One of the built-in class of that name, else of a class made for it, the same whenever the name is."""
    found: Any = _built_in(name)
    if found is None:  # no name that a class can have: those of raw bytes, "a\0b", "\ud800"
        known_as = name if name.isidentifier() else "Error"
        found = made_before.setdefault(known_as, type(known_as, (_built_in(base) or Exception,), {}))
    if issubclass(found, _SWALLOWED):
        return _Lost(f"{name}: {text}" if text else name)
    with contextlib.suppress(Exception):  # any: they are the program's word
        made: BaseException = found(*arguments)
        if str(made).startswith(text):  # else its class makes a text of its own of them
            return made
    try:
        made = found(text)
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
