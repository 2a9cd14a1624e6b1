r"""Which option a short text names: "B", "(b)", "B. Paris", "\text{(B)}", "**B**", "Paris", and what names several.

A letter is a label where nothing else can be meant: alone, before `)` `.` `:` or a dash, before the option's own text,
or before a remark ("B because ...", "B, which ..."). So neither the article of "A dog" nor the pronoun of "I think" is
one.
Capital letters always may be labels; small ones only alone or with a bracket, full stop or colon ("b", "(b)", "b)").
An option's text counts where the stated text is that and no other's, at the first of these levels at which any
is: exactly, up to case and closing punctuation, up to a leading article.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Literal, NamedTuple

__all__ = ["Named", "named_option", "option_texts"]

_READ = 2_000
_WRAPPED = re.compile(r"\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathsf|mbox|boxed|fbox|emph|operatorname)"
                      r"\s?\{([^{}]{0,2000})\}")
_NOISE = re.compile(r"\$|\\[()\[\],;!]|\*\*|__|`|\\(?:left|right|quad|qquad)(?![A-Za-z])|[\u200b-\u200d\u2060\ufeff]")
_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3002: "."}
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_BEHIND_LABEL = f" )].:,;>=\u2013\u2014-{_QUOTES}\n"

_LEAD = re.compile(rf"(?:[\s:=>{_QUOTES}*_-]|(?:the|correct|right|final|best|answer|option|choice|letter|alternative|"
                   r"is|it|clearly|definitely|therefore|thus|so|likely|probably|indeed|simply|either|both)(?![A-Za-z]))*+",
                   re.IGNORECASE)
_LABEL = re.compile(r"[(\[{<]\s?([A-Za-z])\s?[)\]}>]|([A-Za-z])(?=\s?[)\]:]|[.](?![A-Za-z0-9]))"
                    r"|([A-Z])(?![\w'\u2019])|([a-z])(?=\s*\Z)")
_JOINED = re.compile(r"[\s,;/&+|.)\]]*+(?:(?:and|or|nor|und|oder|et|ou)(?![A-Za-z])[\s/(]*+(?:maybe |perhaps |"
                     r"possibly |option |choice |even ){0,3}(?:not(?![A-Za-z]))?+)?", re.IGNORECASE)
_AFTER_LABEL = re.compile(
    rf"\s*+(?:\Z|[)\].:,;!?\u2013\u2014{_QUOTES}/&|+>=(-]|\n|(?:because|since|as|which|where|is|was|would|will|has|and|or|for|"
    r"with|from|due|by|after|if|when|in|on|option|seems|looks|fits|follows|matches)(?![A-Za-z]))", re.IGNORECASE)
_DENIED = re.compile(r"\s*(?:is|was|would be|seems)?\s?(?:n['\u2019]t|not|never|wrong|incorrect|false|out)(?![A-Za-z])",
                     re.IGNORECASE)
_TEXT_ENDS = re.compile(rf"\s*+(?:\Z|[.,;:!?()\[\]\n{_QUOTES}\u2013\u2014]|-\s"
                        r"|(?:because|since|as|which|where|is)(?![A-Za-z]))", re.IGNORECASE)
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
    """
    bare = _bare(text)
    label = _label(bare, choices, num_options)
    whole = _by_text(bare, choices)
    if whole is not None and (label is None or len(bare) > 1):
        return Named("one", whole, bare[:200])
    if label is None:
        return _at_head(bare, choices)
    index, rest = label
    if index >= num_options:
        return Named("foreign", 0, bare[:200])
    if _DENIED.match(rest):
        return _NOTHING
    if _joins_another(rest, choices, num_options, but=index):
        return Named("several", 0, bare[:200])
    stated = _by_text(rest.lstrip(_BEHIND_LABEL), choices)
    if stated is not None and choices[stated] != choices[index]:
        return Named("several", 0, bare[:200])
    return Named("one", index, bare[:200])


def _bare(text: str) -> str:
    text = unicodedata.normalize("NFC", text[:_READ]).translate(_FULL_WIDTH)
    for _ in range(3):
        text = _WRAPPED.sub(r" \1 ", text)
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
    if not match[3] or _AFTER_LABEL.match(rest) or _joins_another(rest, choices, num_options, but=index):
        return index, rest
    if index < len(choices) and _folded(rest).startswith(_folded(choices[index])):
        return index, rest
    return None


def _joins_another(rest: str, choices: Sequence[str], num_options: int, *, but: int) -> bool:
    """Whether another option follows at once: "B or C", "B, C", "B/C", "B C", "B) Paris or C) Rome"."""
    if but < len(choices):
        after_own = rest.lstrip(_BEHIND_LABEL + "(")
        own = choices[but]
        if own and after_own.casefold().startswith(own.casefold()):
            rest = after_own[len(own):]
    joined = _JOINED.match(rest)
    following = rest[joined.end() if joined else 0:]
    if joined and joined[0].casefold().rstrip().endswith("not"):
        return False
    match = re.match(r"[(\[{<]?\s?([A-Z])(?![\w'\u2019])", following) or re.match(r"[(\[]\s?([a-z])\s?[)\]]", following)
    if match is None:
        said = following.casefold()
        return bool(joined and joined[0].strip(" .)]")) and any(
            option and said.startswith(option.casefold()) and _TEXT_ENDS.match(following, len(option))
            for i, option in enumerate(choices) if i != but)
    other = ascii_uppercase.index(match[1].upper())
    is_word = match[1] in "AI" and re.match(r"[AI] [a-z]", following) is not None
    return other != but and other < num_options and not is_word


def _at_head(bare: str, choices: Sequence[str]) -> Named:
    """An option's text at the head, a remark behind it: "Paris, since it is the capital". The longest such counts."""
    lead = _LEAD.match(bare)
    for start in dict.fromkeys((0, lead.end() if lead else 0)):
        said = bare[start:].casefold()
        found = [i for i, option in enumerate(choices)
                 if option and said.startswith(option.casefold()) and _TEXT_ENDS.match(bare[start:], len(option))]
        longest = max((len(choices[i]) for i in found), default=0)
        first = [i for i in found if len(choices[i]) == longest]
        if not first or len({choices[i].casefold() for i in first}) > 1 or _DENIED.match(bare[start + longest:]):
            continue
        if len(first) > 1 or _joins_another(bare[start + longest:], choices, len(choices), but=first[0]):
            return Named("several", 0, bare[:200])
        return Named("one", first[0], bare[:200])
    if any(option and _folded(bare).startswith(_folded(option) + " or ") for option in choices):
        return Named("several", 0, bare[:200])
    return _NOTHING


def _by_text(text: str, choices: Sequence[str]) -> int | None:
    """The one option of that text, or None where none is or several are."""
    for form in (str, _folded, _without_article):
        given = form(text)
        found = [i for i, option in enumerate(choices) if option and form(option) == given]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _folded(text: str) -> str:
    return text.casefold().strip(_QUOTES + " .,;:!?()[]")


def _without_article(text: str) -> str:
    return _ARTICLE.sub("", _folded(text), count=1)
