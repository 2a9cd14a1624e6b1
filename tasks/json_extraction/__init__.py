"""Texts of our own making to be put into JSON by a schema: an endless generator.

Setting: `levels`, a level or [first, last] from 1 to 5; the default is [1, 2]. What a level adds: draft.py. Invoices,
bookings, recipes, reports and others are hand-written kinds of documents, one module a subject. What a document says is
drawn first; text, schema and value are three ways of writing it down, so the value follows from text and schema alone:
the schema describes each property by its role, and states the unit or form where the text uses another.

A document's split is decided by a hash of its kind and its value: no seed shows in training what another tests. About
1 document in 8 is a test document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from reasongym.tasks.base import Example, Message, RewardPart, TaskOptions, content_split, row_random
from reasongym.tasks.endless import EndlessTask
from reasongym.tasks.json_extraction import measures, trade, travel, work
from reasongym.tasks.json_extraction.draft import KINDS, PLANS, Draft
from reasongym.tasks.json_extraction.sheet import Sheet, assemble
from reasongym.tasks.settings import check_names, integer_range, refuse_data

__all__ = ["KINDS", "MAX_LEVEL", "JsonExtraction"]

MAX_LEVEL = max(PLANS)
_VERSION = "1"
"""Part of the fingerprint: raise it when a kind changes what a seed gives."""
_SUBJECTS = (measures, trade, travel, work)  # importing them fills KINDS
_DRAWS = 2000
"""1 document in 8 is a test document: missing it this often by chance has probability (7/8)^2000 < 1e-115."""
_PROMPT = """Put what the text says into one JSON object that follows the schema.

Text:
{text}

Schema:
{schema}

Reply with the JSON object only, in a ```json fence."""


class JsonExtraction(EndlessTask):
    """An invoice, a recipe or a bug report to a JSON object."""

    name = "json_extraction"
    description = "Texts of 14 kinds to JSON by a schema, made by templates, 5 levels."
    rewards = (RewardPart(name="correct", verifier="json_schema", weight=1.0),)

    def __init__(self, options: TaskOptions) -> None:
        """Raises ConfigError for settings it does not have or cannot use, and for `data`, which it does not read."""
        check_names(self.name, options.settings, ("levels",))
        refuse_data(self.name, options.data, instead="schemas of your own are for the task json_schema")
        self._levels = integer_range(self.name, "levels", options.settings.get("levels", [1, 2]), low=1, high=MAX_LEVEL)

    def make_example(self, split: str, index: int, seed: int) -> Example:
        level = row_random(self.name, split, seed, index, "level").randint(*self._levels)
        for draw in range(_DRAWS):
            rng = row_random(self.name, split, seed, index, f"document {draw}")
            kind = rng.choice(sorted(KINDS))
            draft = Draft(rng, level)
            KINDS[kind](draft)
            sheet = assemble(draft)
            if content_split(self.name, kind + json.dumps(sheet.value, sort_keys=True)) == split:
                return self._example(sheet, split, index, {"kind": kind, "level": level})
        raise AssertionError(f"no {split} document in {_DRAWS} draws")

    def provenance(self) -> Mapping[str, str]:
        return {"source": "generator", "fingerprint": f"json_extraction {_VERSION}, levels {list(self._levels)}"}

    def _example(self, sheet: Sheet, split: str, index: int, fields: Mapping[str, object]) -> Example:
        schema = json.dumps(sheet.schema, separators=(",", ":"))
        prompt: Message = {"role": "user", "content": _PROMPT.format(text=sheet.text, schema=schema)}
        return Example(task=self.name, split=split, index=index, messages=(prompt,),
                       reference={"schema": sheet.schema, "value": sheet.value},
                       solution=f"```json\n{json.dumps(sheet.value, indent=2)}\n```", fields=fields)
