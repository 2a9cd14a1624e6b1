"""Answers for the browser of them: scripts and not bare JSON, which a page opened from disk may not read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

__all__ = ["FIELDS", "FILTERS", "SCRIPTS", "VERDICTS", "answers_file", "browser", "call"]

FIELDS = ("row", "number", "prompt", "reasoning", "completion", "reference", "extracted", "status", "score", "reason",
          "parts", "finish_reason", "tokens", "seconds")
"""Of an answer, in the order of assets/samples.js."""
VERDICTS = ("correct", "partial", "wrong", "unparsable", "timeout", "error", "missing")
"""In the order of assets/samples.js, which gets the place of each."""
SCRIPTS = ("page.js", "math.js", "samples.js")
FILTERS = """\
<label>From step <input type="number" id="from" min="0" step="1" inputmode="numeric"></label>
<label>Order <select id="order"><option value="newest">newest first</option>
<option value="oldest">oldest first</option></select></label>"""
"""For answers that were given over time."""
BROWSER = """\
<h2 id="samples">Answers</h2>
<noscript><p class="quiet">The answers are shown by a script, which this browser does not run.</p></noscript>
<p class="quiet" id="failed" role="alert"></p>
<section id="browser" hidden aria-labelledby="samples">
<div class="controls" id="verdicts" role="group" aria-label="Verdict"></div>
<div class="controls">{filters}<label for="search">Search</label>
<input type="search" id="search" placeholder="all words, anywhere (press /)" autocomplete="off">
<button type="button" id="earlier">Previous</button><button type="button" id="later">Next</button>
<button type="button" id="typeset" aria-pressed="true">Formulas typeset</button>
<span class="quiet" id="told" role="status"></span></div>
<article class="answer" id="answer" hidden></article>
<ul class="answers" id="answers"></ul>
<p class="quiet">Keys: / search, n and p pages, j and k answers, f formulas typeset or as the model wrote them,
Esc closes.</p>
</section>"""


def browser(filters: str = "") -> str:
    """The part of a page that assets/samples.js fills. filters: HTML before the search."""
    return BROWSER.format(filters=filters)


def answers_file(name: int | str, rows: Iterable[Sequence[object]], *, more: int = 0) -> str:
    """The script of one file of answers, each in the order of FIELDS; it only ever calls one function.

    more: files of the same step that come after this one.
    """
    following = f", {more}" if more else ""
    return f"answersFile({_json(name)}, {_json([list(row) for row in rows])}{following});\n"


def call(function: str, *values: object) -> str:
    """A script that calls one function."""
    return f"{function}({', '.join(map(_json, values))});\n"


def _json(value: object) -> str:
    """ASCII, and without `<`: whatever takes the file for a page finds no tag in it."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
