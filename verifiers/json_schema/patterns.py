r"""ECMA-262 patterns, as `pattern` and `patternProperties` have them, put into Python's `re`.

What is translated: \d \w \s \b mean ASCII digits, ASCII word characters and ECMA's white space; `$` matches at the
very end only; `.` leaves out four line ends; (?<name>), \k<name>, \cX, \u{...}, surrogate pairs, [] and [^]; \p{...}
for general categories, Any, ASCII and Assigned. What only Python has is a syntax error: (?P<name>), (?i), \A, `a++`.

What is refused as unusable, though valid: \p of scripts and other properties, look-behind of variable width, group
names beyond ASCII, a back reference before the end of its group (\1(a)).
What differs: \1 to a group that took no part matches nothing here and the empty text there. A punctuation character
may be escaped needlessly, and a `{` that begins no quantifier is itself, as browsers have it without the flag u.
Nothing here guards against a pattern that takes exponential time: the scoring pool's limit on time does.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["PatternProblem", "compiled", "is_ecma_pattern"]

_MAX_CHARS = 10_000
_MAX_GROUPS_DEEP = 50
_MAX_REPEATS = 65_535
_TOP = 0x10FFFF
_DIGIT = [(48, 57)]
_WORD = [(48, 57), (65, 90), (95, 95), (97, 122)]
_SPACE = [(9, 13), (32, 32), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
          (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)]
_NO_LINE_END = "[^\\n\\r\\u2028\\u2029]"
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?P<least>[0-9]{1,9})(?:,(?P<most>[0-9]{0,9}))?\})\??")
_GROUP = re.compile(r"\((?:\?(?::|=|!|<=|<!|<(?P<name>[^>]{0,80})>))?")
_NUMBER_ESCAPE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|c([A-Za-z])|0(?![0-9])")
_PROPERTY = re.compile(r"[pP]\{(?:(?:gc|General_Category)=)?([A-Za-z_=]{1,60})\}")
_CATEGORIES = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd",
    "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf", "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp", "Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs",
    "Private_Use": "Co", "Unassigned": "Cn",
}

Ranges = list[tuple[int, int]]


class PatternProblem(ValueError):
    """A pattern that is no ECMA-262, or one that cannot be used here; `valid` is True for the latter."""

    def __init__(self, problem: str, *, valid: bool = False) -> None:
        super().__init__(problem)
        self.valid = valid


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern for `search`. Raises PatternProblem."""
    translated = _Translation(pattern).text()
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternProblem(str(error), valid="look-behind" in str(error)) from error


def is_ecma_pattern(text: str) -> bool:
    """The format `regex`: a valid pattern, one that cannot be used here included."""
    try:
        compiled(text)
    except PatternProblem as problem:
        return problem.valid
    return True


