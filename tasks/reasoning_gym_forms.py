"""In what form an answer that is not the gold one reaches a scorer of reasoning-gym, and is believed when it does.

Most generators have one right answer, and their scorers see to it loosely: `word_sorting` takes the gold list and
anything behind it, `sokoban` every letter that is no move, `time_intervals` whatever follows the first number. So a
scorer has a say about another answer than the gold one only where several answers, or several notations, are right:
the generators of `_FORMS`. Each stands there with the form that holds nothing beside one answer; what that form cannot
hold, the scorer never decides. A generator that is not listed, as one of a later version, is held to its gold answer.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

__all__ = ["json_values", "may_differ"]

Entry = Mapping[str, Any]
Form = Callable[[str, Entry], bool]
"""Whether a text without white space at its ends is one answer to that entry."""

_N = r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?"
_NUMBER = re.compile(_N)
_LONGEST = 300
_OPERATIONS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_CLOCK = r"[0-9]{1,4}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{3})?)?"
_INHABITANT = re.compile(r"([A-Za-z]{1,30}) is an? [a-z]{1,20}", re.IGNORECASE)
_CENT, _MILLIONTH = Fraction(1, 100), Fraction(1, 10**6)


def may_differ(generator: str, answer: str, entry: Entry) -> bool:
    """Whether the generator's scorer is believed when it takes this answer, though it is not the gold one."""
    form = _FORMS.get(generator)
    return form is not None and form(answer.strip(), entry)


def json_values(text: str) -> object:
    """JSON, or Python's lists of it in single quotes, with numbers as exact values that are equal to no bool.

    Raises ValueError for anything else, for keys that stand twice, NaN, infinities and exponents above 999.
    """
    return json.loads(text.replace("'", '"'), parse_int=_exact, parse_float=_exact, parse_constant=_exact,
                      object_pairs_hook=_without_repeats)


def _exact(text: str) -> tuple[str, Fraction]:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"no number that is read: {text[:40]}")
    return "number", Fraction(text)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _text(pattern: str, flags: int = 0) -> Form:
    compiled = re.compile(pattern, flags)
    return lambda answer, entry: compiled.fullmatch(answer) is not None


def _list_of(item: str) -> Form:
    """A JSON list of texts of one pattern."""
    compiled = re.compile(item)

    def holds(answer: str, entry: Entry) -> bool:
        try:
            found = json.loads(answer)
        except (ValueError, RecursionError):
            return False
        return isinstance(found, list) and all(isinstance(text, str) and compiled.fullmatch(text) for text in found)

    return holds


def _values(answer: str) -> Any:
    try:
        return json_values(answer)
    except (ValueError, RecursionError):
        return None


def _groups(answer: str, entry: Entry) -> bool:
    """Lists of texts, as many as the gold answer has: `palindrome_partitioning` compares sets."""
    found = _values(answer)
    return isinstance(found, list) and len(found) == len(json.loads(entry["answer"])) and all(
        isinstance(group, list) and all(isinstance(text, str) for text in group) for group in found)


def _colors(answer: str, entry: Entry) -> bool:
    """A color for each vertex, and for nothing else."""
    found = _values(answer)
    vertices = {str(vertex) for vertex in entry["metadata"]["puzzle"]["vertices"]}
    return isinstance(found, dict) and set(found) == vertices \
        and all(isinstance(color, tuple) for color in found.values())


def _moved_boxes(answer: str, entry: Entry) -> bool:
    """`boxnet`: rounds of moves, each an agent's."""
    found = _values(answer)
    agent = re.compile(r"Agent\[[0-9.]{1,9}, [0-9.]{1,9}\]")
    move = re.compile(r"move\(box_[a-z]{1,20}, (?:square\[[0-9.]{1,9}, [0-9.]{1,9}\]|target_[a-z]{1,20})\)")
    return isinstance(found, list) and all(isinstance(turn, dict) and all(
        agent.fullmatch(key) and isinstance(value, str) and move.fullmatch(value) for key, value in turn.items())
        for turn in found)


def _letters(answer: str, entry: Entry) -> bool:
    """`cryptarithm`: A=1,B=2, no letter twice, for its scorer keeps the last."""
    pairs = [pair.strip() for pair in answer.split(",")]
    return all(re.fullmatch(r"[A-Z]\s?=\s?[0-9]", pair) for pair in pairs) and \
        len({pair[0] for pair in pairs}) == len(pairs)


def _sorted_numbers(answer: str, entry: Entry) -> bool:
    """`number_sorting`: the numbers of the gold list, which its scorer compares within 1."""
    both = []
    for text in (answer, str(entry["answer"])):
        found = _values(text)
        if not isinstance(found, list):
            return False
        both.append([_values(item) if isinstance(item, str) else item for item in found])
    return both[0] == both[1] and all(isinstance(item, tuple) for item in both[0])


def _inhabitants(answer: str, entry: Entry) -> bool:
    """`knights_knaves`: its scorer drops words that are no role. Every name once, as many as the gold answer has."""
    said, gold = (_INHABITANT.findall(text) for text in (answer, str(entry["answer"])))
    between = _INHABITANT.sub("", answer)
    return len({name.casefold() for name in said}) == len(said) == len(gold) and \
        re.fullmatch(r"(?:,? and |, )*\.?", between, re.IGNORECASE) is not None


