"""What tells results of one model apart: a label each, and beyond it only what differs between two that share one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reasongym.leaderboard.store import Stored

if TYPE_CHECKING:
    from reasongym.evaluation.record import Result

__all__ = ["label", "told_apart", "variant"]

IN_LABELS = frozenset({"max_tokens", "temperature", "seed", "logprobs"})
"""Fields of a request that a label tells already, or that change no answer."""
KNOWN_OF_SOME = frozenset({"api", "dtype", "template"})
"""Facts that an endpoint, or an engine here, does not have: that one lacks them is no difference of its own."""
LONGEST = 60


def label(result: Result) -> str:
    """`greedy, 5-shot, 512 tokens`: what two results of one model differ in most often."""
    decoding, prompting = result.decoding, result.prompting
    facts = [_temperature(result), *[f"{decoding.samples} samples"] * (decoding.samples > 1)]
    shots = prompting.shots or result.task.settings.get("shots", 0)
    facts += [f"{shots}-shot"] * bool(shots) + ["own system prompt"] * (prompting.system is not None)
    facts += [f"thinking {prompting.thinking}"] * (prompting.thinking != "auto")
    return ", ".join([*facts, f"{decoding.sent.get('max_tokens', decoding.max_new_tokens)} tokens"])


def variant(result: Result) -> str:
    """JSON, name -> text, of what else two results of one model may differ in.

    Not among it: what changes from machine to machine and is no setting (an endpoint's address, versions).
    """
    facts = {"engine": result.engine.kind, "api": result.engine.api, "dtype": result.model.dtype,
             "system": _digest("system prompt", result.prompting.system),
             "template": _digest("template", result.prompting.template),
             "length": _length(result), **dict(_sent(result))}
    return json.dumps({name: text for name, text in facts.items() if text}, sort_keys=True)


def told_apart(results: Iterable[Stored]) -> list[Stored]:
    """The results, each label with what differs from others of its model and label, on whatever task: `greedy, 512
    tokens, completions`. One that lacks what another tells keeps its label."""
    listed = list(results)
    alike: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    facts = [_facts(result) for result in listed]
    for result, known in zip(listed, facts, strict=True):
        alike.setdefault((result.entry.model, result.entry.label), []).append(known)
    differing = {key: _differing(group) for key, group in alike.items()}
    return [_with_label(result, [known[name] for name in differing[result.entry.model, result.entry.label]
                                 if name in known]) for result, known in zip(listed, facts, strict=True)]


def _temperature(result: Result) -> str:
    """As it was sent: a field of --body stands above the options."""
    sent = result.decoding.sent
    if sent and "temperature" not in sent:
        return "the endpoint's temperature"
    value = sent.get("temperature", result.decoding.temperature)
    return "greedy" if value == 0 else f"T={value:g}" if isinstance(value, int | float) else f"T={value}"


def _length(result: Result) -> str:
    limit = result.decoding.max_prompt_tokens
    return f"prompts to {limit} tokens" if limit is not None and result.task.too_long else ""


def _sent(result: Result) -> Iterator[tuple[str, str]]:
    for name, value in result.decoding.sent.items():
        if name not in IN_LABELS:
            told = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            yield f"sent.{name}", _shortened(f"{name}={told}")


def _shortened(text: str) -> str:
    """Two long texts that begin alike are told apart by their digests."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST - 12]}... {_sha(text)}"


def _digest(name: str, text: str | None) -> str:
    return "" if text is None else f"{name} {_sha(text)}"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]


def _facts(result: Stored) -> Mapping[str, str]:
    """Of a result from before there were any: none."""
    found: Any = json.loads(result.entry.variant or "{}")
    assert isinstance(found, dict)
    return found


def _differing(group: list[Mapping[str, str]]) -> list[str]:
    names = sorted({name for facts in group for name in facts})
    values = {name: {facts.get(name) for facts in group} for name in names}
    return [name for name in names if len(values[name] - ({None} if name in KNOWN_OF_SOME else set())) > 1]


def _with_label(result: Stored, facts: list[str]) -> Stored:
    if not facts:
        return result
    return replace(result, entry=replace(result.entry, label=", ".join([result.entry.label, *facts])))