class _Translation:
    """One pass over a pattern, from left to right."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > _MAX_CHARS:
            raise PatternProblem(f"{len(pattern)} characters are more than {_MAX_CHARS}", valid=True)
        self._source = pattern
        self._at = 0
        self._open = 0

    def text(self) -> str:
        """The whole, translated."""
        parts = []
        while self._at < len(self._source):
            part, repeatable = self._atom()
            parts.append(part + (self._quantifier() if repeatable else ""))
        return "".join(parts)

    def _atom(self) -> tuple[str, bool]:
        """The next piece and whether a quantifier may follow it."""
        char = self._source[self._at]
        if char == "(":
            return self._group(), False
        if char == "[":
            return self._class(), True
        if char == "\\":
            self._at += 1
            return self._escape(), True
        if _QUANTIFIER.match(self._source, self._at):
            raise PatternProblem(f"nothing to repeat at {self._at}")
        self._at += 1
        if char == ")":
            self._open -= 1
            return char, True
        plain = {"^": r"\A", "$": r"\Z", "|": "|", ".": _NO_LINE_END}
        return plain.get(char) or re.escape(char), char not in "^$|"

    def _group(self) -> str:
        opening = _GROUP.match(self._source, self._at)
        assert opening is not None
        self._open += 1
        if (self._source.startswith("(?", self._at) and opening[0] == "(") or self._open > _MAX_GROUPS_DEEP:
            raise PatternProblem(f"a group that ECMA-262 does not know, or too deep, at {self._at}")
        self._at = opening.end()
        return f"(?P<{_ascii_name(opening['name'])}>" if opening["name"] is not None else opening[0]

    def _quantifier(self) -> str:
        found = _QUANTIFIER.match(self._source, self._at)
        if not found:
            return ""
        if max(int(found["least"] or 0), int(found["most"] or 0)) > _MAX_REPEATS:
            raise PatternProblem(f"more than {_MAX_REPEATS} repeats", valid=True)
        self._at = found.end()
        if _QUANTIFIER.match(self._source, self._at):
            raise PatternProblem(f"a quantifier follows a quantifier at {self._at}")
        return found[0]

    def _escape(self) -> str:
        """After a backslash, outside of a class."""
        char = self._source[self._at:self._at + 1]
        if char in ("b", "B"):
            self._at += 1
            return "\\" + char
        if back := re.compile("[1-9][0-9]{0,2}").match(self._source, self._at):
            self._at = back.end()
            return f"(?:\\{back[0]})"  # in a group, so that a digit that follows is not read as part of it
        if named := re.compile("k<([^>]{0,80})>").match(self._source, self._at):
            self._at = named.end()
            return f"(?P={_ascii_name(named[1])})"
        return _written(self._escaped_ranges())

    def _escaped_ranges(self) -> Ranges:
        """What an escape stands for, in and outside of classes."""
        char = self._source[self._at:self._at + 1]
        if number := _NUMBER_ESCAPE.match(self._source, self._at):
            return self._number(number)
        if char in ("p", "P"):
            found = _PROPERTY.match(self._source, self._at)
            if not found:
                raise PatternProblem(f"\\{char} without {{a property}} at {self._at}")
            self._at = found.end()
            ranges = _property(found[1])
            return ranges if char == "p" else _complement(ranges)
        self._at += 1
        sets = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
        if char.lower() in sets and char:
            return sets[char] if char.islower() else _complement(sets[char.lower()])
        if char in _CONTROLS:
            return [(_CONTROLS[char], _CONTROLS[char])]
        if not char or (char.isascii() and char.isalnum()):
            raise PatternProblem(f"ECMA-262 knows no escape \\{char}")
        return [(ord(char), ord(char))]

    def _number(self, found: re.Match[str]) -> Ranges:
        self._at = found.end()
        code = ord(found[4]) % 32 if found[4] else int(found[1] or found[2] or found[3] or "0", 16)
        low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self._source, self._at)
        if found[2] and 0xD800 <= code < 0xDC00 and low:
            self._at = low.end()
            code = 0x10000 + (code - 0xD800) * 0x400 + int(low[1], 16) - 0xDC00
        if code > _TOP:
            raise PatternProblem(f"no character has the code {code:#x}")
        return [(code, code)]

    def _class(self) -> str:
        self._at += 1
        negated = self._source.startswith("^", self._at)
        self._at += negated
        ranges: Ranges = []
        while not self._source.startswith("]", self._at):
            first = self._class_item()
            if self._is_range(first):
                self._at += 1
                last = self._class_item()
                if len(last) == 1 and last[0][0] == last[0][1]:
                    if last[0][0] < first[0][0]:
                        raise PatternProblem(f"a range that runs backwards at {self._at}")
                    first = [(first[0][0], last[0][0])]
                else:
                    first = [*first, (45, 45), *last]
            ranges += first
        self._at += 1
        return _written(_complement(ranges) if negated else ranges)

    def _is_range(self, first: Ranges) -> bool:
        follows = self._source[self._at:self._at + 2]
        return len(first) == 1 and first[0][0] == first[0][1] and follows[:1] == "-" and follows[1:] not in ("", "]")

    def _class_item(self) -> Ranges:
        if self._at >= len(self._source):
            raise PatternProblem("a class that is not closed")
        char = self._source[self._at]
        self._at += 1
        if char != "\\":
            return [(ord(char), ord(char))]
        if self._source.startswith("b", self._at):
            self._at += 1
            return [(8, 8)]
        return self._escaped_ranges()


def _ascii_name(name: str) -> str:
    if not name.isidentifier() or not name.isascii():
        raise PatternProblem(f"the group name {name!r} is not an ASCII identifier", valid=name.isidentifier())
    return name


def _written(ranges: Ranges) -> str:
    """A class of these code points in Python's syntax; an empty one matches nothing."""
    if not ranges:
        return "(?!)"
    return f"[{''.join(_code(low) if low == high else f'{_code(low)}-{_code(high)}' for low, high in ranges)}]"


def _code(code: int) -> str:
    return f"\\U{code:08x}"


def _complement(ranges: Ranges) -> Ranges:
    left, begin = [], 0
    for low, high in sorted(ranges):
        if low > begin:
            left.append((begin, low - 1))
        begin = max(begin, high + 1)
    return [*left, (begin, _TOP)] if begin <= _TOP else left


def _property(name: str) -> Ranges:
    special = {"Any": [(0, _TOP)], "ASCII": [(0, 127)]}
    if name in special:
        return special[name]
    if name == "Assigned":
        return _complement(_categories()["Cn"])
    short = _CATEGORIES.get(name, name)
    wanted = ("Lu", "Ll", "Lt") if short == "LC" else tuple(key for key in _categories() if key.startswith(short))
    if short not in {*_CATEGORIES.values()}:
        raise PatternProblem(f"the Unicode property {name} is not supported, only general categories", valid=True)
    return [found for key in wanted for found in _categories()[key]]


@lru_cache(maxsize=1)
def _categories() -> dict[str, Ranges]:
    """General category -> code points, by the Unicode data of this Python."""
    found: dict[str, Ranges] = {}
    begin, current = 0, unicodedata.category("\0")
    for code in range(1, _TOP + 2):
        category = unicodedata.category(chr(code)) if code <= _TOP else ""
        if category != current:
            found.setdefault(current, []).append((begin, code - 1))
            begin, current = code, category
    return found
