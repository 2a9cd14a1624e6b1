r"""Which option a short text names: "B", "(b)", "B. Paris", "\text{(B)}", "**B**", "Paris", and what names several.

A letter is a label where nothing else can be meant: alone, before `)` `.` `:` or a dash, before the option's own text,
or before a remark ("B because ...", "B, which ..."). So neither the article of "A dog" nor the pronoun of "I think" is
one.
Capital letters always may be labels; small ones only alone or with a bracket, full stop or colon ("b", "(b)", "b)").
An option's text counts where the stated text is that and no other's, at the first of these levels at which any
is: exactly, up to case and closing punctuation, up to a leading article. At the head of a longer text it counts where a
remark in words follows ("Paris, since ..."), not where it is the beginning of another value: `20.5`, `20:30`, `20, 30`
are not 20, nor is `-20`.
A statement that is denied ("B is wrong"), compared ("B is less likely than C") or made a condition ("B if ...,
otherwise C") names none or several; "not A, but B" names B.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Literal, NamedTuple

from reasongym.verifiers.choice_others import (
    QUOTES,
    TEXT_ENDS,
    behind_label,
    is_denied_option,
    joins_another,
    names_another,
    next_clause,
    without_own,
)

__all__ = ["Named", "named_option", "option_texts"]

_READ = 2_000
_WRAPPED = re.compile(r"(-\s?)?\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathsf|mbox|boxed|fbox|emph|"
                      r"operatorname)\s?\{([^{}]{0,2000})\}")
_NOISE = re.compile(r"\$|\\[()\[\],;!]|\*\*|__|`|\\(?:left|right|quad|qquad)(?![A-Za-z])|[\u200b-\u200d\u2060\ufeff]")
_SAME = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3002: ".", 0x2212: "-"}
_LEAD = re.compile(
    rf"(?:[\s:={QUOTES}*_]|[-=]>|>(?=\s)|-(?=\s+[^\s\d$.(\\])|(?:the|correct|right|final|best|answer|option|choice|"
    r"letter|alternative|is|it|it['\u2019]s|that['\u2019]s|clearly|definitely|therefore|thus|hence|so|likely|probably|indeed|"
    r"simply|either|both)(?![A-Za-z'\u2019]),?)*+", re.IGNORECASE)
_NOT_BUT = re.compile(r"(?:it['\u2019]s |it is )?not\s[^,;.\n]{1,80}[,;.]?\s"
                      r"(?:but(?:\srather)?|it['\u2019]s|it\sis|rather|instead)\s(?P<rest>\S[\s\S]*)", re.IGNORECASE)
_LABEL = re.compile(r"[(\[{<]\s?([A-Za-z])\s?[)\]}>]|([A-Za-z])(?=\s?[)\]:]|[.](?![A-Za-z0-9]))"
                    r"|([A-Z])(?![\w'\u2019])|([a-z])(?=\s*\Z)")
_AFTER_LABEL = re.compile(
    rf"\s*+(?:\Z|[)\].:,;!?\u2013\u2014{QUOTES}/&|+>=(-]|\n|(?:because|since|as|which|where|is|was|would|will|has|and|or|for|"
    r"with|from|due|by|after|if|when|in|on|option|seems|looks|fits|follows|matches|"
    r"rather than|instead of)(?![A-Za-z]))", re.IGNORECASE)
_ASKS = re.compile(r"[\s)\].\"'$*]*\?")
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)


class Named(NamedTuple):
    """What a text names. option: its index, where `kind` is "one"; text: as it was written."""

    kind: Literal["one", "several", "foreign", "none"]
    option: int
    text: str


_NOTHING = Named("none", 0, "")


def option_texts(choices: Sequence[str]) -> tuple[str, ...]:
    """Options as texts are compared with them."""
    return tuple(_bare(choice) for choice in choices)


def named_option(text: str, choices: Sequence[str], *, num_options: int) -> Named:
    """The option that `text` names at its head. choices: as `option_texts` gives them; none where only letters count.

    "several": more than one, or a letter beside the text of another option. "foreign": a letter behind the last option.
    Where the option at the head is denied, what the next clause names: B of "A is wrong, B is right".
    """
    bare = _bare(text)
    for _ in range(num_options):
        named, rest = _at_start(bare, choices, num_options)
        if named.kind != "none" or not rest:
            return named
        bare = next_clause(rest)
    return _NOTHING


def _at_start(bare: str, choices: Sequence[str], num_options: int) -> tuple[Named, str]:
    """What is named at the head of a text, and where that is denied, what follows it."""
    if (contrast := _NOT_BUT.fullmatch(bare)) is not None:
        bare = contrast["rest"]
    label = _label(bare, choices, num_options)
    whole = _by_text(bare, choices)
    if whole is not None and (label is None or len(bare) > 1 or label[0] >= num_options):
        return Named("one", whole, bare[:200]), ""
    if label is None:
        return _at_head(bare, choices)
    index, rest = label
    if index >= num_options:
        return Named("foreign", 0, bare[:200]), ""
    if is_denied_option(rest, choices, index):
        return _NOTHING, rest
    if names_another(rest, choices, num_options, but=index):
        return Named("several", 0, bare[:200]), ""
    if _ASKS.match(without_own(rest, choices, index)):
        return _NOTHING, ""
    stated = _by_text(behind_label(rest), choices)
    if stated is not None and choices[stated] != choices[index]:
        return Named("several", 0, bare[:200]), ""
    return Named("one", index, bare[:200]), ""


def _bare(text: str) -> str:
    text = unicodedata.normalize("NFC", text[:_READ]).translate(_SAME)
    for _ in range(3):
        text = _WRAPPED.sub(lambda found: f" -{found[2].strip()} " if found[1] else f" {found[2]} ", text)
    return re.sub(r"\s++", " ", _NOISE.sub("", text)).strip(" *_")


def _label(bare: str, choices: Sequence[str], num_options: int) -> tuple[int, str] | None:
    """Index of the letter at the text's head, and what follows it."""
    lead = _LEAD.match(bare)
    start = lead.end() if lead else 0
    match = _LABEL.match(bare, start)
    if match is None:
        return None
    letter = next(group for group in match.groups() if group)
    index, rest = ascii_uppercase.index(letter.upper()), bare[match.end():]
    if not match[3] or _AFTER_LABEL.match(rest) or joins_another(rest, choices, num_options, but=index):
        return index, rest
    if index < len(choices) and _folded(rest).startswith(_folded(choices[index])):
        return index, rest
    return None


