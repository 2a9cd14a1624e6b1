"""Keywords that apply other schemas, to the value or to its parts: `(visit, keyword's value) -> what is wrong`."""

from __future__ import annotations

from typing import Any

from reasongym.verifiers.json_schema.assertions import found_in
from reasongym.verifiers.json_schema.catalogue import Keyword
from reasongym.verifiers.json_schema.visit import Visit, short

__all__ = ["APPLICATORS", "UNEVALUATED", "disallow", "properties_draft3"]


def _ref(visit: Visit, reference: Any) -> str | None:
    return visit.follow(visit.run.catalogue.lookup(reference, visit.target))


def _dynamic_ref(visit: Visit, reference: Any) -> str | None:
    return visit.follow(visit.run.catalogue.dynamic(reference, visit.target, visit.entered))


def _recursive_ref(visit: Visit, reference: Any) -> str | None:
    return visit.follow(visit.run.catalogue.recursive(visit.target, visit.entered))


def _all_of(visit: Visit, schemas: Any) -> str | None:
    for schema in schemas:
        if (wrong := visit.same(schema)) is not None:
            return wrong
    return None


def _any_of(visit: Visit, schemas: Any) -> str | None:
    """Every one is tried even after one holds: each that holds evaluates properties."""
    problems = [visit.same(schema) for schema in schemas]
    return None if None in problems else f"{short(visit.value)} fits none of the {len(schemas)} schemas"


def _one_of(visit: Visit, schemas: Any) -> str | None:
    holding = [schema for schema in schemas if visit.same(schema) is None]
    return None if len(holding) == 1 else f"{short(visit.value)} fits {len(holding)} of the schemas, not one"


def _not(visit: Visit, schema: Any) -> str | None:
    aside = Visit(visit.run, visit.target, visit.value, visit.path, visit.entered, visit.depth, visit.in_place)
    return None if aside.same(schema) is not None else f"{short(visit.value)} fits a schema that it must not fit"


def _if(visit: Visit, schema: Any) -> str | None:
    branch = "then" if visit.same(schema) is None else "else"
    return visit.same(visit.schema[branch]) if branch in visit.schema else None


def _dependent_schemas(visit: Visit, schemas: Any) -> str | None:
    for name, schema in schemas.items() if isinstance(visit.value, dict) else ():
        if name in visit.value and (wrong := visit.same(schema)) is not None:
            return wrong
    return None


def _dependencies(visit: Visit, dependencies: Any) -> str | None:
    """Up to draft 7: a schema, a list of names, or in draft 3 one name."""
    if not isinstance(visit.value, dict):
        return None
    for name, needed in dependencies.items():
        if name not in visit.value:
            continue
        if isinstance(needed, dict | bool):
            if (wrong := visit.same(needed)) is not None:
                return wrong
        elif missing := [other for other in ([needed] if isinstance(needed, str) else needed)
                         if other not in visit.value]:
            return f"{name[:80]!r} is there without {missing[0][:80]!r}"
    return None


def _properties(visit: Visit, schemas: Any) -> str | None:
    for name, schema in schemas.items() if isinstance(visit.value, dict) else ():
        if name in visit.value:
            if (wrong := visit.child(schema, visit.value[name], name)) is not None:
                return wrong
            visit.names.add(name)
    return None


def properties_draft3(visit: Visit, schemas: Any) -> str | None:
    """`properties` in draft 3, where `required` is a boolean within each."""
    for name, schema in schemas.items() if isinstance(visit.value, dict) else ():
        if schema.get("required") is True and name not in visit.value:
            return f"{name[:80]!r} is missing"
    return _properties(visit, schemas)


def _pattern_properties(visit: Visit, schemas: Any) -> str | None:
    for pattern, schema in schemas.items() if isinstance(visit.value, dict) else ():
        for name, value in visit.value.items():
            if found_in(pattern, name):
                if (wrong := visit.child(schema, value, name)) is not None:
                    return wrong
                visit.names.add(name)
    return None


def _additional_properties(visit: Visit, schema: Any) -> str | None:
    if not isinstance(visit.value, dict):
        return None
    named: Any = visit.schema.get("properties", {})
    patterns: Any = visit.schema.get("patternProperties", {})
    for name, value in visit.value.items():
        if name in named or any(found_in(pattern, name) for pattern in patterns):
            continue
        if (wrong := visit.child(schema, value, name)) is not None:
            return wrong
        visit.names.add(name)
    return None


