"""Validation against the official JSON-Schema-Test-Suite and, for more drafts, against jsonschema itself."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from reasongym.verifiers.json_schema.dialects import DRAFTS
from reasongym.verifiers.json_schema.validation import SchemaProblem, prepared

SUITE = Path(__file__).parent.parent / "../shared/data/json_schema_test_suite"
URIS = {"draft7": "http://json-schema.org/draft-07/schema",
        "draft2020-12": "https://json-schema.org/draft/2020-12/schema"}
NUM_REQUIRED = {"draft7": 927, "draft2020-12": 1299}
NUM_OPTIONAL = {"draft7": 794, "draft2020-12": 926}
DIFFERING = {"draft7": {
    ("content.json", "an invalid JSON document"),
    ("content.json", "an invalid base64 string (% is not a valid character)"),
    ("content.json", "a validly-encoded invalid JSON document"),
    ("content.json", "an invalid base64 string that is valid JSON"),
}, "draft2020-12": set[tuple[str, str]]()}
"""docs/verifiers/json_schema.md tells of these: contentEncoding and contentMediaType are annotations in every draft."""

TWINS = {4: jsonschema.Draft4Validator, 6: jsonschema.Draft6Validator, 7: jsonschema.Draft7Validator,
         2019: jsonschema.Draft201909Validator, 2020: jsonschema.Draft202012Validator}

needs_suite = pytest.mark.skipif(not SUITE.is_dir(), reason="no JSON-Schema-Test-Suite in ../shared/data")


class Case(NamedTuple):
    """One test of the suite; problem: what validation said, None for a valid one, "!..." for a fault of the schema."""

    file: str
    description: str
    valid: bool
    problem: str | None

    @property
    def agrees(self) -> bool:
        return (self.problem is None) == self.valid and not (self.problem or "").startswith("!")


@functools.cache
def remotes() -> dict[str, object]:
    """What the suite serves from a machine of its own; the verifier itself never has any."""
    folder = SUITE / "remotes"
    return {f"http://localhost:1234/{path.relative_to(folder).as_posix()}": json.loads(path.read_text())
            for path in folder.rglob("*.json")}


def cases(draft: str, *, optional: bool) -> Iterator[Case]:
    folder = SUITE / "tests" / draft / "optional" if optional else SUITE / "tests" / draft
    for path in sorted(folder.rglob("*.json") if optional else folder.glob("*.json")):
        for group in json.loads(path.read_text()):
            try:
                schema = prepared(group["schema"], documents=remotes(), default=URIS[draft])
            except SchemaProblem as problem:
                yield from (Case(path.name, test["description"], test["valid"], f"!{problem}")
                            for test in group["tests"])
                continue
            for test in group["tests"]:
                said = schema.problem(test["data"], assert_formats=path.parent.name == "format")
                yield Case(path.name, test["description"], test["valid"], said)


@needs_suite
@pytest.mark.parametrize("draft", URIS)
def test_every_required_test_of_the_suite_is_right(draft: str) -> None:
    ran = list(cases(draft, optional=False))
    assert len(ran) == NUM_REQUIRED[draft]
    assert not [case for case in ran if not case.agrees]


@needs_suite
@pytest.mark.parametrize("draft", URIS)
def test_the_optional_tests_that_differ_are_those_the_docs_tell_of(draft: str) -> None:
    ran = list(cases(draft, optional=True))
    assert len(ran) == NUM_OPTIONAL[draft]
    assert {(case.file, case.description) for case in ran if not case.agrees} == DIFFERING[draft]


def random_value(rng: random.Random, depth: int = 2) -> Any:
    kind = rng.randrange(8 if depth else 6)
    if kind == 6:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return {rng.choice("abc"): random_value(rng, depth - 1) for _ in range(rng.randrange(4))}
    return (None, rng.random() < 0.5, rng.randrange(-2, 4), rng.randrange(8) / 4 + 0.25,
            rng.choice(("", "a", "ab", "b")), "abc")[kind]


def random_schema(rng: random.Random, year: int, depth: int = 2) -> Any:
    def inner() -> Any:
        return random_schema(rng, year, depth - 1)

    made = {
        "type": lambda: rng.choice(("object", "array", "string", "number", "boolean", "null", ["integer", "string"])),
        "enum": lambda: rng.sample([None, True, 1, 2.5, "a", [1], {"a": 1}], 3), "minimum": lambda: rng.randrange(3),
        "maximum": lambda: rng.randrange(3), "multipleOf": lambda: rng.choice((1, 2, 0.5)),
        "minLength": lambda: rng.randrange(3), "maxLength": lambda: rng.randrange(3), "pattern": lambda: "^a",
        "minItems": lambda: rng.randrange(3), "maxItems": lambda: rng.randrange(3), "uniqueItems": lambda: True,
        "minProperties": lambda: rng.randrange(3), "required": lambda: [rng.choice("abc")],
    }
    if year >= 6:
        made |= {"const": lambda: random_value(rng), "exclusiveMinimum": lambda: rng.randrange(3)}
    if depth:
        made |= {"properties": lambda: {rng.choice("abc"): inner(), "b": inner()},
                 "additionalProperties": inner, "patternProperties": lambda: {"[ab]": inner()},
                 "items": inner if year == 2020 else lambda: rng.choice((inner(), [inner(), inner()])),
                 "allOf": lambda: [inner(), inner()], "anyOf": lambda: [inner(), inner()],
                 "oneOf": lambda: [inner(), inner()], "not": inner}
    if depth and year < 2020:
        made |= {"additionalItems": inner}
    if depth and year < 2019:
        made |= {"dependencies": lambda: {"a": ["b"], "c": inner()}}
    if depth and year >= 6:
        made |= {"contains": inner, "propertyNames": inner}
    if depth and year >= 7:
        made |= {"if": inner, "then": inner, "else": inner}
    if depth and year >= 2019:
        made |= {"dependentRequired": lambda: {"a": ["b"]}, "dependentSchemas": lambda: {"a": inner()},
                 "minContains": lambda: rng.randrange(3), "maxContains": lambda: rng.randrange(3),
                 "unevaluatedProperties": lambda: False}
    if depth and year == 2020:
        made |= {"prefixItems": lambda: [inner(), inner()], "unevaluatedItems": lambda: False}
    return {name: made[name]() for name in rng.sample(sorted(made), rng.randrange(1, 4))}


@pytest.mark.parametrize("year", TWINS)
def test_random_schemas_get_the_answer_that_jsonschema_gives(year: int) -> None:
    """A slow twin for the drafts of which no suite is at hand."""
    uri = next(uri for uri, dialect in DRAFTS.items() if dialect.year == year)
    rng = random.Random(year)
    answers = set()
    for _ in range(400):
        schema, values = random_schema(rng, year), [random_value(rng, 3) for _ in range(5)]
        mine, twin = prepared(schema, default=uri), TWINS[year](schema)
        for value in values:
            valid = twin.is_valid(value)
            answers.add(valid)
            assert (mine.problem(value) is None) == valid, (schema, value)
    assert answers == {True, False}


DRAFT_3 = [
    ({"properties": {"a": {"required": True}}}, {}, False), ({"properties": {"a": {"required": True}}}, {"a": 1}, True),
    ({"type": ["string", {"type": "object"}]}, {}, True), ({"type": ["string", {"type": "object"}]}, 1, False),
    ({"type": "any"}, None, True), ({"disallow": ["string", {"minimum": 3}]}, 2, True),
    ({"disallow": "string"}, "a", False), ({"disallow": [{"type": "object"}]}, {}, False),
    ({"extends": {"minimum": 3}}, 2, False), ({"extends": [{"minimum": 3}, {"maximum": 5}]}, 4, True),
    ({"divisibleBy": 0.1}, 0.3, True), ({"divisibleBy": 2}, 3, False), ({"dependencies": {"a": "b"}}, {"a": 1}, False),
    ({"minimum": 3, "exclusiveMinimum": True}, 3, False), ({"format": "time"}, "08:30:00", True),
    ({"format": "ip-address"}, "1.2.3.400", False), ({"type": "integer"}, 1.0, False)]


@pytest.mark.parametrize(("schema", "value", "valid"), DRAFT_3)
def test_draft_3_keywords(schema: dict[str, object], value: object, valid: bool) -> None:
    uri = "http://json-schema.org/draft-03/schema#"
    assert (prepared({"$schema": uri, **schema}).problem(value) is None) == valid


def tree(anchor: bool) -> dict[str, object]:
    """A 2019-09 tree of objects, and a strict one that extends it and allows no other properties."""
    node = {"$id": "http://x.test/tree", "type": "object", "$recursiveAnchor": True,
            "properties": {"data": True, "children": {"type": "array", "items": {"$recursiveRef": "#"}}}}
    return {"$schema": "https://json-schema.org/draft/2019-09/schema", "$id": "http://x.test/strict",
            "$recursiveAnchor": anchor, "$ref": "tree", "unevaluatedProperties": False, "$defs": {"tree": node}}


def test_a_recursive_reference_goes_to_the_outermost_anchor() -> None:
    """In a child `daat` is unevaluated only where the reference leads back to the strict tree."""
    misspelt = {"children": [{"daat": 1}]}
    assert prepared(tree(anchor=True)).problem(misspelt) is not None
    assert prepared(tree(anchor=False)).problem(misspelt) is None
    assert prepared(tree(anchor=True)).problem({"children": [{"data": 1, "children": []}]}) is None
