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

__all__ = ["Named", "named_option", "option_texts"]

_READ = 2_000
_WRAPPED = re.compile(r"(-\s?)?\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathsf|mbox|boxed|fbox|emph|"
                      r"operatorname)\s?\{([^{}]{0,2000})\}")
_NOISE = re.compile(r"\$|\\[()\[\],;!]|\*\*|__|`|\\(?:left|right|quad|qquad)(?![A-Za-z])|[\u200b-\u200d\u2060\ufeff]")
_SAME = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3002: ".", 0x2212: "-"}
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_BEHIND_LABEL = re.compile(rf"(?:[\s)\]:,;>={_QUOTES}]|\.(?![0-9.])|[\u2013\u2014-](?=\s))*+")
"""What may stand between a letter and its text: not the sign or the point of a number."""

_LEAD = re.compile(
    rf"(?:[\s:={_QUOTES}*_]|[-=]>|>(?=\s)|-(?=\s+[^\s\d$.(\\])|(?:the|correct|right|final|best|answer|option|choice|"
    r"letter|alternative|is|it|it['\u2019]s|that['\u2019]s|clearly|definitely|therefore|thus|hence|so|likely|probably|indeed|"
    r"simply|either|both)(?![A-Za-z'\u2019]),?)*+", re.IGNORECASE)
_NOT_BUT = re.compile(r"(?:it['\u2019]s |it is )?not\s[^,;.\n]{1,80}[,;.]?\s"
                      r"(?:but(?:\srather)?|it['\u2019]s|it\sis|rather|instead)\s(?P<rest>\S[\s\S]*)", re.IGNORECASE)
_LABEL = re.compile(r"[(\[{<]\s?([A-Za-z])\s?[)\]}>]|([A-Za-z])(?=\s?[)\]:]|[.](?![A-Za-z0-9]))"
                    r"|([A-Z])(?![\w'\u2019])|([a-z])(?=\s*\Z)")
_JOINED = re.compile(r"(?:[\s,;/&+|.)\]]|[-=]?>(?=\s)|->|\u2192|\((?=or|and|maybe|perhaps|possibly))*+"
                     r"(?:(?:and|or|nor|und|oder|et|ou|vs\.?|versus|maybe|perhaps|possibly|otherwise|else|then)(?![A-Za-z])"
                     r"[\s/(]*+(?:(?:maybe|perhaps|possibly|option|choice|even|the|answer) ){0,3}"
                     r"(?:not(?![A-Za-z]))?+)?",
                     re.IGNORECASE)
_AFTER_LABEL = re.compile(
    rf"\s*+(?:\Z|[)\].:,;!?\u2013\u2014{_QUOTES}/&|+>=(-]|\n|(?:because|since|as|which|where|is|was|would|will|has|and|or|for|"
    r"with|from|due|by|after|if|when|in|on|option|seems|looks|fits|follows|matches)(?![A-Za-z]))", re.IGNORECASE)
_DENIED = re.compile(r"[\s)\].\"']*(?:is|was|are|were|would be|seems)?\s?"
                     r"(?:n['\u2019]t|not|never|wrong|incorrect|false|out)(?![A-Za-z])", re.IGNORECASE)
_IS = re.compile(r"[\s)\]\"'.]*(?:is|was|seems|looks|would be|must be|should be)\s+(?P<said>\S.*)",
                 re.IGNORECASE | re.DOTALL)
_PRAISE = re.compile(
    r"(?:(?:to be|the|my|our|an?|most|more|very|only|single|final|clearly|definitely|obviously|probably|indeed|"
    r"therefore|thus|also)\s)*+(?:correct|right|best|better|true|answer|choice|option|one|it|likely|plausible|accurate|"
    r"appropriate|fitting|suitable|valid|because|since|as)(?![A-Za-z])", re.IGNORECASE)
