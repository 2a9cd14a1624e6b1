"""A response's JSON document, checked against a JSON Schema and, where there is one, compared with a gold value.

reference: `{"schema": a schema, "value": the gold value}`. `value` is optional; where it is present, null included, it
is the gold. The draft is that of `$schema` (3, 4, 6, 7, 2019-09, 2020-12; without one 2020-12). `format` is asserted
(formats.py says which), patterns are ECMA-262 (patterns.py), references never leave the schema and the drafts'
metaschemas.

Which document counts: extraction.py. How JSON is read: strict_json.py. The score, each rung above the one before:

| the response's document | without a gold value | with one |
|---|---|---|
| there is none, or it is not strict JSON | 0, unparsable | 0, unparsable |
| several different ones are offered | 0, wrong | 0, wrong |
| it parses | 0.05, partial | 0.05, partial |
| its root is of the schema's type | 0.1, partial | 0.1, partial |
| it is valid and agrees with the gold value in nothing | | 0.1, partial |
| it is valid | 1, correct | 0.2 + 0.7 x agreement, partial |
| it is valid and equal to the gold value | | 1, correct |

agreement: F1 over leaves with their paths (agreement.py), so `{}`, a document of optional parts alone and a padded one
gain nothing, and no invalid document scores above a valid one.

An unusable reference is ERROR and says where: an unknown `$schema`, a schema that its metaschema refuses, a `$ref` to
nothing or outside, endless recursion, a pattern that cannot be translated, a gold value that its own schema refuses.

Known false positives: without a gold value any valid document is correct, an empty one too where the schema allows it;
values that the schema itself gives away (const, an enum of one) count as agreement. Known false negatives: elements of
an array are compared by position, so one that is left out costs all behind it; text is compared by code points.
Not covered: a pattern of exponential time, which the scoring pool's limit on time cuts off (TIMEOUT).
"""

from __future__ import annotations

from collections.abc import Mapping

from reasongym.verifiers.json_schema.agreement import agreement
from reasongym.verifiers.json_schema.extraction import Extracted, extract
from reasongym.verifiers.json_schema.strict_json import canonical
from reasongym.verifiers.json_schema.validation import Schema, SchemaProblem, prepared
from reasongym.verifiers.registration import verifier
from reasongym.verifiers.verdict import Status, Verdict

__all__ = ["Reference", "json_schema", "read_reference"]

_PARSES = 0.05
_RIGHT_ROOT = 0.1
_VALID = 0.2
_AGREEING = 0.7
_SHOWN = 2000


class Reference:
    """A checked reference: its schema, and its gold value where it has one."""

    def __init__(self, schema: Schema, *, has_value: bool, value: object = None) -> None:
        self.schema = schema
        self.has_value = has_value
        self.value = value


@verifier("json_schema")
def json_schema(response: str, reference: object, *, example: Mapping[str, object]) -> Verdict:
    """The score of the ladder at the head of this file."""
    try:
        wanted = read_reference(reference)
        found = extract(response)
        return _judged(found, wanted)
    except SchemaProblem as problem:
        return Verdict.error(str(problem))


def read_reference(reference: object) -> Reference:
    """Raises SchemaProblem for a reference that cannot be used, saying what is wrong and where."""
    if not isinstance(reference, Mapping) or "schema" not in reference:
        raise SchemaProblem(f'the reference is not {{"schema": ..., "value": ...}} but {str(reference)[:80]!r}')
    if not isinstance(reference["schema"], dict | bool):
        raise SchemaProblem(f"the schema is neither an object nor a boolean but {str(reference['schema'])[:80]!r}")
    schema = prepared(reference["schema"])
    if "value" not in reference:
        return Reference(schema, has_value=False)
    try:
        canonical(reference["value"])
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaProblem(f"the gold value is not JSON, or too deep: {error}") from error
    wrong = schema.problem(reference["value"])
    if wrong is not None:
        raise SchemaProblem(f"the gold value is not valid against its own schema: {wrong}")
    return Reference(schema, has_value=True, value=reference["value"])


def _judged(found: Extracted, wanted: Reference) -> Verdict:
    shown = found.text[:_SHOWN]
    if found.several:
        return Verdict.wrong(shown, found.problem)
    if found.problem:
        return Verdict.unparsable(found.problem)
    if not wanted.schema.allows_type_of(found.value):
        return _partial(_PARSES, shown, wanted.schema.problem(found.value) or "the root is of another type")
    wrong = wanted.schema.problem(found.value)
    if wrong is not None:
        return _partial(_RIGHT_ROOT, shown, wrong)
    if not wanted.has_value:
        return Verdict.correct(shown, "valid")
    if canonical(found.value) == canonical(wanted.value):
        return Verdict.correct(shown, "equal to the gold value")
    share = agreement(found.value, wanted.value)
    score = _VALID + _AGREEING * share if share else _RIGHT_ROOT
    return _partial(score, shown, f"valid; agreement with the gold value {share:.3f}")


def _partial(score: float, shown: str, reason: str) -> Verdict:
    return Verdict(score=score, status=Status.PARTIAL, extracted=shown, reason=reason)
