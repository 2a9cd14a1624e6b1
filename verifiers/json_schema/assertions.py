"""Keywords that judge a value by itself: `(visit, limit) -> what is wrong, or None`. Numbers are compared exactly."""

from __future__ import annotations

from collections.abc import Callable, Sized
from fractions import Fraction
from typing import Any

from reasongym.verifiers.json_schema.catalogue import Keyword, SchemaProblem
from reasongym.verifiers.json_schema.patterns import PatternProblem, compiled
from reasongym.verifiers.json_schema.strict_json import canonical
from reasongym.verifiers.json_schema.visit import Visit, is_type, short

__all__ = ["ASSERTIONS", "found_in", "types_draft3"]


def _types(visit: Visit, names: Any) -> str | None:
    names = names if isinstance(names, list) else [names]
    if any(is_type(visit.value, name, visit.target.dialect.year) for name in names):
        return None
    return f"{short(visit.value)} is not of type {' or '.join(str(name) for name in names)}"


def types_draft3(visit: Visit, names: Any) -> str | None:
    """`type` in draft 3, where a name may also be a schema."""
    names = names if isinstance(names, list) else [names]
    for name in names:
        if (visit.same(name) is None) if isinstance(name, dict) else is_type(visit.value, name, 3):
            return None
    return f"{short(visit.value)} is of none of the {len(names)} types"


def _enum(visit: Visit, values: Any) -> str | None:
    if isinstance(visit.value, str):
        found = visit.value in values
    else:
        mine = canonical(visit.value)
        found = any(canonical(value) == mine for value in values)
    return None if found else f"{short(visit.value)} is none of the values"


def _const(visit: Visit, value: Any) -> str | None:
    return None if canonical(value) == canonical(visit.value) else f"{short(visit.value)} is not {short(value)}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _exact(number: Any) -> Fraction:
    """As decimals are written, so that 0.3 is a multiple of 0.1, which the doubles are not."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _multiple_of(visit: Visit, divisor: Any) -> str | None:
    if not _is_number(visit.value) or (_exact(visit.value) / _exact(divisor)).denominator == 1:
        return None
    return f"{short(visit.value)} is not a multiple of {short(divisor)}"


def _minimum(visit: Visit, limit: Any) -> str | None:
    excluded = visit.target.dialect.year <= 4 and visit.schema.get("exclusiveMinimum") is True
    if not _is_number(visit.value) or visit.value > limit or (visit.value == limit and not excluded):
        return None
    return f"{short(visit.value)} is below the minimum {short(limit)}"


def _maximum(visit: Visit, limit: Any) -> str | None:
    excluded = visit.target.dialect.year <= 4 and visit.schema.get("exclusiveMaximum") is True
    if not _is_number(visit.value) or visit.value < limit or (visit.value == limit and not excluded):
        return None
    return f"{short(visit.value)} is above the maximum {short(limit)}"


def _exclusive_minimum(visit: Visit, limit: Any) -> str | None:
    if not _is_number(visit.value) or visit.value > limit:
        return None
    return f"{short(visit.value)} is not above {short(limit)}"


def _exclusive_maximum(visit: Visit, limit: Any) -> str | None:
    if not _is_number(visit.value) or visit.value < limit:
        return None
    return f"{short(visit.value)} is not below {short(limit)}"


def _size(kind: type[Sized], fits: Callable[[int, Any], bool], what: str) -> Keyword:
    """A keyword on the number of characters, elements or properties."""

    def check(visit: Visit, limit: Any) -> str | None:
        value: Any = visit.value
        if not isinstance(value, kind) or fits(len(value), limit):
            return None
        return f"{len(value)} {what}, the limit is {short(limit)}"

    return check


def found_in(pattern: str, text: str) -> bool:
    """Whether an ECMA-262 pattern matches anywhere in the text. Raises SchemaProblem for one that cannot be used."""
    try:
        return compiled(pattern).search(text) is not None
    except PatternProblem as error:
        raise SchemaProblem(f"the pattern {pattern[:80]!r} cannot be used: {error}") from error


def _pattern(visit: Visit, pattern: Any) -> str | None:
    if not isinstance(visit.value, str) or found_in(pattern, visit.value):
        return None
    return f"{short(visit.value)} does not match {pattern[:80]!r}"


def _format(visit: Visit, name: Any) -> str | None:
    check = visit.formats.get(name) if isinstance(name, str) else None
    if check is None or not isinstance(visit.value, str) or check(visit.value):
        return None
    return f"{short(visit.value)} is no {name}"


def _unique_items(visit: Visit, wanted: Any) -> str | None:
    """By a set of canonical texts: comparing 4,000 objects pairwise takes over ten seconds."""
    if wanted is not True or not isinstance(visit.value, list):
        return None
    seen: dict[str, int] = {}
    for position, item in enumerate(visit.value):
        earlier = seen.setdefault(canonical(item), position)
        if earlier != position:
            return f"elements {earlier} and {position} are equal"
    return None


def _required(visit: Visit, names: Any) -> str | None:
    if not isinstance(visit.value, dict):
        return None
    missing = [name for name in names if name not in visit.value]
    return f"{missing[0][:80]!r} is missing" if missing else None


def _dependent_required(visit: Visit, dependencies: Any) -> str | None:
    if not isinstance(visit.value, dict):
        return None
    for name, needed in dependencies.items():
        for other in needed if name in visit.value else ():
            if other not in visit.value:
                return f"{name[:80]!r} is there without {other[:80]!r}"
    return None


ASSERTIONS: dict[str, Keyword] = {
    "type": _types, "const": _const, "enum": _enum,
    "multipleOf": _multiple_of, "divisibleBy": _multiple_of, "minimum": _minimum, "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum, "exclusiveMaximum": _exclusive_maximum,
    "minLength": _size(str, lambda n, limit: n >= limit, "characters"),
    "maxLength": _size(str, lambda n, limit: n <= limit, "characters"),
    "minItems": _size(list, lambda n, limit: n >= limit, "elements"),
    "maxItems": _size(list, lambda n, limit: n <= limit, "elements"),
    "minProperties": _size(dict, lambda n, limit: n >= limit, "properties"),
    "maxProperties": _size(dict, lambda n, limit: n <= limit, "properties"),
    "required": _required, "dependentRequired": _dependent_required, "uniqueItems": _unique_items,
    "pattern": _pattern, "format": _format,
}