_CONDITION = re.compile(r"[\s),]*(?:only\s|but only\s)?(?:if|unless|when|provided|assuming)(?![A-Za-z])", re.IGNORECASE)
_OTHERWISE = re.compile(r"(?<![A-Za-z])(?:otherwise|or else|alternatively)(?![A-Za-z])", re.IGNORECASE)
_OTHER_LETTER = re.compile(r"(?<![\w'\u2019])([B-HJ-Z](?![\w'\u2019])|[AI](?=\s?(?:[.,;:!?)]|\Z)))")
_TEXT_ENDS = re.compile(rf"\s*+(?:\Z|[.,;:!?()\[\]\n{_QUOTES}\u2013\u2014]++\s*+"
                        r"(?!or\b|[-+\u00b1(]{0,2}\s?[$\u20ac\u00a3]?\.?[\d\\]|(?:and|to)\s[-+$]?\.?\d"
                        r"|[A-Za-z]{1,3}[\^_=+*/\d(])"
                        r"|-\s(?!\s?\d)|(?:because|since|as|which|where|is)(?![A-Za-z]))", re.IGNORECASE)
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
    if (contrast := _NOT_BUT.fullmatch(bare)) is not None:
        bare = contrast["rest"]
    label = _label(bare, choices, num_options)
    whole = _by_text(bare, choices)
    if whole is not None and (label is None or len(bare) > 1 or label[0] >= num_options):
        return Named("one", whole, bare[:200])
    if label is None:
        return _at_head(bare, choices)
    index, rest = label
    if index >= num_options:
        return Named("foreign", 0, bare[:200])
    if _is_denied(rest, choices, index):
        return _NOTHING
    if _joins_another(rest, choices, num_options, but=index) or _is_condition(rest, choices, num_options, but=index):
        return Named("several", 0, bare[:200])
    stated = _by_text(_behind_label(rest), choices)
    if stated is not None and choices[stated] != choices[index]:
        return Named("several", 0, bare[:200])
    return Named("one", index, bare[:200])


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
    if not match[3] or _AFTER_LABEL.match(rest) or _joins_another(rest, choices, num_options, but=index):
        return index, rest
    if index < len(choices) and _folded(rest).startswith(_folded(choices[index])):
        return index, rest
    return None


def _behind_label(rest: str) -> str:
    between = _BEHIND_LABEL.match(rest)
    return rest[between.end() if between else 0:]


def _is_denied(rest: str, choices: Sequence[str], index: int) -> bool:
    """Whether what follows says that the option is wrong, or anything but that it is right: "B is less likely"."""
    if _DENIED.match(rest):
        return True
    told = _IS.match(rest)
    own = choices[index].casefold() if index < len(choices) else ""
    return told is not None and not _PRAISE.match(told["said"]) and not (
        own and told["said"].casefold().startswith(own))


def _is_condition(rest: str, choices: Sequence[str], num_options: int, *, but: int) -> bool:
    """Whether the option is stated under a condition, with another beside it: "B if it is Paris, otherwise C"."""
    if not (_CONDITION.match(rest) or _OTHERWISE.search(rest)):
        return False
    letters = {ascii_uppercase.index(found[1]) for found in _OTHER_LETTER.finditer(rest)} - {but}
    said = rest.casefold()
    return any(letter < num_options for letter in letters) or any(
        len(option) > 1 and option.casefold() in said for i, option in enumerate(choices) if i != but)


def _joins_another(rest: str, choices: Sequence[str], num_options: int, *, but: int) -> bool:
    """Whether another option follows at once: "B or C", "B, C", "B/C", "B C", "B) Paris or C) Rome"."""
    if but < len(choices):
        after_own = _behind_label(rest).lstrip("(")
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
    if _DENIED.match(following, match.end()):
        return False
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
        if not first or len({choices[i].casefold() for i in first}) > 1 \
                or _is_denied(bare[start + longest:], choices, first[0]):
            continue
        rest = bare[start + longest:]
        if len(first) > 1 or _joins_another(rest, choices, len(choices), but=first[0]) \
                or _is_condition(rest, choices, len(choices), but=first[0]):
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
    return text.casefold().lstrip(_QUOTES + " ()[]").rstrip(_QUOTES + " .,;:!?()[]")  # the point of ".20" is no quote


def _without_article(text: str) -> str:
    return _ARTICLE.sub("", _folded(text), count=1)
