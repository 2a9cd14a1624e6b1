"""The drafts: the keywords of each in their order, how `$schema` names one, and dialects made of vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from reasongym.verifiers.json_schema.applicators import APPLICATORS, UNEVALUATED, disallow, properties_draft3
from reasongym.verifiers.json_schema.assertions import ASSERTIONS, types_draft3
from reasongym.verifiers.json_schema.catalogue import Dialect, Keyword, SchemaProblem

__all__ = ["DEFAULT", "DRAFTS", "dialect_by"]

_EVERY: dict[str, Keyword] = {**ASSERTIONS, **APPLICATORS, **UNEVALUATED}
_OLD = ("type", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
        "pattern", "format", "$ref", "properties", "patternProperties", "additionalProperties", "items",
        "additionalItems", "dependencies")
_DRAFT_4 = (*_OLD, "multipleOf", "minProperties", "maxProperties", "required", "allOf", "anyOf", "oneOf", "not")
_DRAFT_6 = (*_DRAFT_4, "const", "exclusiveMinimum", "exclusiveMaximum", "propertyNames", "contains")
_DRAFT_7 = (*_DRAFT_6, "if")
_2019 = (*_DRAFT_7, "dependentRequired", "dependentSchemas", "$recursiveRef", *UNEVALUATED)
_2020 = (*(name for name in _2019 if name not in ("additionalItems", "$recursiveRef")), "prefixItems", "$dynamicRef")


def _dialect(uri: str, year: int, names: tuple[str, ...], **other: Keyword) -> Dialect:
    kept = {name: check for name, check in (_EVERY | other).items() if name in names or name in other}
    return Dialect(uri, year, kept)


DEFAULT = _dialect("https://json-schema.org/draft/2020-12/schema", 2020, _2020)
DRAFTS: Mapping[str, Dialect] = {dialect.uri: dialect for dialect in (
    DEFAULT,
    _dialect("https://json-schema.org/draft/2019-09/schema", 2019, _2019),
    _dialect("http://json-schema.org/draft-07/schema", 7, _DRAFT_7),
    _dialect("http://json-schema.org/draft-06/schema", 6, _DRAFT_6),
    _dialect("http://json-schema.org/draft-04/schema", 4, _DRAFT_4),
    _dialect("http://json-schema.org/draft-03/schema", 3, (*_OLD, "divisibleBy", "extends"), type=types_draft3,
             properties=properties_draft3, disallow=disallow))}

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_VALIDATION = ("type", "const", "enum", "multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum",
               "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxProperties",
               "minProperties", "required", "dependentRequired")
_VOCABULARIES: Mapping[str, tuple[str, ...]] = {
    "core": _REFERENCES,
    "applicator": tuple(name for name in APPLICATORS if name not in _REFERENCES),
    "unevaluated": tuple(UNEVALUATED),
    "validation": _VALIDATION,
    "format": ("format",), "format-annotation": ("format",), "format-assertion": ("format",),
    "meta-data": (), "content": (),
}


def dialect_by(documents: Callable[[str], object | None]) -> Callable[[str], Dialect]:
    """How a `$schema` is turned into a Dialect: a draft's URI, or that of a metaschema among `documents`.

    The function it answers with raises SchemaProblem for a URI that is neither, or a vocabulary that must be known
    and is not.
    """

    @lru_cache(maxsize=64)
    def find(uri: str) -> Dialect:
        plain = uri.removesuffix("#")
        if plain in DRAFTS:
            return DRAFTS[plain]
        found = documents(plain)
        if not isinstance(found, Mapping):
            raise SchemaProblem(f"$schema {uri[:200]!r} is unknown; known are {', '.join(DRAFTS)}")
        if plain == str(found.get("$schema", "")).removesuffix("#"):
            raise SchemaProblem(f"the metaschema {uri[:200]!r} describes itself and is none of the drafts")
        return _of_vocabularies(plain, found, find(str(found.get("$schema", DEFAULT.uri))))

    return find


def _of_vocabularies(uri: str, metaschema: Mapping[str, object], draft: Dialect) -> Dialect:
    wanted = metaschema.get("$vocabulary")
    if not isinstance(wanted, Mapping):
        return draft._replace(uri=uri)
    names = {named.rpartition("/vocab/")[2]: needed for named, needed in wanted.items()}
    unknown = [name for name, needed in names.items() if needed and name not in _VOCABULARIES]
    if unknown:
        raise SchemaProblem(f"the vocabulary {unknown[0][:200]!r} must be known and is not")
    keywords = {keyword for name in names for keyword in _VOCABULARIES.get(name, ())}
    if draft.year == 2019 and "applicator" in names:
        keywords |= set(UNEVALUATED)
    kept = {name: check for name, check in draft.keywords.items() if name in keywords}
    return Dialect(uri, draft.year, kept, asserts_format="format-assertion" in names)
