"""One schema applied to one value: the loop over its keywords, and what they have evaluated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reasongym.verifiers.json_schema.catalogue import Catalogue, SchemaProblem, Target
from reasongym.verifiers.json_schema.strict_json import type_name

__all__ = ["Formats", "Run", "Visit", "is_type", "short"]

Formats = Mapping[str, Callable[[str], bool]]
"""Name of a format -> whether a text is of it."""

_MAX_IN_PLACE = 60
_MAX_VISITS_DEEP = 240
"""Visits within visits; each takes 2 to 3 of the 1,000 calls within calls that Python allows."""


class _Located(str):
    """What is wrong, with the place where it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What all visits of one validation share. formats: those that `format` checks; none where it is an annotation."""

    catalogue: Catalogue
    formats: Formats
    formats_on_demand: Formats


@dataclass(slots=True)
class Visit:
    """A schema at a value. `names` and `positions` are the properties and elements that its keywords have evaluated.

    path: of the value within the document, as a JSON Pointer. entered: base URIs of the resources gone through, the
    outermost first. depth: visits around this one; in_place: those of them at this very value.
    """

    run: Run
    target: Target
    value: Any
    path: str = ""
    entered: tuple[str, ...] = ()
    depth: int = 0
    in_place: int = 0
    names: set[str] = field(default_factory=set)
    positions: set[int] = field(default_factory=set)

    @property
    def schema(self) -> Mapping[str, object]:
        """The schema, for keywords, which only an object has."""
        assert isinstance(self.target.schema, dict)
        return self.target.schema

    @property
    def formats(self) -> Formats:
        return self.run.formats_on_demand if self.target.dialect.asserts_format else self.run.formats

    def problem(self) -> str | None:
        """The first thing that is wrong, with its place, or None. Raises SchemaProblem for the schema's own faults."""
        if self.in_place > _MAX_IN_PLACE:
            raise SchemaProblem("the schema refers to itself without end, or through too many references")
        if self.depth > _MAX_VISITS_DEEP:
            raise SchemaProblem("schema and document together nest too deep")
        schema, dialect = self.target.schema, self.target.dialect
        if not isinstance(schema, dict):
            return None if schema is not False else self._located("no value is allowed here")
        if dialect.year <= 7 and "$ref" in schema:
            return dialect.keywords["$ref"](self, schema["$ref"])
        for name, check in dialect.keywords.items():
            if name in schema:
                wrong = check(self, schema[name])
                if wrong is not None:
                    return wrong if isinstance(wrong, _Located) else self._located(f"{wrong} ({name})")
        return None

    def same(self, schema: object, target: Target | None = None) -> str | None:
        """Apply a schema to this very value; where it holds, what it has evaluated counts here too."""
        target = target or self.run.catalogue.place(schema, self.target)
        inner = Visit(self.run, target, self.value, self.path, self._entering(target), self.depth + 1,
                      self.in_place + 1)
        wrong = inner.problem()
        if wrong is None:
            self.names |= inner.names
            self.positions |= inner.positions
        return wrong

    def child(self, schema: object, value: object, part: str | int) -> str | None:
        """Apply a schema to a property or element of the value."""
        target = self.run.catalogue.place(schema, self.target)
        escaped = str(part)[:80].replace("~", "~0").replace("/", "~1")
        inner = Visit(self.run, target, value, f"{self.path}/{escaped}", self._entering(target), self.depth + 1)
        return inner.problem()

    def follow(self, target: Target) -> str | None:
        """Apply what a reference leads to."""
        return self.same(target.schema, target)

    def _located(self, wrong: str) -> str:
        return _Located(f"at {self.path or 'the root'}: {wrong}")

    def _entering(self, target: Target) -> tuple[str, ...]:
        return self.entered if self.entered[-1:] == (target.base,) else (*self.entered, target.base)


def is_type(value: object, name: object, year: int) -> bool:
    """Whether a value is of that type. 1.0 is an integer from draft 6 on; an unknown name is the type of nothing."""
    if name == "integer":
        whole = isinstance(value, float) and value.is_integer() and year >= 6
        return whole or (isinstance(value, int) and not isinstance(value, bool))
    return type_name(value) == name or (name == "any" and year == 3)


def short(value: object) -> str:
    """A value in a message: scalars as JSON writes them, cut, containers by kind and size."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    if isinstance(value, str):
        return repr(value[:40])
    return json.dumps(value)[:40]
