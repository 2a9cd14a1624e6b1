"""Inside the tests' sandbox: what the text of tests says before any of it runs."""

from __future__ import annotations

import sys

__all__ = ["missing_import", "names_exceptions"]

TYPE_CHECKING = False  # as in `channel`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ONLY_TREE = 0x400
"""ast.PyCF_ONLY_AST; the module `ast` takes longer to import than all of this."""

_CONDITIONAL = ("Try", "TryStar", "If", "IfExp", "While", "For", "Match")
_HANDLERS = ("Try", "TryStar", "With", "AsyncWith")


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


def names_exceptions(source: str) -> bool:
    """Whether anything in it can handle an exception on purpose: `try`, `with`, something like assertRaises."""
    try:
        nodes = _nodes(compile(source, "tests.py", "exec", _ONLY_TREE), ())
        return any(type(node).__name__ in _HANDLERS or "aises" in str(getattr(node, "attr", "")) for node in nodes)
    except (SyntaxError, ValueError):  # a prompt that is a sentence
        return False


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
