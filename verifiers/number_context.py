r"""Whether what stands around a number makes it a part of something larger, or denies it.

Read from the text just before and just behind a number, in one notation (`number_text.plain`). Units, currencies and
words of prose may stand there. Signs, operators, functions, variables, letters with digits (`7h30m`), words that may be
multiples ("7 dozen", "7 score") and denials ("7 is wrong", "anything but 7") may not: `\sqrt 7`, "7 over 2", "not 7".

Known false negatives: dozens that are the unit asked for; units of one letter that is more often a variable (`7x` for
seven times); "7!" in a box for an exclamation. Known false positive: "7!" elsewhere is one.
Every pattern is bounded, and each is tried on at most `BEFORE` or `BEHIND` characters.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["BEFORE", "BEHIND", "FOREIGN_SCALES", "SPELLED", "stands_alone"]

BEFORE, BEHIND = 32, 48
"""Characters that are looked at."""

SPELLED = (r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
           r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)")
"""A word that begins a number."""

_MONEY = "$€£¥₹₩₽₱₫₺₦₴฿¢"
_OPERATORS = (r"(?:plus|minus|times|multiplied\sby|divided\sby|by|over|mod|modulo|choose|raised\sto"
              r"(?:\sthe\spower(?:\sof)?)?|to\sthe\spower(?:\sof)?)")
_TIME = r"(?:second|minute|hour|day|night|week|month|year|decade)s?"
_UNIT = r"(?:\s[a-z]{1,15})?"
_WRONG = (r"(?:wrong|incorrect|false|untrue|impossible|mistaken|unlikely"
          r"|too\s(?:high|low|big|small|large|many|much|few))(?![a-z])")

_JOINED_BEHIND = re.compile(rf"""
    [.,:'_][0-9] | _\{{ | \s?\.{{2,3}}\s?[0-9] | \s?\? | \s?[eE][-+]?[0-9]
  | \s?[)\]}}]?\s?[-+*/^±]\s?[{_MONEY}(\[]?\s?[-+]?[0-9.\\(√] | \s?[+*/]\s?{SPELLED}\b | \s?\^ | \s?[√\\±] | \+
  | \([0-9] | \s\(\s?[-+]?[0-9.,]{{1,20}}\s?\) | \s?[)\]}}]\s?[(\[{{]\s?[-+]?[0-9] | \s?\[\s?[-+]?[0-9]
  | \s?[-+*/]\s?[b-hj-zB-HJ-Z](?![A-Za-z])
  | (?![mgshdwtlpcLVWAJNCF])[A-Za-z](?![A-Za-z'])                   # glued: a unit of one letter, else a variable
  | (?!(?:[cdkm]?m|ft|in|yd|mi)[23](?![0-9]))[A-Za-z]{{1,6}}[0-9]   # 7h30m, 7ft6in, 7R2; but 72cm2 is an area
  | \s[eijnxyzNXYZ](?![A-Za-z']) | \s?[\u0391-\u03a8\u03b1-\u03bb\u03bd-\u03c9] | \s?x\s?[0-9(]
  | \s(?:with\s)?(?:an?\s)?(?:[rR]|rem|remainder)\.?\s?(?:of\s)?[0-9] | \s?\(?(?:mod|base)\s[0-9]
  | \s(?!over\s[0-9]{{1,9}}\s(?:more\s)?{_TIME}){_OPERATORS}\s[(-]?(?:[0-9{_MONEY}]|{SPELLED}\b)
  | \sto\sthe\s(?:[a-z0-9]{{1,12}}\spower|(?:second|third|fourth|fifth|[0-9]{{1,3}}(?:st|nd|rd|th))\b)
  | \s(?:squared|cubed|factorial)(?![a-z]) | \s?(?:sqrt|pi)(?![a-z]) | \s?(?:root|log|ln|sin|cos|tan|exp)\s?[(0-9]
""", re.VERBOSE)
FOREIGN_SCALES = (
    "mille", "milliers?", "millionen", "millioni", "milion[ei]", "milh[aã]o", "milh[oõ]es", "milioane", "miljoen",
    "miljoner", "milyon", "millones", "milliarden?", "milliard[io]", "millardos?", "miljard", "miljarder", "milyar",
    "milliards?", "tausend", "hundert", "tusen", "tusind", "duizend", "honderd", "mila", "cento", "cien(?:tos)?",
    "centaines?", "centinaia", "centinaio", "dutzende?", "dutzend", "dozijn", "dussin", "dusin", "docenas?", "decenas?",
    "d[uú]zias?", "dezenas?", "dozzin[ae]", "douzaines?", "dizaines?", "vingtaines?", "ribu", "juta", "tuhat",
    "tysi[aą]c[ey]?", "tysi[eę]cy", "tuzin(?:y|ów)?", "schock", "tsd", "mio", "mrd")
"""Multiples in other languages, as patterns. Not `miles`, `bin`, `mil`, which are English words or units too."""

_MULTIPLE_BEHIND = re.compile(rf"""
    \shal(?:f|ves)(?![a-z]) | \spoint\s(?:[0-9]|{SPELLED}) | [个個]半
  | [ -](?:eleven|twelf|(?:thir|four|fif|six|seven|eigh|nine)teen|[a-z]{{3,6}}tie|[a-z]{{1,5}}illion)ths?(?![a-z])
  | \sand\s(?:a\s(?:bit|little|fraction|few)|some|change)(?![a-z])
  | \s?(?:dozens?|doz|tens|score|gross|[lL]acs?|cr|bil|mill?|trn|tn|MM|Mn|mio|mrd|[KMBT])(?![A-Za-z&])
  | \s?(?:quadrillions?|quintillions?|mill[oó]n(?:es)?)(?![A-Za-z])
  | \s(?i:{"|".join(FOREIGN_SCALES)})(?![A-Za-zà-ÿ]) | \s(?:тыс\w{{0,4}}|милли\w{{2,5}}|дюжин\w{{0,2}})
  | \s?[万萬亿億兆百半만억] | \s?千(?!克|米|瓦)
  | \s?(?:%|per\s?cent)\sof\s(?:(?:an?|the|these|those|all|his|her|its|their|my|our)\s){{0,2}}
    (?:[{_MONEY}]?[0-9]|{SPELLED}\b)
  | (?:\s?%|\sper\s?cent)?\s(?:more|less|fewer|greater|higher|lower|times\s(?:as|more|less|the))\s?
    (?:[a-z]{{1,12}}\s)?than\s[{_MONEY}]?[0-9]
  | \stimes\sas\s
""", re.VERBOSE)
_DENIED_BEHIND = re.compile(rf"""
    {_UNIT}\s(?:is|was)(?:\snot|n't)\s(?:the|my|it|right|correct|true)\b | \s(?:is|was)(?:\snot\b|n't\b)
  | {_UNIT}\s(?:is|are|was|were|would\sbe|seems?|looks?)\s(?:[a-z]{{1,12}}\s){{0,2}}{_WRONG}
  | {_UNIT}\s(?:can(?:not|\snot|'t)|couldn't|could\snot)\sbe\b
  | \s?[-(,:\u2013\u2014]\s?(?:wrong|incorrect|false|no(?=[.!)]|\s*\Z))\b | \s?[✗✘❌✖☒]
  | \sif\s[^\n]{{1,30}}\b(?:else|otherwise)\b
""", re.VERBOSE)

_HARMLESS = (r"(?:Rightarrow|rightarrow|[Ll]ongrightarrow|implies|iff|to|therefore|sim|cong|equiv|item|text[a-z]{0,2}"
             r"|math(?:rm|bf|it|sf)|bold(?:symbol)?|bm|bf|rm|it|underline|f?boxed|fbox|large|Large|LARGE|huge|Huge|color|pounds|euro|yen)")
_JOINED_BEFORE = re.compile(rf"""(?:
    [0-9][.,:'_] | [!<>/~]=\s? | [-+] | [0-9)\]}}{_MONEY}A-Za-z%]\s?[*/+^]\s?[({_MONEY}]* | \)\s?- | [√^±<≤≥]\s?
  | (?<![=-])>\s? | [0-9]\s?x\s? | [0-9]\) | [)0-9]\s?\[ | \)\s?\( | [A-Za-z0-9]_\{{?\s? | /\s?
  | \\(?!{_HARMLESS}(?![A-Za-z]))[A-Za-z]{{1,20}}(?:\[[^\[\]]{{0,9}}\])?\s?[(\[{{]{{0,3}}\s? | [A-Za-z_]\(
  | \b(?:sqrt|cbrt|log|ln|lg|(?:arc)?(?:sin|cos|tan|cot)h?|csc|exp|abs|mod|gcd|lcm|floor|ceil)\s?[(\[{{]?\s?
  | \(\s?[-+]\s?\)\s? | [-+]\s?~\s? | [-+][({{\[|]{{1,3}}\s? | (?<![A-Za-z]\s)[-+]\s[({{\[]{{1,3}}\s?
  | (?:[0-9]|{SPELLED})\s{_OPERATORS}\s | [0-9]\s(?:[rR]|rem|remainder)\.?\s?(?:of\s)?
  | (?:\A\s?|{SPELLED}\s|[0-9]\s)point\s | \b(?:[Mm]inus|[Nn]egative)\s[({{\[]{{1,3}}\s? | \bneg\.?\s
  | (?i:half|third|fourth|fifth|tenth|quarter|percent|root|square|cube|sum|product|difference|halves|thirds|quarters|%
       |inverse|reciprocal|opposite|negative|logarithm|log|factorial|absolute\svalue|multiples?|divisors?|powers?
       |logarithms?|roots|squares|cubes)\s(?:of|between)\s[{_MONEY}]?
  | \b(?i:divisible|multiplied|divided)\sby\s[{_MONEY}]?
  | \b(?i:quarter\s(?:to|past|after|till)|half\spast|(?:congruent|proportional)\sto)\s
  | \blog\s[a-z0-9\s]{{1,12}}\sof\s | \btimes\sas\s[a-z]{{1,8}}\sas\s
  | \b(?:twice|thrice|double|triple|than|half)\s[{_MONEY}]?
)\Z""", re.VERBOSE)
_DENIED_BEFORE = re.compile(rf"""(?:
    \b(?:wrong|incorrect|false)(?:\s(?:answer|result|value|number|total|guess))?\s?(?::|=|\sis|\swas)\s?
  | (?:\bnot|n't|\b(?:is|was|are|ai|ca|do|does|wo)nt|\bnon?|\bnever|\bcannot|\bneither|\bnor|thing\sbut|\ball\sbut
       |\bexcept(?:\sfor)?|\bexcluding|\binstead\sof)
    \s(?:be\s|equal\s(?:to\s)?|equals\s|exactly\s|simply\s|just\s)?[{_MONEY}({{\[]{{0,3}}\s?
)\Z""", re.VERBOSE | re.IGNORECASE)

_RESULT_SIGNS = "→⇒⟹⟶≈≃≅\u223c∴≡"
"""Symbols that a result may follow, or that may follow it."""
_DASHES = "\u2043\u2500\u2501"
"""Characters that look like a minus and are none by their category."""


def stands_alone(before: str, behind: str) -> bool:
    """Whether a number between the two is meant by itself."""
    before = before[-BEFORE:]
    return not (_goes_on(behind[:BEHIND]) or _JOINED_BEFORE.search(before) or _DENIED_BEFORE.search(before)
                or _ends_in_a_sign(before))


def _goes_on(behind: str) -> bool:
    bare = behind.lstrip(")]}")  # \boxed{7} is wrong
    if _JOINED_BEHIND.match(behind) or any(pattern.match(bare) for pattern in (
            _JOINED_BEHIND, _MULTIPLE_BEHIND, _DENIED_BEHIND)):
        return True
    return _is_symbol(behind.removeprefix(" ")[:1])


def _ends_in_a_sign(before: str) -> bool:
    """A sign that is no plain minus: `⊖7`, `¬7`, `∛7`, and a dash glued to the number alone (`—7`)."""
    last = before[-1:]
    if before.isascii() or not last:
        return False
    is_dash = last != "-" and (unicodedata.category(last) == "Pd" or last in _DASHES)
    return (is_dash and not before[-2:-1].isalnum()) or _is_symbol(before.rstrip(" ")[-1:])


def _is_symbol(char: str) -> bool:
    """Whether it is a sign of mathematics beyond ASCII, which joins the number to something."""
    return char > "\x7f" and char not in _RESULT_SIGNS and (
        unicodedata.category(char) in ("Sm", "Sk", "No") or char == "\u2796")