def _pooled(answer: str, entry: Entry) -> bool:
    """`pool_matrix`: asked for two decimals, and its scorer compares within a hundredth of the value."""
    rows, gold = ([line.split() for line in text.splitlines()] for text in (answer, str(entry["answer"])))
    return [len(row) for row in rows] == [len(row) for row in gold] and all(
        _NUMBER.fullmatch(mine) and abs(Fraction(mine) - Fraction(right)) <= _CENT
        for row, golds in zip(rows, gold, strict=True) for mine, right in zip(row, golds, strict=True))


def _digits(answer: str, entry: Entry) -> bool:
    """`decimal_arithmetic`: asked for 12 digits, and its scorer compares within a unit of the third decimal."""
    gold = Fraction(str(entry["answer"]))
    return _NUMBER.fullmatch(answer) is not None and abs(Fraction(answer) - gold) <= _MILLIONTH * abs(gold)


def _span(answer: str, entry: Entry) -> bool:
    """`time_intervals`: days, a time of day, or both, as the gold answer has them."""
    form = re.fullmatch(rf"(?:[0-9]{{1,6}}(?: days?)?(?:, {_CLOCK})?|{_CLOCK})", answer)
    return form is not None and (":" in answer) == (":" in str(entry["answer"]))


def _expression_for(numbers: str, target: str) -> Form:
    """Arithmetic with just these numbers of the metadata that gives the target, exactly: scorers cut 24.5 to 24."""
    plain = re.compile(r"(?:[0-9]{1,9}|\*(?!\*)|/(?!/)|[-+()\s])+")

    def holds(answer: str, entry: Entry) -> bool:
        known = entry["metadata"]
        if len(answer) > _LONGEST or not plain.fullmatch(answer):
            return False
        try:
            value = _value(ast.parse(answer.replace("\n", " "), mode="eval").body)
        except (SyntaxError, ValueError, ArithmeticError):
            return False
        used = sorted(int(number) for number in re.findall("[0-9]+", answer))
        return used == sorted(known[numbers]) and value == known.get(target, 24)

    return holds


def _value(node: ast.expr) -> Fraction:
    """Of sums, products and quotients of whole numbers. Raises ValueError for anything else."""
    match node:
        case ast.Constant(value=int(number)):
            return Fraction(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_value(left), _value(right))
    raise ValueError("no arithmetic")


_MOVES = r"(?:{0})(?:\s+(?:{0}))*+"
_FORMS: Mapping[str, Form] = {
    "advanced_geometry": _text(rf"{_N}\s?\u00b0?|\(\s?{_N}\s?,\s?{_N}\s?\)"),
    "bitwise_arithmetic": _text(r"[-+]?(?:0x[0-9a-f]{1,40}|[0-9]{1,40})", re.IGNORECASE),
    "boxnet": _moved_boxes,
    "complex_arithmetic": _text(r"[-+0-9.ijIJ\s()]{1,100}"),
    "countdown": _expression_for("numbers", "target"),
    "cryptarithm": _letters,
    "decimal_arithmetic": _digits,
    "graph_color": _colors,
    "group_anagrams": _groups,
    "intermediate_integration": _text(r"[\s\S]+"),  # an expression, or it would not be scored at all
    "jugs": _list_of(r"(?:fill|empty) [A-Z]|pour [A-Z]->[A-Z]"),
    "kakurasu": _text(r"[01\s]+"),
    "knight_swap": _list_of(r"[wB],[A-Z][0-9],[A-Z][0-9]"),
    "knights_knaves": _inhabitants,
    "n_queens": _text(r"[Q_\s]+"),
    "number_format": _text(rf"{_N}|[-+]?[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,12}}(?:\.[0-9]{{0,40}})?"),
    "number_sorting": _sorted_numbers,
    "palindrome_generation": _text(r"[A-Za-z]+"),
    "palindrome_partitioning": _groups,
    "polynomial_equations": _text(rf"{_N}(?:\s?,\s?{_N}){{0,20}}"),
    "polynomial_multiplication": _text(r"[\s\S]+"),
    "pool_matrix": _pooled,
    "power_function": _text(_N),
    "prime_factorization": _text(r"[0-9]{1,40}(?:\s?\u00d7\s?[0-9]{1,40}){0,100}"),
    "propositional_logic": _text(r"[A-Z\u2227\u2228\u2192\u2194\u00ac\s()]+"),
    "puzzle24": _expression_for("numbers", "24"),
    "quantum_lock": _text(r"[ABC](?:\s?(?:\u2192|->|,)?\s?[ABC]){0,200}"),
    "rubiks_cube": _text(_MOVES.format(r"[UDLRFBMESudlrfbxyz]w?[2-9]?'?[2-9]?")),
    "rush_hour": _text(_MOVES.format(r"[A-Z][-+][0-9]{1,2}")),
    "shortest_path": _text(_MOVES.format(r"up|down|left|right")),
    "simple_integration": _text(r"[\s\S]+"),
    "sokoban": _text(r"[UDLR]+"),
    "time_intervals": _span,
    "tower_of_hanoi": _text(r"Move disk [0-9]{1,2} from Peg [0-9]{1,2} to Peg [0-9]{1,2}"
                            r"(?:\s*\nMove disk [0-9]{1,2} from Peg [0-9]{1,2} to Peg [0-9]{1,2})*+"),
    "word_ladder": _text(r"[A-Za-z]{1,30}(?:\s?,\s?[A-Za-z]{1,30}){0,200}"),
}
"""Generator -> the form in which its scorer may take another answer than the gold one."""
