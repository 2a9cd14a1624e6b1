"""Inside the candidate's sandbox: loads its program once, then runs one call after another, each in a forked child.

It never holds an expected value, a test or a verdict. The program runs in this very process and can make it say
anything: all of that is the candidate's own word, which the host compares with what it expects.
What a call changes (globals, files opened, arguments) stays in its child; files on disk and processes left behind are
the program's until its session ends.

    host: {"choices", "entry_point", "prelude"}   caller: ("loaded", index), ("none", why) or
                                                          ("failed", class, built-in class, text)
    host: {"name", "args", "kwargs", "cpu_s"}     caller: ("ended", wait status, CPU seconds, encoded answer)
The encoded answer: ("value", value), ("raised", class, the built-in class it is of, text, arguments) or ("odd", why
it does not travel, its truth).
"""

from __future__ import annotations

import os
import random
import resource
import sys
from symtable import symtable

from reasongym.verifiers.code.inside.channel import receive, run_prompt, send
from reasongym.verifiers.code.inside.values import MAX_BYTES, NotPlain, encode

__all__ = ["main"]

TYPE_CHECKING = False  # as in `channel`
if TYPE_CHECKING:
    from typing import Any

_TEXT = 200
"""Characters of an exception's text that are told."""
_MAX_ARGUMENTS = 2**16
"""Bytes of an exception's arguments; larger ones are its text alone."""


def main() -> None:
    order = receive()
    index, why = _choose(order["choices"], order["entry_point"])
    if index is None:
        send(("none", why))
        return
    if order["entry_point"] is None:
        send(("loaded", index))
        return
    spool = os.open("answer", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.unlink("answer")
    before = random.getstate()
    program = type(sys)("solution")  # not __main__: what stands under that guard is not part of a function
    sys.modules["solution"] = program
    try:
        run_prompt(order["prelude"], program.__dict__)
        exec(compile(order["choices"][index], "solution.py", "exec"), program.__dict__)
    except BaseException as error:  # boundary: a program may raise anything
        if not _is_quiet_end(error, program, order["entry_point"]):
            send(("failed", *_told(error)))
            return
    send(("loaded", index))
    state = random.getstate()
    _serve(program, spool, state if state != before else None)


def _is_quiet_end(error: BaseException, program: object, name: str) -> bool:
    """`exit()` as the last line: what stands before it is there."""
    return type(error) is SystemExit and error.code in (None, 0) and hasattr(program, name)


def _choose(choices: list[str], entry_point: str | None) -> tuple[int | None, str]:
    """The first source that compiles and binds the name at its top level; any that compiles where there is no name.

    One that only imports the name comes after all that make it: tests of the answer's own begin with
    `from solution import name`.
    """
    why, imported = "no code", None
    for index, source in enumerate(choices):
        try:
            compile(source, "solution.py", "exec")  # a symbol table alone lets `return` stand outside a function
            if entry_point is None:
                return index, ""
            table = symtable(source, "solution.py", "exec")
            if entry_point in table.get_identifiers():
                symbol = table.lookup(entry_point)
                if symbol.is_assigned():
                    return index, ""
                if symbol.is_imported() and imported is None:
                    imported = index
            why = f"no {entry_point} is defined"
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
            name, _, text = _told(error)
            why = f"{name}: {text}"
    return imported, why


def _serve(program: object, spool: int, state: object) -> None:
    """spool: a file without a name, for answers: a pipe would stay open in what a call leaves running. state: that of
    `random` where loading changed it: a fork would else undo `random.seed(7)`."""
    while True:
        call = receive()
        os.ftruncate(spool, 0)
        child = os.fork()
        if child == 0:
            _run(program, call, spool, state)
        _, status, usage = os.wait4(child, 0)
        answer = os.pread(spool, MAX_BYTES, 0)
        send(("ended", status, usage.ru_utime + usage.ru_stime, answer))


def _run(program: object, call: dict[str, Any], spool: int, state: Any) -> None:
    """In the child: never returns."""
    try:
        _limit_cpu(call["cpu_s"])
        if state is not None:
            random.setstate(state)
        answer = _answer(program, call)
        os.pwrite(spool, answer, 0)
    finally:
        os._exit(0)


def _limit_cpu(seconds: int) -> None:
    """SIGXCPU says that it was the limit; a second later SIGKILL ends what ignores that."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = seconds + 1 if hard == resource.RLIM_INFINITY else min(seconds + 1, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (min(seconds, most), most))


def _answer(program: object, call: dict[str, Any]) -> bytes:
    try:
        function = getattr(program, call["name"])
        returned = function(*call["args"], **call["kwargs"])
    except BaseException as error:  # boundary: what it raises is the answer
        return _raised(error)
    try:
        return encode(("value", returned))
    except BaseException as error:  # NotPlain; a recursion limit set too low, a type that lies about itself
        why = str(error) if type(error) is NotPlain else f"a value that cannot be read: {type(error).__name__:.60}"
    try:
        return encode(("odd", why, bool(returned)))
    except BaseException:  # its own __bool__ may raise
        return encode(("odd", why, True))


def _raised(error: BaseException) -> bytes:
    """With its arguments where they are plain: the text of KeyError('a') is that of its argument in quotes."""
    name, base, text = _told(error)
    try:
        return encode(("raised", name, base, text, error.args), limit=_MAX_ARGUMENTS)
    except BaseException:  # no plain arguments; a class may do anything when it is asked for them
        return encode(("raised", name, base, text, (text,)))


def _told(error: BaseException) -> tuple[str, str, str]:
    """Class name, that of the first built-in class it is of, and text, of plain types whatever the class claims."""
    try:
        text = str.__str__(str(error))[:_TEXT]
        base = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    except BaseException:  # its own __str__ may raise
        text, base = "", "Exception"
    return str.__str__(type(error).__name__)[:_TEXT], str.__str__(base)[:_TEXT], text
