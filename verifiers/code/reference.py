"""What a reference asks for, checked: docs/verifiers/code.md describes it for those who write one.

    {"entry_point", "tests": [{"args", "kwargs", "expected"}, ...]}      calls and what they return
    {"entry_point", "tests": ["assert ...", ...], "imports": [...]}      assertions that call the function by its name
    {"entry_point", "check": "source that defines check(candidate)"}     assertions in a function
    {"stdio": [{"input", "output"}, ...]}                                a whole program

Optional: "shown" and "hidden", further tests; "compare" and "float_tolerance"; "partial"; "limits". An unknown key is
an error: a misspelt tolerance would be none.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

from reasongym.verifiers.code.comparing import COMPARISONS, Comparison
from reasongym.verifiers.code.inside.values import decode, encode
from reasongym.verifiers.code.limits import MAX_OUTPUT, CodeLimits, read_limits

__all__ = ["CallTest", "Calls", "Check", "Reference", "ReferenceProblem", "Runs", "Shelf", "StdioTest",
           "read_reference"]

_TOLERANCE = 1e-6
_COMMON = frozenset({"compare", "float_tolerance", "partial", "limits", "shown", "hidden"})
_MAX_SOURCE = 2**20

Shelf = Literal["shown", "open", "hidden"]
"""shown: stands in the prompt, has to pass and earns nothing. hidden: a verdict's reason says nothing of it."""


class ReferenceProblem(ValueError):
    """The reference cannot be used: an ERROR, whatever the response."""


class CallTest(NamedTuple):
    shelf: Shelf
    args: list[object]
    kwargs: dict[str, object]
    expected: object


class StdioTest(NamedTuple):
    shelf: Shelf
    given: str
    expected: str


class Check(NamedTuple):
    """source: run first. asserts: statements, each a test of its own; none where `check` in the source is the test."""

    source: str
    asserts: tuple[str, ...]


class Calls(NamedTuple):
    tests: tuple[CallTest, ...]
    comparison: Comparison


class Runs(NamedTuple):
    tests: tuple[StdioTest, ...]
    comparison: Comparison


class Reference(NamedTuple):
    """entry_point: None for whole programs (Runs) alone."""

    entry_point: str | None
    tests: Calls | Runs | Check
    limits: CodeLimits
    partial: bool


def read_reference(reference: object) -> Reference:
    """From a mapping, or the JSON text of one. Raises ReferenceProblem."""
    fields = _mapping(reference)
    kinds = [kind for kind in ("stdio", "check", "tests") if kind in fields]
    if "check" not in kinds and "stdio" not in kinds and "hidden" in fields:
        kinds = ["tests"]
    if len(kinds) != 1:
        raise ReferenceProblem(f'a reference has one of "tests", "check" and "stdio", got {sorted(map(str, fields))}')
    _check_keys(fields, _COMMON | set(kinds) | (set() if kinds == ["stdio"] else {"entry_point", "imports"}))
    if not isinstance(fields.get("partial", False), bool):
        raise ReferenceProblem(f'"partial" is true or false, got {fields["partial"]!r:.80}')
    try:
        limits = read_limits(fields.get("limits", {}))
    except ValueError as error:
        raise ReferenceProblem(str(error)) from None
    return Reference(None if kinds == ["stdio"] else _entry_point(fields), _tests(kinds[0], fields),
                     limits, bool(fields.get("partial", False)))


def _mapping(reference: object) -> Mapping[str, object]:
    if isinstance(reference, str):
        try:
            reference = json.loads(reference)
        except (ValueError, RecursionError) as error:
            raise ReferenceProblem(f"a reference is an object or its JSON text: {error}") from None
    if not isinstance(reference, Mapping):
        raise ReferenceProblem(f"a reference is an object, got {type(reference).__name__}")
    return reference


def _check_keys(fields: Mapping[str, object], known: set[str] | frozenset[str]) -> None:
    for key in fields:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise ReferenceProblem(f"no key {key!r:.60} here, expected some of {', '.join(sorted(known))}{meant}")


def _entry_point(fields: Mapping[str, object]) -> str:
    name = fields.get("entry_point")
    if not isinstance(name, str) or not name.isidentifier():
        raise ReferenceProblem(f'"entry_point" is the name of a function, got {name!r:.80}')
    return name


