"""What is taken from other packages: the metaschemas of the drafts, and the rules of internationalized host names.

The package jsonschema has both, but importing it takes seconds of CPU in every scoring worker where its formats are
installed: one of them builds a parser. Its own validation is not used for the reasons in docs/verifiers/json_schema.md.
"""

from __future__ import annotations

import idna
import jsonschema_specifications  # type: ignore[import-untyped]

__all__ = ["is_idn_hostname", "metaschema"]


def metaschema(uri: str) -> object | None:
    """A draft's metaschema, or one of a vocabulary, by its URI without fragment; None for any other URI."""
    known = jsonschema_specifications.REGISTRY
    found = known.get(uri) or known.get(f"{uri}#")
    return None if found is None else found.contents


def is_idn_hostname(text: str) -> bool:
    """RFC 5890 and what it refers to, A-labels included."""
    try:
        idna.encode(text)
    except (idna.IDNAError, UnicodeError):
        return False
    return True
