r"""What follows a named option: whether it denies it, makes it a condition, or names another one beside it.

An answer names one option. Another one may stand behind it only where it is denied ("B, not C", "B (C is wrong)",
"B rather than C", "B is better than C") or part of a reason ("B, because C is in Germany"). Anywhere else it is a
second answer, whatever joins the two: "A as well as B", "A-B", "A = B", "A: 0.6, B: 0.4", "A is correct, and so is B",
"B if it is France, A otherwise". So is another option's text behind a word that joins: "Rome as well as Paris".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

__all__ = ["QUOTES", "TEXT_ENDS", "behind_label", "is_denied_option", "joins_another",
           "names_another", "next_clause", "without_own"]

QUOTES = "\"'\u201c\u201d\u2018\u2019"
_BEHIND_LABEL = re.compile(rf"(?:[\s)\]:,;>={QUOTES}]|\.(?![0-9.])|[\u2013\u2014-](?=\s))*+")
"""What may stand between a letter and its text: not the sign or the point of a number."""

_JOINED = re.compile(r"(?:[\s,;/&+|.)\]]|[-=]?>(?=\s)|->|\u2192|\((?=or|and|maybe|perhaps|possibly))*+"
                     r"(?:(?:and|or|nor|und|oder|et|ou|vs\.?|versus|maybe|perhaps|possibly|otherwise|else|then)(?![A-Za-z])"
                     r"[\s/(]*+(?:(?:maybe|perhaps|possibly|option|choice|even|the|answer) ){0,3}"
                     r"(?:not(?![A-Za-z]))?+)?",
                     re.IGNORECASE)
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
_OTHER_LETTER = re.compile(r"(?<![\w'\u2019\u00b0])(?<![A-Z]\.)(?<![0-9]\s)(?:([B-HJ-Z])(?![\w'\u2019]|\.[A-Z])"
                           r"|([AI])(?=\s?(?:[.,;:!?)]|\Z)|\s(?:if|otherwise|else|or|is|with|too|also|as well)\b))")
_OF_A_NAME = re.compile(r"\b(?:vitamin|hepatitis|plan|point|line|angle|side|figure|class|type|group|grade|team)\s\Z",
                        re.IGNORECASE)
_NEAR = 200
_REASON = re.compile(r"(?<![A-Za-z])(?:because|since|(?<!well )as(?! well)|due|given|which|where)(?![A-Za-z])",
                     re.IGNORECASE)
_SENTENCE_ENDS = re.compile(
    r"[.!]\s(?=[A-Z(])(?!(?:or|and|also|maybe|perhaps|possibly|alternatively|otherwise|if not)\b"
    r"|\(?[A-Z]\)?\s[^.!?]{0,40}\b(?:also|too|equally|as well|possible|plausible)\b)", re.IGNORECASE)
_A_LIST = r"(?:[\s(]*[A-Z]\)?(?:,\s?|/|\s)(?:and\s|or\s|nor\s)?)*"
_DENIED_BEFORE = re.compile(
    r"(?:(?<!if )(?<!why )\bnot|n['\u2019]t|\b(?:nor|neither|than|unlike|instead of|over|except|excluding|against|"
    r"wrong|wrongly|incorrect|eliminat\w{1,4}|exclud\w{1,4}|reject\w{0,3}|rul\w{1,3} out))\b\s(?:[a-z]{1,12}\s){0,3}"
    + _A_LIST + r"\(?\Z")
_DENIED_BEHIND = re.compile(
    r"[)\]\s]*(?:(?:,\s?|\s|/)(?:and\s|or\s)?\(?[A-Z]\)?(?![\w'\u2019]))*[\s,)\]]*(?:(?:is|was|are|were|would be|"
    r"seems?|looks?|does|do)\b\s?)?(?:(?:all|both)\s)?(?:n['\u2019]t|not|never|wrong|incorrect|false|out|less|eliminated|"
    r"excluded|impossible|ruled out|tempting)(?![A-Za-z])", re.IGNORECASE)
_ALSO = re.compile(r"[)\]\s]*(?:is|are|seems|looks|could be|may be|might be|would be)\s(?:also|equally|just as|"
                   r"possible|plausible|as)(?![A-Za-z])", re.IGNORECASE)
_CONNECTS = re.compile(
    r"(?<![A-Za-z])(?:as well as|so (?:is|does)|and|or|also|plus|along with|together with|i mean|make that|"
    r"alternatively|otherwise|else|if not|=|/|&|\+|vs\.?)(?![A-Za-z])[\s,:]*(?:(?:so is|also|maybe|perhaps|possibly|"
    r"even|the|it is|it['\u2019]s|option|choice|answer)\s)*+", re.IGNORECASE)
_TEXT_STOPS = re.compile(r"\s*(?:\Z|[.,;!?)]|(?:too|as well|also|instead|otherwise|if)\b)", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;.!]\s+(?:(?:but|so|and|while|whereas|thus|therefore|hence)\s)?|\s(?:but|so|while|whereas)\s",
                     re.IGNORECASE)
TEXT_ENDS = re.compile(rf"\s*+(?:\Z|[.,;:!?()\[\]\n{QUOTES}\u2013\u2014]++\s*+"
                        r"(?!or\b|[-+\u00b1(]{0,2}\s?[$\u20ac\u00a3]?\.?[\d\\]|(?:and|to)\s[-+$]?\.?\d"
                        r"|[A-Za-z]{1,3}[\^_=+*/\d(])"
                        r"|-\s(?!\s?\d)|(?:because|since|as|which|where|is)(?![A-Za-z]))", re.IGNORECASE)


def behind_label(rest: str) -> str:
    """What follows a label, without the marks between the two."""
    between = _BEHIND_LABEL.match(rest)
    return rest[between.end() if between else 0:]


def without_own(rest: str, choices: Sequence[str], index: int) -> str:
    """What follows a label, without the option's own text where it stands there: " is wrong" of ") Paris is wrong"."""
    own = choices[index] if index < len(choices) else ""
    after = behind_label(rest).lstrip("(")
    return after[len(own):] if own and after.casefold().startswith(own.casefold()) else rest


