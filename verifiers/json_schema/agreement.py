"""How far a document agrees with a gold value: F1 over leaves, each a scalar or an empty container with its path."""

from __future__ import annotations

from reasongym.verifiers.json_schema.strict_json import canonical

__all__ = ["agreement"]


def agreement(document: object, gold: object) -> float:
    """F1 in [0, 1] of the document's leaves against the gold's: 2 x shared / (the document's + the gold's).

    A leaf is shared when path and value are equal, types included (1 = 1.0, but neither true nor "1"). Elements of
    arrays are told apart by their position. Every added leaf that the gold lacks lowers it, as does every one left out.
    """
    given, wanted = _leaves(document), _leaves(gold)
    shared = sum(wanted.get(path) == value for path, value in given.items())
    return 2 * shared / (len(given) + len(wanted))


def _leaves(value: object) -> dict[tuple[str | int, ...], str]:
    """Path -> the leaf's canonical text. Names are texts and positions integers, so {"0": x} and [x] never meet."""
    found: dict[tuple[str | int, ...], str] = {}
    pending: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict) and item:
            pending += [((*path, name), child) for name, child in item.items()]
        elif isinstance(item, list) and item:
            pending += [((*path, position), child) for position, child in enumerate(item)]
        else:
            found[path] = canonical(item)
    return found