def _comparison(fields: Mapping[str, object]) -> Comparison:
    how = fields.get("compare", "float" if "float_tolerance" in fields else "exact")
    if how not in COMPARISONS:
        raise ReferenceProblem(f'"compare" is one of {", ".join(COMPARISONS)}, got {how!r:.80}')
    tolerance = fields.get("float_tolerance", _TOLERANCE)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise ReferenceProblem(f'"float_tolerance" is a number from 0 to below 1, got {tolerance!r:.80}')
    if "float_tolerance" in fields and how != "float":
        raise ReferenceProblem(f'"float_tolerance" goes with "compare": "float", got {how!r}')
    return Comparison(str(how), float(tolerance))


def _tests(kind: str, fields: Mapping[str, object]) -> Calls | Runs | Check:
    if kind == "check":
        source = _source(fields, "check")
        if {"shown", "hidden", "compare", "float_tolerance"} & fields.keys():
            raise ReferenceProblem('a "check" makes its own comparisons and has no tests beside it')
        return Check("\n".join([*_texts(fields, "imports"), source]), ())
    listed = _texts(fields, "tests") if _is_asserts(fields) else []
    if listed:
        if {"shown", "hidden", "compare", "float_tolerance"} & fields.keys():
            raise ReferenceProblem("assertions make their own comparisons and have no tests beside them")
        return Check("\n".join(_texts(fields, "imports")), tuple(listed))
    shelves: tuple[tuple[str, Shelf], ...] = (("shown", "shown"), (kind, "open"), ("hidden", "hidden"))
    values = [(value, shelf) for key, shelf in shelves for value in _list(fields, key)]
    if all(shelf == "shown" for _, shelf in values):
        raise ReferenceProblem("no tests: an answer that nothing checks is neither right nor wrong")
    if kind == "stdio":
        return Runs(tuple(_stdio_test(*each) for each in values), _comparison(fields))
    return Calls(tuple(_call_test(*each) for each in values), _comparison(fields))


def _is_asserts(fields: Mapping[str, object]) -> bool:
    tests = _list(fields, "tests")
    return bool(tests) and isinstance(tests[0], str)


def _list(fields: Mapping[str, object], key: str) -> list[object]:
    found = fields.get(key, [])
    if not isinstance(found, list | tuple):
        raise ReferenceProblem(f"{key!r} is a list, got {type(found).__name__}")
    return list(found)


def _texts(fields: Mapping[str, object], key: str) -> list[str]:
    found = _list(fields, key)
    if not all(isinstance(text, str) for text in found):
        raise ReferenceProblem(f"{key!r} is a list of texts, or of none")
    return [str(text) for text in found]


def _source(fields: Mapping[str, object], key: str) -> str:
    source = fields[key]
    if not isinstance(source, str) or not source.strip() or len(source) > _MAX_SOURCE:
        raise ReferenceProblem(f"{key!r} is source text of at most {_MAX_SOURCE} characters, got {source!r:.80}")
    return source


def _call_test(value: object, shelf: Shelf) -> CallTest:
    test = value if isinstance(value, Mapping) else {}
    args, kwargs = test.get("args", []), test.get("kwargs", {})
    right = isinstance(args, list | tuple) and isinstance(kwargs, Mapping) and all(isinstance(k, str) for k in kwargs)
    if not right or "expected" not in test or test.keys() - {"args", "kwargs", "expected"}:
        raise ReferenceProblem(f'a test is {{"args": [...], "kwargs": {{...}}, "expected": ...}}, got {value!r:.80}')
    made = CallTest(shelf, list(args), dict(kwargs), test["expected"])
    try:
        decode(encode(list(made)))  # as the candidate's side will: else every answer would be wrong
    except (ValueError, RecursionError) as error:
        raise ReferenceProblem(f"a test holds {error}, which is no plain value within the bounds") from None
    return made


def _stdio_test(value: object, shelf: Shelf) -> StdioTest:
    test = value if isinstance(value, Mapping) else {}
    given, expected = test.get("input", ""), test.get("output")
    if not isinstance(given, str) or not isinstance(expected, str) or test.keys() - {"input", "output"}:
        raise ReferenceProblem(f'a test is {{"input": text, "output": text}}, got {value!r:.80}')
    if len(expected.encode("utf-8", "replace")) > MAX_OUTPUT:
        raise ReferenceProblem(f"a test expects more than {MAX_OUTPUT} bytes, which is the most that is read")
    return StdioTest(shelf, given, expected)