def is_denied_option(rest: str, choices: Sequence[str], index: int) -> bool:
    """Whether what follows says that the option is wrong, or anything but that it is right: "B is less likely"."""
    own = choices[index].casefold() if index < len(choices) else ""
    for said in dict.fromkeys((rest, without_own(rest, choices, index))):
        told = _IS.match(said)
        if _DENIED.match(said) or (told and not _PRAISE.match(told["said"])
                                   and not (own and told["said"].casefold().startswith(own))):
            return True
    return False


def _is_one_denied(rest: str, choices: Sequence[str], index: int) -> bool:
    """Whether what follows denies the option, or several in a row: A of "A, C and D are wrong"."""
    if _ALSO.match(without_own(rest, choices, index)):
        return False
    return is_denied_option(rest, choices, index) or _DENIED_BEHIND.match(without_own(rest, choices, index)) is not None


def next_clause(rest: str) -> str:
    """What stands behind the denial of an option: "B is right" of " is wrong, B is right"; empty where nothing does."""
    found = _CLAUSE.search(rest)
    return rest[found.end():] if found else ""


def names_another(rest: str, choices: Sequence[str], num_options: int, *, but: int) -> bool:
    """Whether another option than `but` is named in what follows that one."""
    return joins_another(rest, choices, num_options, but=but) or _is_condition(rest, choices, num_options, but=but) \
        or _mentions_another(without_own(rest, choices, but), choices, num_options, but=but)


def _is_condition(rest: str, choices: Sequence[str], num_options: int, *, but: int) -> bool:
    """Whether the option is stated under a condition, with another beside it: "B if it is Paris, otherwise C"."""
    if not (_CONDITION.match(rest) or _OTHERWISE.search(rest)):
        return False
    letters = {_letter(found) for found in _OTHER_LETTER.finditer(rest)} - {but}
    said = rest.casefold()
    return any(letter < num_options for letter in letters) or any(
        len(option) > 1 and option.casefold() in said for i, option in enumerate(choices) if i != but)


def joins_another(rest: str, choices: Sequence[str], num_options: int, *, but: int) -> bool:
    """Whether another option follows at once: "B or C", "B, C", "B/C", "B C", "B) Paris or C) Rome"."""
    rest = without_own(rest, choices, but)
    joined = _JOINED.match(rest)
    following = rest[joined.end() if joined else 0:]
    if joined and joined[0].casefold().rstrip().endswith("not"):
        return False
    match = re.match(r"[(\[{<]?\s?([A-Z])(?![\w'\u2019])", following) or re.match(r"[(\[]\s?([a-z])\s?[)\]]", following)
    if match is None:
        said = following.casefold()
        return bool(joined and joined[0].strip(" .)]")) and any(
            option and said.startswith(option.casefold()) and TEXT_ENDS.match(following, len(option))
            for i, option in enumerate(choices) if i != but)
    other = ascii_uppercase.index(match[1].upper())
    if _is_one_denied(following[match.end():], choices, other):
        return False
    is_word = match[1] in "AI" and re.match(r"[AI] [a-z]", following) is not None
    return other != but and other < num_options and not is_word


def _mentions_another(rest: str, choices: Sequence[str], num_options: int, *, but: int) -> bool:
    """Whether the sentence names another option, neither denied nor in a reason.

    Where the options' texts are not known, a letter behind "B) ..." may belong to one ("B) Vitamin C"), and only one
    with a mark is a label.
    """
    ends = [found.start() for found in (_REASON.search(rest), _SENTENCE_ENDS.search(rest)) if found]
    said = rest[:min(ends, default=len(rest))]
    has_text = re.match(r"[).:\]]\s?[A-Za-z0-9]{2}", rest)
    for found in _OTHER_LETTER.finditer(said):
        other = _letter(found)
        before, after = said[max(0, found.start() - _NEAR):found.start()], said[found.end():found.end() + _NEAR]
        is_label = choices or not has_text or re.match(r"[):]", after) or not before.strip(" -=?!/:>|")
        if is_label and other != but and other < num_options and not (
                _OF_A_NAME.search(before) or _DENIED_BEFORE.search(before) or _is_one_denied(after, choices, other)):
            return True
    return any(_is_text_at(said, found.end(), choices, but) for found in _CONNECTS.finditer(said))


def _is_text_at(said: str, start: int, choices: Sequence[str], but: int) -> bool:
    folded = said[start:].casefold()
    return any(len(option) > 1 and folded.startswith(option.casefold()) and _TEXT_STOPS.match(said, start + len(option))
               for i, option in enumerate(choices) if i != but)


def _letter(found: re.Match[str]) -> int:
    return ascii_uppercase.index(found[1] or found[2])
