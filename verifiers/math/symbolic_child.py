"""The program of the process that SymPy runs in; the only file that imports it.

One question a line, behind its limits of processor and wall time in milliseconds; one answer a line, with `cpu_s`. The
answers and questions are JSON. The process loads SymPy and forks for each question, so that one that
hangs costs no more than its time, and none depends on those before it. Expressions are built from a list of
constructors, one by one: no text is parsed. What has no finite value on the way (1/0, 0^0) makes the answer null, as
does what SymPy leaves open.

Policies: symbols are real. Where a sum or integral with symbols converges under a condition, its value there stands for
it. A limit has the same value from both sides.

Known false positives: SymPy's own mistakes. Known false negatives: Si, Fresnel's and elliptic integrals, and whatever
SymPy does not find within the limits.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import sympy

__all__ = ["main"]

MEMORY_BYTES = 1 << 30
MAX_NODES = 400
MAX_DEPTH = 25
MAX_BITS = 4_000
PR_SET_PDEATHSIG = 1

_CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh, "coth": sympy.coth, "ln": sympy.log,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "arccot": sympy.acot, "arcsec": sympy.asec,
    "arccsc": sympy.acsc, "arsinh": sympy.asinh, "arcosh": sympy.acosh, "artanh": sympy.atanh, "abs": sympy.Abs,
    "floor": sympy.floor, "ceil": sympy.ceiling, "max": sympy.Max, "min": sympy.Min, "factorial": sympy.factorial,
    "binom": sympy.binomial,
}
_NAMES = {function: name for name, function in _FUNCTIONS.items()} | {
    sympy.zeta: "zeta", sympy.gamma: "gamma", sympy.erf: "erf", sympy.erfc: "erfc"}
_OPEN = (sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit, sympy.Derivative)
_INFINITE = (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan)


class Unanswerable(Exception):
    """No value, or none that is found."""


def main() -> None:
    """The last argument is the parent's process id."""
    _die_with(int(sys.argv[-1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the whole group; our parent decides
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES if hard == -1 else min(MEMORY_BYTES, hard), hard))
    _warm_up()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        cpu_ms, wall_ms, question = line.split(" ", 2)
        print(json.dumps(_forked(question, int(cpu_ms), int(wall_ms)), separators=(",", ":")), flush=True)


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)


def _warm_up() -> None:
    """SymPy loads much of itself at the first sum, integral and limit: longer than a question may take."""
    n, x = sympy.Symbol("n", integer=True), sympy.Symbol("x", real=True)
    sympy.Sum(1 / n**2, (n, 1, sympy.oo)).doit()
    sympy.Integral(sympy.exp(-x**2), (x, 0, sympy.oo)).doit()
    sympy.Integral(x / (x**2 + 1), (x, 0, 1)).doit()
    sympy.limit((1 + 1 / x) ** x, x, sympy.oo)
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - sympy.factorial(x))


def _forked(line: str, cpu_ms: int, wall_ms: int) -> dict[str, object]:
    """The answer, from a process of its own; nothing but its processor time where that ended without one."""
    back, to = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _reply(line, to, parent, cpu_ms)
    os.close(to)
    end, poll = os.pidfd_open(child), select.poll()
    poll.register(end, select.POLLIN)
    in_time = bool(poll.poll(wall_ms))
    os.kill(child, signal.SIGKILL)  # not yet reaped, so that its number still is its own
    _, status, used = os.wait4(child, 0)
    with open(back, "rb") as pipe:
        found: dict[str, object] = json.loads(pipe.read()) if in_time and status == 0 else {}
    os.close(end)
    if not in_time or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF):
        found = {"overtime": True}
    return {**found, "cpu_s": round(used.ru_utime + used.ru_stime, 3)}


def _reply(line: str, to: int, parent: int, cpu_ms: int) -> NoReturn:
    """Ends by SIGPROF when its processor time is spent. An answer that does not fit into the pipe blocks here."""
    try:
        _die_with(parent)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, max(cpu_ms, 1) / 1000)
        os.write(to, json.dumps(answer(json.loads(line))).encode())
        os._exit(0)
    finally:  # whatever was raised must not return into the parent's loop
        os._exit(1)


def answer(question: Mapping[str, Any]) -> dict[str, object]:
    match question["kind"]:
        case "values":
            return {"trees": [_or_none(_value, tree) for tree in question["trees"]]}
        case "slopes":
            return {"trees": [_or_none(_slope, tree, question["by"]) for tree in question["trees"]]}
    return {"equal": bool(_or_none(_equal, *question["trees"]))}


def _or_none(work: Callable[..., object], *parts: object) -> object:
    try:
        return work(*parts)
    except Exception:  # boundary: SymPy raises what it likes, MemoryError and RecursionError among it
        return None


def _value(tree: list[Any]) -> object:
    found = built(tree)
    if found.has(*_OPEN):
        raise Unanswerable("left open")
    return ["constant", "inf"] if found == sympy.oo else written(found)


def _slope(tree: list[Any], by: str) -> object:
    """Of an indefinite integral the integrand: nothing is integrated for it."""
    return written(finite(sympy.diff(built(tree), sympy.Symbol(by, real=True))))


