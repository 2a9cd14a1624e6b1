"""From a filled-in draft to what a row shows: the text, the schema and the value."""

from __future__ import annotations

from typing import Any, NamedTuple

from reasongym.tasks.json_extraction.draft import PLANS, Draft, Fact, Row, Rows, Written

__all__ = ["Sheet", "assemble"]

_NESTING_FROM = 3
_OBJECTS_FROM = 4
_SHUFFLED_FROM = 4
_MISSING_FROM = 5


class Sheet(NamedTuple):
    """text: the document. value: what it says, valid against schema."""

    text: str
    schema: dict[str, Any]
    value: dict[str, Any]


def assemble(draft: Draft) -> Sheet:
    """Choose what the level uses, and write it down three times: as text, as schema, as value."""
    plan, rng = PLANS[draft.level], draft.rng
    facts = draft.facts
    if plan.facts < len(facts):
        facts = [facts[i] for i in sorted(rng.sample(range(len(facts)), plan.facts))]
    optional = rng.choice(facts) if draft.level >= _MISSING_FROM else None
    missing = optional if rng.random() < 0.5 else None
    schema, value = _object(), dict[str, Any]()
    for fact in facts:
        _place(schema, value, fact, draft.level, nullable=fact is optional, missing=fact is missing)
    sentences = [fact.sentence.format(fact.written.text) for fact in facts if fact is not missing]
    if draft.list is not None and draft.list.rows:
        _place_rows(schema, value, draft.list, draft.level)
    text = _text(draft, sentences, rng.sample(draft.asides, plan.asides))
    return Sheet(text, schema, value)


def _text(draft: Draft, sentences: list[str], asides: list[str]) -> str:
    if draft.level >= _SHUFFLED_FROM:
        draft.rng.shuffle(sentences)
    for aside in asides:
        sentences.insert(draft.rng.randint(0, len(sentences)), aside)
    lines = [draft.heading, " ".join(sentences)]
    if draft.list is not None:
        lines += ["- " + draft.list.line.format(**{name: one.text for name, one in row.items()})
                  for row in draft.list.rows]
    return "\n".join(lines)


def _place(schema: dict[str, Any], value: dict[str, Any], fact: Fact, level: int, *, nullable: bool,
           missing: bool) -> None:
    """Enter one fact into schema and value, its path flattened where the level knows no nesting."""
    path = fact.path if level >= _NESTING_FROM else ("_".join(fact.path),)
    for name in path[:-1]:
        schema = _property(schema, name, schema["properties"].get(name) or _object())
        value = value.setdefault(name, {})
    described = ", ".join(part for part in (fact.meaning, fact.written.rule) if part)
    kinds: Any = fact.written.type
    if nullable:
        kinds, described = [kinds, "null"], f"{described}; null where the text does not say"
    _property(schema, path[-1], {"type": kinds, "description": described})
    value[path[-1]] = None if missing else fact.written.value


def _place_rows(schema: dict[str, Any], value: dict[str, Any], rows: Rows, level: int) -> None:
    if level >= _OBJECTS_FROM:
        item = _object()
        for name, one in rows.rows[0].items():
            _property(item, name, _typed(one))
        made: list[Any] = [{name: one.value for name, one in row.items()} for row in rows.rows]
        described = f"{rows.meaning}, in the order of the text"
    else:
        name = next(iter(rows.rows[0]))
        item = _typed(rows.rows[0][name])
        made = [_first(row).value for row in rows.rows]
        described = f"the {name} of each of {rows.meaning}, in the order of the text"
    _property(schema, rows.name, {"type": "array", "description": described, "items": item})
    value[rows.name] = made


def _first(row: Row) -> Written:
    return next(iter(row.values()))


def _typed(one: Written) -> dict[str, Any]:
    return {"type": one.type, "description": one.rule} if one.rule else {"type": one.type}


def _object() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def _property(schema: dict[str, Any], name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Enter a required property; answers with its schema."""
    if name not in schema["properties"]:
        schema["required"].append(name)
    schema["properties"][name] = wanted
    return wanted
