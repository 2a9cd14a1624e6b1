"""Inside the tests' sandbox: what the text of tests says before any of it runs."""

from __future__ import annotations

import sys

__all__ = ["Handler", "asserts", "handlers", "is_forgotten", "missing_import"]

TYPE_CHECKING = False  # as in `channel`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ONLY_TREE = 0x400
"""ast.PyCF_ONLY_AST; the module `ast` takes longer to import than all of this."""

_CONDITIONAL = ("Try", "TryStar", "If", "IfExp", "While", "For", "Match")
_FAILING = ("assert", "fail", "aises", "exit")
"""In the names of what tests fail by: assertEqual, pytest.fail, assert_raises, sys.exit."""

Handler = tuple[int, int, tuple[str, ...]]
"""First and last line that it guards, and the names of the classes that it takes; none: any."""


def missing_import(source: str) -> str | None:
    """A module that is imported whatever the candidate answers, and is not there. Raises SyntaxError."""
    for node in _nodes(compile(source, "tests.py", "exec", _ONLY_TREE), _CONDITIONAL):
        kind = type(node).__name__
        names = [alias.name for alias in node.names] if kind == "Import" else []
        if kind == "ImportFrom" and not node.level:
            names = [node.module]
        for name in names:
            if not _is_there(name.partition(".")[0]):
                return str(name)
    return None


def handlers(source: str) -> list[Handler]:
    """Where in it an exception may be expected: under `try` or `with`, or in what an assertRaises is given."""
    try:
        nodes = list(_nodes(compile(source, "tests.py", "exec", _ONLY_TREE), ()))
    except (SyntaxError, ValueError):  # a prompt that is a sentence
        return []
    found: list[Handler] = []
    for node in nodes:
        kind = type(node).__name__
        if kind in ("Try", "TryStar"):
            found += [(*_lines(node.body), _names(handler.type)) for handler in node.handlers]
        elif kind in ("With", "AsyncWith"):
            found.append((*_lines(node.body), ()))
        elif kind == "Call" and "aises" in _name(node.func):
            found.append((*_lines([node]), ()))
    return found


def asserts(source: str) -> bool:
    """Whether something in it is there to fail: `assert`, `raise`, a method like assertEqual. Raises SyntaxError."""
    return any(type(node).__name__ == "Raise" or any(word in _name(node) for word in _FAILING)
               or (type(node).__name__ == "Assert" and not _always_holds(node))
               for node in _nodes(compile(source, "tests.py", "exec", _ONLY_TREE), ()))


def is_forgotten(source: str) -> bool:
    """Whether it compares and cannot fail: `f(1) == 2` without its `assert`, `assert (f(1) == 2, "why")`."""
    nodes = _nodes(compile(source, "tests.py", "exec", _ONLY_TREE), ())
    return any(_always_holds(node) or (type(node).__name__ == "Expr" and type(node.value).__name__ == "Compare")
               for node in nodes) and not asserts(source)


def _always_holds(node: Any) -> bool:
    return type(node).__name__ == "Assert" and type(node.test).__name__ == "Tuple" and bool(node.test.elts)


def _lines(nodes: list[Any]) -> tuple[int, int]:
    return nodes[0].lineno, nodes[-1].end_lineno


def _name(node: Any) -> str:
    """Of a variable, or an attribute's."""
    return str(getattr(node, "attr", "") or getattr(node, "id", ""))


def _names(node: Any) -> tuple[str, ...]:
    """Of the classes after `except`; none where they are no plain names."""
    parts = node.elts if type(node).__name__ == "Tuple" else [node]
    return tuple(part.id for part in parts) if all(type(part).__name__ == "Name" for part in parts) else ()


def _nodes(tree: Any, without: tuple[str, ...]) -> Iterator[Any]:
    """All but what stands below nodes of those kinds."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if type(node).__name__ not in without:
            for field in node._fields:
                value = getattr(node, field, None)
                pending += [each for each in (value if type(value) is list else [value]) if hasattr(each, "_fields")]


def _is_there(module: str) -> bool:
    if module in sys.modules or module in sys.stdlib_module_names:
        return True
    from importlib.util import find_spec

    return find_spec(module) is not None
