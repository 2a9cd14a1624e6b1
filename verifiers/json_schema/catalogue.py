"""Where schemas stand: documents by URI, the resources, anchors and base URIs within them. Nothing is ever fetched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

__all__ = ["Catalogue", "Dialect", "Keyword", "SchemaProblem", "Target"]

Keyword = Callable[..., str | None]
"""`(visit, value of the keyword) -> what is wrong, or None`"""


class SchemaProblem(Exception):
    """The schema's fault: an unknown dialect, a reference to nothing, an endless recursion, an unusable pattern."""


class Dialect(NamedTuple):
    """A draft, or a part of one by vocabularies.

    year: 3, 4, 6, 7, 2019 or 2020. keywords: name -> check, in the order in which they are evaluated. asserts_format:
    whether its vocabularies demand that `format` is checked.
    """

    uri: str
    year: int
    keywords: Mapping[str, Keyword]
    asserts_format: bool = False


class Target(NamedTuple):
    """A schema that a reference leads to, and the base URI and dialect that hold inside it."""

    schema: object
    base: str
    dialect: Dialect


_IN_VALUE = ("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
             "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "extends")
_IN_LIST = ("allOf", "anyOf", "oneOf", "prefixItems", "items", "extends", "type", "disallow")
_IN_OBJECT = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties", "dependencies")
_PLAIN_ID = re.compile(r"#[A-Za-z_][-A-Za-z0-9._:]*")


class Catalogue:
    """Schemas that references may lead to.

    documents: by URI; read when first asked for. dialect_of: a `$schema` -> its Dialect, raises SchemaProblem.
    """

    def __init__(self, documents: Callable[[str], object | None], dialect_of: Callable[[str], Dialect]) -> None:
        self._documents = documents
        self._dialect_of = dialect_of
        self._resources: dict[str, Target] = {}
        self._anchors: dict[tuple[str, str], Target] = {}
        self._dynamic: set[tuple[str, str]] = set()
        self._places: dict[int, Target] = {}
        self._found: dict[tuple[str, str], Target] = {}

    def add(self, uri: str, document: object, dialect: Dialect) -> Target:
        """Enter a document and every resource and anchor in it; answers with its root."""
        if isinstance(document, dict):
            dialect = self._own_dialect(document, dialect)
        root = self._enter(Target(document, uri, dialect))
        self._resources.setdefault(uri, root)
        pending = [root]
        while pending:
            target = pending.pop()
            pending += [self._enter(Target(child, target.base, target.dialect)) for child in _children(target)]
        return root

    def place(self, schema: object, otherwise: Target) -> Target:
        """The schema with base and dialect of where it stands; those of `otherwise` where it is in no known place."""
        return self._places.get(id(schema)) or Target(schema, otherwise.base, otherwise.dialect)

    def places(self) -> list[Target]:
        """Every schema entered so far."""
        return list(self._places.values())

    def lookup(self, reference: str, within: Target) -> Target:
        """What a reference leads to. Raises SchemaProblem where that is nothing."""
        key = (within.base, reference)
        if key not in self._found:
            self._found[key] = self._look_up(reference, within)
        return self._found[key]

    def _look_up(self, reference: str, within: Target) -> Target:
        uri, fragment = urldefrag(_join(within.base, reference))
        resource = self._resource(uri, within)
        if not fragment:
            return resource
        if fragment.startswith("/"):
            return self._pointer(resource, unquote(fragment), reference)
        found = self._anchors.get((resource.base, unquote(fragment)))
        if found is None:
            raise SchemaProblem(f"the reference {reference[:200]!r} leads to nothing: no such anchor")
        return found

    def dynamic(self, reference: str, within: Target, entered: tuple[str, ...]) -> Target:
        """The same for `$dynamicRef`: of a dynamic anchor the outermost of that name in the resources `entered`."""
        found = self.lookup(reference, within)
        name = urldefrag(reference)[1]
        if (found.base, name) in self._dynamic:
            outermost = next((base for base in entered if (base, name) in self._dynamic), found.base)
            return self._anchors[outermost, name]
        return found

    def recursive(self, within: Target, entered: tuple[str, ...]) -> Target:
        """The same for `$recursiveRef`, whose only value is "#"."""
        found = self.lookup("#", within)
        if not _is_recursive_anchor(found.schema):
            return found
        roots = (self._resources[base] for base in entered if base in self._resources)
        return next((root for root in roots if _is_recursive_anchor(root.schema)), found)

    def _own_dialect(self, schema: Mapping[str, Any], dialect: Dialect) -> Dialect:
        named = schema.get("$schema")
        return self._dialect_of(named) if isinstance(named, str) else dialect

    def _enter(self, target: Target) -> Target:
        """Note one schema: its base, its resource, its anchors. Answers with what holds inside it."""
        schema, dialect = target.schema, target.dialect
        if not isinstance(schema, dict):
            return target
        name = _own_id(schema, dialect)
        base = target.base
        if name is not None:
            dialect = self._own_dialect(schema, dialect)
            base = urldefrag(urljoin(base, name))[0]
        inside = Target(schema, base, dialect)
        if name is not None:
            self._resources.setdefault(base, inside)
        self._places[id(schema)] = inside
        for anchor, dynamic in _own_anchors(schema, dialect):
            self._anchors.setdefault((base, anchor), inside)
            if dynamic:
                self._dynamic.add((base, anchor))
        return inside

    def _resource(self, uri: str, within: Target) -> Target:
        if uri not in self._resources:
            document = self._documents(uri)
            if document is None:
                raise SchemaProblem(f"the reference to {uri[:200]!r} leads outside the schema, and nothing is fetched")
            self.add(uri, document, within.dialect)
        return self._resources[uri]

    def _pointer(self, resource: Target, pointer: str, reference: str) -> Target:
        found: Any = resource.schema
        place = resource
        for escaped in pointer.split("/")[1:]:
            part = escaped.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and part in found:
                found = found[part]
            elif isinstance(found, list) and re.fullmatch("0|[1-9][0-9]{0,8}", part) and int(part) < len(found):
                found = found[int(part)]
            else:
                raise SchemaProblem(f"the reference {reference[:200]!r} leads to nothing at {part[:80]!r}")
            place = self.place(found, place)
        if not isinstance(found, dict | bool):
            raise SchemaProblem(f"the reference {reference[:200]!r} does not lead to a schema")
        return place


def _join(base: str, reference: str) -> str:
    """`urljoin`, which knows nothing of a bare fragment on a base such as urn:uuid:..."""
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise SchemaProblem(f"the reference {reference[:200]!r} is no URI: {error}") from error


def _own_id(schema: object, dialect: Dialect) -> str | None:
    """The base URI that a schema sets, or None. Up to draft 7 a `$ref` hides it, and a bare fragment is an anchor."""
    if not isinstance(schema, dict):
        return None
    name = schema.get("id" if dialect.year <= 4 else "$id")
    if not isinstance(name, str) or (dialect.year <= 7 and ("$ref" in schema or name.startswith("#"))):
        return None
    return name


def _own_anchors(schema: Mapping[str, Any], dialect: Dialect) -> Iterator[tuple[str, bool]]:
    """Each with whether it is a dynamic one."""
    if dialect.year <= 7:
        name = schema.get("id" if dialect.year <= 4 else "$id")
        if isinstance(name, str) and _PLAIN_ID.fullmatch(name) and "$ref" not in schema:
            yield name[1:], False
        return
    if isinstance(schema.get("$anchor"), str):
        yield schema["$anchor"], False
    if dialect.year >= 2020 and isinstance(schema.get("$dynamicAnchor"), str):
        yield schema["$dynamicAnchor"], True


def _is_recursive_anchor(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("$recursiveAnchor") is True


def _children(target: Target) -> Iterator[object]:
    """Subschemas at the places that keywords give them; not what merely looks like one in `const`, `enum` or others."""
    schema, known = target.schema, target.dialect.keywords
    if not isinstance(schema, dict):
        return
    for name in _IN_VALUE:
        holder = {"contentSchema": "$ref", "then": "if", "else": "if"}.get(name, name)
        if holder in known and isinstance(schema.get(name), dict):
            yield schema[name]
    for name in _IN_LIST:
        if name in known and isinstance(schema.get(name), list):
            yield from schema[name]
    for name in _IN_OBJECT:
        if (name in known or name in ("$defs", "definitions")) and isinstance(schema.get(name), dict):
            yield from schema[name].values()
