"""Whether a value is valid against a schema: the schema is checked first, references stay within it.

Nothing is fetched and no file is read: a reference leads into the schema itself or to a draft's metaschema, and only a
caller in Python can hand in further documents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from reasongym.verifiers.json_schema.audit import audit
from reasongym.verifiers.json_schema.catalogue import Catalogue, Dialect, SchemaProblem, Target
from reasongym.verifiers.json_schema.dialects import DEFAULT, DRAFTS, dialect_by
from reasongym.verifiers.json_schema.formats import DRAFT_3_FORMATS, FORMATS
from reasongym.verifiers.json_schema.standards import metaschema
from reasongym.verifiers.json_schema.strict_json import MAX_DIGITS
from reasongym.verifiers.json_schema.visit import Formats, Run, Visit, is_type

__all__ = ["Schema", "SchemaProblem", "prepared"]

_REFERENCES_FOLLOWED = 8
_TOO_DEEP = "schema and document together nest too deep"
_REGEX_ALONE: Formats = {"regex": FORMATS["regex"]}


class Schema(NamedTuple):
    """A schema that has been checked against its metaschema."""

    root: Target
    catalogue: Catalogue

    def problem(self, value: object, *, assert_formats: bool = True) -> str | None:
        """What is wrong with the value, and where, or None. Raises SchemaProblem where the schema cannot be applied."""
        formats = DRAFT_3_FORMATS if self.root.dialect.year == 3 else FORMATS
        return _problem(self.root, self.catalogue, value, formats if assert_formats else {})

    def allows_type_of(self, value: object) -> bool:
        """Whether the root's own `type`, or that of what its `$ref` leads to, admits the value; True without any."""
        target = self.root
        for _ in range(_REFERENCES_FOLLOWED):
            if isinstance(target.schema, dict) and "type" not in target.schema and "$ref" in target.schema:
                target = self.catalogue.lookup(target.schema["$ref"], target)
        if not isinstance(target.schema, dict):
            return target.schema is not False
        names = target.schema.get("type", [])
        names = names if isinstance(names, list) else [names]
        plain = [name for name in names if isinstance(name, str)]
        return len(plain) < len(names) or not plain or any(is_type(value, name, target.dialect.year) for name in plain)


def prepared(schema: object, *, documents: Mapping[str, object] | None = None, default: str = DEFAULT.uri) -> Schema:
    """The schema, checked. default: the draft where no `$schema` names one. documents: further schemas, by URI.

    Raises SchemaProblem for what is no schema of its draft, saying where, and for an unknown `$schema`.
    """
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaProblem(f"the schema is not JSON, or too deep or too large: {error}") from error
    return _prepare(text, default, documents) if documents else _remembered(text, default)


@lru_cache(maxsize=64)
def _remembered(text: str, default: str) -> Schema:
    return _prepare(text, default, {})


def _prepare(text: str, default: str, documents: Mapping[str, object] | None) -> Schema:
    def known(uri: str) -> object | None:
        return (documents or {}).get(uri, metaschema(uri))

    schema = json.loads(text, parse_int=_integer)
    dialect_of = dialect_by(known)
    catalogue = Catalogue(known, dialect_of)
    dialect = dialect_of(default)
    if isinstance(schema, dict) and isinstance(schema.get("$schema"), str):
        dialect = dialect_of(schema["$schema"])
    wrong = _problem(_meta(dialect), _META_CATALOGUE, schema, _REGEX_ALONE)
    if wrong is not None:
        raise SchemaProblem(f"the schema is no valid one of {dialect.uri}: {wrong}")
    try:
        root = catalogue.add("", schema, dialect)
    except ValueError as error:  # of a URI that cannot be joined
        raise SchemaProblem(f"the schema's identifiers cannot be used: {error}") from error
    audit(catalogue, root)
    return Schema(root, catalogue)


def _meta(dialect: Dialect) -> Target:
    uri = dialect.uri if dialect.uri in DRAFTS else DEFAULT.uri
    return _META_CATALOGUE.lookup(uri, Target(True, "", DRAFTS[uri]))


def _problem(root: Target, catalogue: Catalogue, value: object, formats: Formats) -> str | None:
    on_demand = DRAFT_3_FORMATS if root.dialect.year == 3 else FORMATS
    try:
        return Visit(Run(catalogue, formats, on_demand), root, value, entered=(root.base,)).problem()
    except RecursionError as error:
        raise SchemaProblem(_TOO_DEEP) from error


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise SchemaProblem(f"the schema holds an integer of {len(digits)} digits, more than {MAX_DIGITS}")
    return int(digits)


_META_CATALOGUE = Catalogue(metaschema, dialect_by(metaschema))
