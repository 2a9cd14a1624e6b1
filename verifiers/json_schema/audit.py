"""Faults of a schema that its metaschema does not see, found before any document is looked at.

A reference to nothing, an endless recursion or an unusable pattern would else show only when a document reaches it, and
the response would decide whether its check fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reasongym.verifiers.json_schema.catalogue import Catalogue, SchemaProblem, Target
from reasongym.verifiers.json_schema.patterns import PatternProblem, compiled

__all__ = ["audit"]

_LISTS = ("allOf", "anyOf", "oneOf")


def audit(catalogue: Catalogue, root: Target) -> None:
    """Raises SchemaProblem. Not seen: recursion by `$dynamicRef`, `$recursiveRef`, `then`, `else` and dependents."""
    targets = [root, *catalogue.places()]
    for target in targets:
        if isinstance(target.schema, dict):
            _check_references(catalogue, target, target.schema)
            _check_patterns(target, target.schema)
    _check_endlessness(catalogue, targets)


def _hides_others(target: Target, schema: Mapping[str, Any]) -> bool:
    return target.dialect.year <= 7 and "$ref" in schema


def _check_references(catalogue: Catalogue, target: Target, schema: Mapping[str, Any]) -> None:
    for name in ("$ref", "$dynamicRef"):
        if name in target.dialect.keywords and isinstance(schema.get(name), str):
            catalogue.lookup(schema[name], target)


def _check_patterns(target: Target, schema: Mapping[str, Any]) -> None:
    if _hides_others(target, schema):
        return
    patterns = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    if isinstance(schema.get("patternProperties"), dict):
        patterns += schema["patternProperties"]
    for pattern in patterns:
        try:
            compiled(pattern)
        except PatternProblem as problem:
            raise SchemaProblem(f"the pattern {pattern[:80]!r} cannot be used: {problem}") from problem


def _applied_in_place(catalogue: Catalogue, target: Target) -> Iterator[Target]:
    """Schemas that are always applied to the very value that this one is applied to."""
    schema, keywords = target.schema, target.dialect.keywords
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("$ref"), str):
        yield catalogue.lookup(schema["$ref"], target)
        if _hides_others(target, schema):
            return
    applied = [schema[name] for name in ("not", "if") if name in keywords and name in schema]
    applied += [inner for name in _LISTS if name in keywords and isinstance(schema.get(name), list)
                for inner in schema[name]]
    for inner in applied:
        yield catalogue.place(inner, target)


def _check_endlessness(catalogue: Catalogue, targets: list[Target]) -> None:
    """Depth first, without recursion: a schema met again while it is being gone through applies itself to one value."""
    done: set[int] = set()
    for start in targets:
        path: list[tuple[int, Iterator[Target]]] = []
        inside: set[int] = set()
        following: Target | None = start
        while following is not None or path:
            if following is not None and id(following.schema) in inside:
                raise SchemaProblem("the schema refers to itself without end")
            if following is not None and id(following.schema) not in done and isinstance(following.schema, dict):
                inside.add(id(following.schema))
                path.append((id(following.schema), _applied_in_place(catalogue, following)))
            if not path:
                break
            following = next(path[-1][1], None)
            if following is None:
                left, _ = path.pop()
                inside.discard(left)
                done.add(left)