def _property_names(visit: Visit, schema: Any) -> str | None:
    for name in visit.value if isinstance(visit.value, dict) else ():
        if (wrong := visit.child(schema, name, name)) is not None:
            return wrong
    return None


def _elements(visit: Visit, schema: Any, start: int) -> str | None:
    """Apply one schema to every element from `start` on."""
    for position in range(start, len(visit.value)):
        if (wrong := visit.child(schema, visit.value[position], position)) is not None:
            return wrong
        visit.positions.add(position)
    return None


def _prefix_items(visit: Visit, schemas: Any) -> str | None:
    pairs = zip(schemas, visit.value, strict=False) if isinstance(visit.value, list) else ()
    for position, (schema, value) in enumerate(pairs):
        if (wrong := visit.child(schema, value, position)) is not None:
            return wrong
        visit.positions.add(position)
    return None


def _items(visit: Visit, schema: Any) -> str | None:
    """A list of schemas, up to 2019-09, is what `prefixItems` is in 2020-12."""
    if not isinstance(visit.value, list):
        return None
    if isinstance(schema, list):
        return _prefix_items(visit, schema)
    prefix: Any = visit.schema.get("prefixItems", ()) if visit.target.dialect.year >= 2020 else ()
    return _elements(visit, schema, len(prefix))


def _additional_items(visit: Visit, schema: Any) -> str | None:
    """Beside a list of schemas alone: a single schema for `items` leaves nothing over."""
    items = visit.schema.get("items")
    if not isinstance(visit.value, list) or not isinstance(items, list):
        return None
    return _elements(visit, schema, len(items))


def _contains(visit: Visit, schema: Any) -> str | None:
    if not isinstance(visit.value, list):
        return None
    holding = {position for position, value in enumerate(visit.value) if visit.child(schema, value, position) is None}
    if visit.target.dialect.year >= 2020:
        visit.positions |= holding
    counted = visit.target.dialect.year >= 2019
    least: Any = visit.schema.get("minContains", 1) if counted else 1
    most: Any = visit.schema.get("maxContains", len(visit.value)) if counted else len(visit.value)
    return None if least <= len(holding) <= most else f"{len(holding)} elements fit, wanted are {least} to {most}"


def _unevaluated_properties(visit: Visit, schema: Any) -> str | None:
    for name, value in visit.value.items() if isinstance(visit.value, dict) else ():
        if name not in visit.names:
            if (wrong := visit.child(schema, value, name)) is not None:
                return wrong
            visit.names.add(name)
    return None


def _unevaluated_items(visit: Visit, schema: Any) -> str | None:
    for position, value in enumerate(visit.value if isinstance(visit.value, list) else ()):
        if position not in visit.positions:
            if (wrong := visit.child(schema, value, position)) is not None:
                return wrong
            visit.positions.add(position)
    return None


def disallow(visit: Visit, names: Any) -> str | None:
    """Draft 3: none of these types, or schemas, may fit."""
    from_list = names if isinstance(names, list) else [names]
    types = visit.target.dialect.keywords["type"]
    return f"{short(visit.value)} is of a type that is disallowed" if types(visit, from_list) is None else None


def _extends(visit: Visit, schemas: Any) -> str | None:
    return _all_of(visit, schemas if isinstance(schemas, list) else [schemas])


APPLICATORS: dict[str, Keyword] = {
    "$ref": _ref, "$dynamicRef": _dynamic_ref, "$recursiveRef": _recursive_ref,
    "properties": _properties, "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties, "propertyNames": _property_names,
    "prefixItems": _prefix_items, "items": _items, "additionalItems": _additional_items, "contains": _contains,
    "dependentSchemas": _dependent_schemas, "dependencies": _dependencies,
    "allOf": _all_of, "anyOf": _any_of, "oneOf": _one_of, "not": _not, "if": _if, "extends": _extends,
}
UNEVALUATED: dict[str, Keyword] = {"unevaluatedItems": _unevaluated_items,
                                   "unevaluatedProperties": _unevaluated_properties}
"""Last of all: what they look at is what every other keyword has left over."""