def _at_head(bare: str, choices: Sequence[str]) -> tuple[Named, str]:
    """An option's text at the head, a remark behind it: "Paris, since it is the capital". The longest such counts."""
    lead = _LEAD.match(bare)
    for start in dict.fromkeys((0, lead.end() if lead else 0)):
        said = bare[start:].casefold()
        found = [i for i, option in enumerate(choices) if option and said.startswith(option.casefold())]
        longest = max((len(choices[i]) for i in found), default=0)
        first = [i for i in found if len(choices[i]) == longest]
        rest = bare[start + longest:]
        if first and is_denied_option(rest, choices, first[0]):
            return _NOTHING, rest
        if not first or len({choices[i].casefold() for i in first}) > 1 or not (
                TEXT_ENDS.match(bare[start:], longest) or names_another(rest, choices, len(choices), but=first[0])):
            continue
        if len(first) > 1 or names_another(rest, choices, len(choices), but=first[0]):
            return Named("several", 0, bare[:200]), ""
        return (_NOTHING if _ASKS.match(rest) else Named("one", first[0], bare[:200])), ""
    if any(option and _folded(bare).startswith(_folded(option) + " or ") for option in choices):
        return Named("several", 0, bare[:200]), ""
    return _NOTHING, ""


def _by_text(text: str, choices: Sequence[str]) -> int | None:
    """The one option of that text, or None where none is or several are."""
    for form in (str, _folded, _without_article):
        given = form(text)
        found = [i for i, option in enumerate(choices) if option and form(option) == given]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _folded(text: str) -> str:
    return text.casefold().lstrip(QUOTES + " ()[]").rstrip(QUOTES + " .,;:!?()[]")  # the point of ".20" is no quote


def _without_article(text: str) -> str:
    return _ARTICLE.sub("", _folded(text), count=1)
