"""The step of the comparison that asks SymPy, for what neither exact values nor decimal places decide.

Values of definite integrals, limits, derivatives and infinite sums are asked for before anything is compared; what has
one is replaced by it. Two expressions without a usable point are equal where their difference simplifies to zero.
Without SymPy, and beyond the bounds, nothing changes. Nothing of SymPy is loaded in this process.

An indefinite integral equals what has the same derivative and a constant (`+ C`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from reasongym.verifiers.math.integration import is_family, is_indefinite
from reasongym.verifiers.math.nodes import (
    Calculus,
    Call,
    Constant,
    Node,
    Relation,
    inner,
    key,
    rebuilt,
    walk,
)
from reasongym.verifiers.math.symbolic_process import Overtime, answer_to
from reasongym.verifiers.math.symbolic_tree import Refused, Writer

__all__ = ["equal_by_algebra", "evaluated", "slopes"]

MAX_QUESTIONS = 4
"""Of one comparison: the items of two lists are compared each with each."""

SPENT_S = 0.8
"""Once a comparison has used that much processor time, its next question is a time-out: with the last one's second it
stays below 2 s, however many it has."""

WALL_S = 8.0
"""Wall time of a comparison, SymPy's start included: several times what it takes, so that load alone stops none, and
less than the 10 s after which a pool kills its worker."""

MAX_KEPT = 512
_INFINITY = Constant("inf")
_LEFT = ContextVar("questions left", default=MAX_QUESTIONS)
_SPENT = ContextVar("processor time of the questions", default=0.0)
_DEADLINE = ContextVar("when the comparison has to end", default=0.0)
_KNOWN: dict[str, Node | None] = {}
"""Values by the key of what has them: a group's answers are compared with one reference. None where there is none."""


def evaluated(left: Node, right: Node) -> tuple[Node, Node]:
    """Both with the values of what SymPy evaluates. Begins a comparison's count of questions. Raises Overtime."""
    _LEFT.set(MAX_QUESTIONS)
    _SPENT.set(0.0)
    _DEADLINE.set(time.monotonic() + WALL_S)
    if not (_has_calculus(left) or _has_calculus(right)) or key(left) == key(right):
        return left, right
    left, right = _without_question(left, right), _without_question(right, left)
    unknown = [one for one in {key(one): one for one in (*_open(left), *_open(right))}.values()
               if key(one) not in _KNOWN]
    _learn(unknown)
    return _with_values(left), _with_values(right)


def equal_by_algebra(left: Node, right: Node) -> bool:
    """Whether SymPy finds no difference. Raises Overtime."""
    writer = Writer()
    try:
        trees = [writer.written(left), writer.written(right)]
    except Refused:
        return False
    answer = _ask({"kind": "equal", "trees": trees})
    return answer is not None and answer["equal"] is True


def slopes(left: Node, right: Node) -> tuple[Node, Node] | None:
    """The derivatives of two sides with an indefinite integral; None where they are not to be compared that way."""
    variables = {one.items[1] for one in (*walk(left), *walk(right)) if isinstance(one, Calculus) and
                 is_indefinite(one)}
    if len(variables) != 1 or not (is_family(left) and is_family(right)):
        return None
    (variable,) = variables
    writer = Writer()
    try:
        trees = [writer.written(left), writer.written(right)]
    except Refused:
        return None
    by = writer.written(variable)
    answer = _ask({"kind": "slopes", "trees": trees, "by": by[1]})
    if answer is None or None in answer["trees"]:
        return None
    one, other = map(writer.read, answer["trees"])
    return one, other


def _ask(question: Mapping[str, object]) -> dict[str, Any] | None:
    left = _LEFT.get()
    if not left:
        return None
    if _SPENT.get() > SPENT_S:
        raise Overtime("SymPy took too long over several questions")
    _LEFT.set(left - 1)
    answer = answer_to(question, _DEADLINE.get() or time.monotonic() + WALL_S)
    if answer is not None:
        _SPENT.set(_SPENT.get() + answer.pop("cpu_s", 0.0))
    return answer or None


def _has_calculus(node: Node) -> bool:
    """Quick, and right where it says no: the key is there already, and almost every answer ends here."""
    written = key(node)
    return "Calculus" in written or ("@inf" in written and ("Call sum" in written or "Call prod" in written))


def _without_question(node: Node, beside: Node) -> Node:
    r"""Of `\int_0^1 x\,dx = 1/2` the last member counts, beside what is no equation."""
    match node:
        case Relation((Calculus(), *_, last), signs) if set(signs) == {"="} and not isinstance(beside, Relation):
            return last
    return node


def _open(node: Node) -> list[Node]:
    """What SymPy is asked for the value of, nothing inside another."""
    match node:
        case Calculus() if not is_indefinite(node):
            return [node]
        case Call("sum" | "prod", (_, _, low, high)) if _INFINITY in (*walk(low), *walk(high)):
            return [node]
    return [found for part in inner(node) for found in _open(part)]


def _learn(unknown: list[Node]) -> None:
    writer, asked = Writer(), list[tuple[str, list[Any]]]()
    for one in unknown:
        try:
            asked.append((key(one), writer.written(one)))
        except Refused:
            continue
    answer = _ask({"kind": "values", "trees": [tree for _, tree in asked]}) if asked else None
    if answer is None:
        return
    if len(_KNOWN) > MAX_KEPT:
        _KNOWN.clear()
    for (name, _), tree in zip(asked, answer["trees"], strict=True):
        _KNOWN[name] = None if tree is None else writer.read(tree)


def _with_values(node: Node) -> Node:
    if node in _open(node):
        return _KNOWN.get(key(node)) or node
    return rebuilt(node, [_with_values(part) for part in inner(node)])