def _equal(left: list[Any], right: list[Any]) -> bool:
    a, b = finite(built(left)), finite(built(right))
    gap = finite(a - b)
    return bool(sympy.simplify(gap) == 0 or sympy.simplify(sympy.expand_func(gap.rewrite(sympy.gamma))) == 0)


def finite(found: Any) -> Any:
    if found.has(*_INFINITE):
        raise Unanswerable("infinite")
    return found


def built(tree: list[Any]) -> Any:
    """The expression; values of sums, integrals, limits and derivatives are found on the way, and may be infinite."""
    kind, *parts = tree
    match kind:
        case "number":
            return sympy.Rational(int(parts[0], 16), int(parts[1], 16))
        case "symbol":
            return sympy.Symbol(parts[0], real=True)
        case "constant":
            return _CONSTANTS[parts[0]]
        case "sum":
            return finite(sympy.Add(*(finite(built(part)) for part in parts)))
        case "product":
            return finite(sympy.Mul(*(finite(built(part)) for part in parts)))
        case "power":
            return _power(finite(built(parts[0])), finite(built(parts[1])))
        case "call":
            return _called(parts[0], [finite(built(part)) for part in parts[1:]])
        case "series":
            return _series(*parts)
        case "calculus":
            return _calculus(*parts)
    raise Unanswerable(kind)


def _power(base: Any, exponent: Any) -> Any:
    if base.is_zero and not exponent.is_positive:
        raise Unanswerable("zero to a power that is not positive")
    return finite(base**exponent)


def _called(name: str, items: list[Any]) -> Any:
    match name, items:
        case "root", [of, index]:
            return finite(sympy.real_root(of, index) if index.is_odd else _power(of, 1 / index))
        case "log", [of, base]:
            return finite(sympy.log(of) / sympy.log(base))
    return finite(_FUNCTIONS[name](*items))


def _series(kind: str, term: list[Any], index: list[Any], low: list[Any], high: list[Any]) -> Any:
    inside = finite(built(term))
    level = sum(symbol.name.startswith("index") for symbol in inside.atoms(sympy.Symbol))
    whole = sympy.Symbol(f"index{level}", integer=True)  # the same whatever the letter, and not one bound inside
    make = sympy.Sum if kind == "sum" else sympy.Product
    return settled(make(inside.subs(built(index), whole), (whole, built(low), built(high))).doit())


def _calculus(kind: str, body: list[Any], variable: list[Any], *rest: list[Any]) -> Any:
    inside, letter, at = finite(built(body)), built(variable), [built(part) for part in rest]
    if kind == "derivative":
        return settled(sympy.diff(inside, letter, int(at[0])))
    if kind == "integral":
        found = sympy.Integral(inside, (letter, *at) if at else letter)
        return settled(found.doit()) if at else found
    side = {"above": "+", "below": "-"}.get(kind, "+-" if at[0].is_finite else "-")
    return settled(sympy.limit(inside, letter, at[0], side))


def settled(found: Any) -> Any:
    """What was found, or left as it is; of a value under a condition, that where the condition holds."""
    found = found.replace(lambda part: isinstance(part, sympy.Piecewise), _where_it_converges)
    if found.has(sympy.nan, sympy.zoo, sympy.AccumBounds, sympy.Piecewise):
        raise Unanswerable("no value")
    return found


def _where_it_converges(cases: Any) -> Any:
    (first, _), *others = cases.args
    return first if all(value.has(*_OPEN) for value, _ in others) and not first.has(*_OPEN) else cases


def written(found: Any) -> object:
    """The expression as a tree. Raises Unanswerable where that is too large, or holds what a tree cannot say."""
    pending, nodes = [(found, 1)], 0
    while pending:
        part, depth = pending.pop()
        nodes += 1
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            raise Unanswerable("too large")
        pending += [(inner, depth + 1) for inner in part.args]
    return _written(found)


def _written(found: Any) -> list[Any]:
    if found.is_Rational and not found.is_infinite:
        if max(abs(int(found.p)), int(found.q)).bit_length() > MAX_BITS:
            raise Unanswerable("too many digits")
        return ["number", f"{int(found.p):x}", f"{int(found.q):x}"]
    for name, value in _CONSTANTS.items():
        if found == value and name != "inf":
            return ["constant", name]
    if found == -sympy.oo:
        return ["product", ["number", "-1", "1"], ["constant", "inf"]]
    if found.is_Symbol:
        return ["symbol", found.name]
    parts = [_written(part) for part in found.args]
    if found.is_Add or found.is_Mul:
        return ["sum" if found.is_Add else "product", *parts]
    if found.is_Pow:
        return ["power", *parts]
    if found.func is sympy.exp:
        return ["power", ["constant", "e"], *parts]
    if found.func is sympy.sign:
        return ["product", *parts, ["power", ["call", "abs", *parts], ["number", "-1", "1"]]]
    if found.func not in _NAMES:
        raise Unanswerable(f"{found.func} has no name")
    return ["call", _NAMES[found.func], *parts]
