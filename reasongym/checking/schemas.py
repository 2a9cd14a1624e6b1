"""A second opinion on JSON Schemas: the package jsonschema is asked about every reference that holds one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reasongym.checking.findings import Report
from reasongym.tasks import Example

__all__ = ["check_schemas"]


def check_schemas(rows: Sequence[Example], report: Report) -> None:
    """Each reference `{"schema", "value"}`: the schema is one of its draft, and admits the gold value.

    Formats are left out: the package asserts fewer of them than the verifier does.
    """
    held = [row for row in rows if isinstance(row.reference, Mapping) and "schema" in row.reference]
    for row in held:
        assert isinstance(row.reference, Mapping)
        wrong = _complaint(row.reference)
        report.judge("schema", wrong is None, row=row.id, got=wrong, expected="a schema that jsonschema accepts too")


def _complaint(reference: Mapping[str, object]) -> str | None:
    from jsonschema import validators
    from referencing import Registry

    try:
        kind = validators.validator_for(reference["schema"], default=validators.Draft202012Validator)
        kind.check_schema(reference["schema"])
        if "value" in reference:
            kind(reference["schema"], registry=Registry()).validate(reference["value"])
    except Exception as error:  # boundary: the package raises whatever a schema leads it to, RecursionError included
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None
