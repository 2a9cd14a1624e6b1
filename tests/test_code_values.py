"""Values between candidate, host and tests: what travels, what is refused, and when two of them are the same."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from reasongym.verifiers.code.answers import NONSENSE, Kind, read_loaded, read_returned
from reasongym.verifiers.code.comparing import Comparison, same, shown
from reasongym.verifiers.code.inside.values import MAX_ITEMS, NotPlain, decode, encode
from reasongym.verifiers.code.judgement import legible
from reasongym.verifiers.code.output import difference

EXACT = Comparison()
FLOAT = Comparison("float", 1e-6)


class LyingInt(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class LyingList(list[int]):
    def __iter__(self) -> Any:
        return iter([1, 2, 3])


@pytest.mark.parametrize("value", [
    None, True, False, 0, -1, 255, -256, 10**400, -(2**64), 0.1, -0.0, math.inf, "", "ä\n\0", "\ud800", b"\xff", 1 + 2j,
    [], [[], ()], (1, (2,)), {}, {"a": [1], 2: None, (1, "x"): {3}}, {1, "1"}, frozenset({None}), Fraction(-3, 7),
    Decimal("1.50"), [True, 1, 1.0], Counter("aab"), OrderedDict(b=1, a=2), defaultdict(list, {1: [2]}),
    defaultdict(None, {1: 2}), deque([1, [2]]), deque([1], 3)], ids=lambda value: f"{value!r:.30}")
def test_what_travels_arrives_as_the_same_types(value: object) -> None:
    arrived = decode(encode(value))
    assert repr(arrived) == repr(value)  # 1, 1.0 and True are equal, their reprs are not
    assert type(arrived) is type(value)


def test_a_factory_of_its_own_does_not_travel_where_a_value_has_to_arrive_exactly() -> None:
    """A test would hand over a defaultdict, and the program get a dict that raises KeyError."""
    value = defaultdict(lambda: 0, {1: 2})
    assert type(decode(encode([value]))[0]) is dict  # type: ignore[index]
    with pytest.raises(NotPlain, match="a factory of its own"):
        encode([value], exact=True)


def test_containers_of_collections_are_the_same_as_what_they_hold() -> None:
    values = [Counter("aab"), OrderedDict(x=1), defaultdict(list, {1: [2]}), deque([1, 2])]
    plain = [{"a": 2, "b": 1}, {"x": 1}, {1: [2]}, [1, 2]]
    for how in (EXACT, FLOAT, Comparison("case_insensitive"), Comparison("unordered")):
        assert same(plain, values, how)
        assert all(same(one, other, how) for one, other in zip(plain, values, strict=True))
    assert not same([1, 2], deque([2, 1]), EXACT)


def deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
DOUBLING: list[Any] = []
for _ in range(60):
    DOUBLING = [DOUBLING, DOUBLING]  # 2**60 items, in 60 lists


@pytest.mark.parametrize("value", [
    LyingInt(3), LyingList([9]), type("Str", (str,), {})("x"), namedtuple("Pair", "a b")(1, 2), (i for i in ()),
    range(3), object(), len, int, deep(105), deep(10**5), CYCLE, DOUBLING, 1 << 10**6, "x" * (5 * 2**20),
    memoryview(b""), bytearray(b""), [LyingInt(3)], {LyingInt(3): 1}], ids=lambda value: type(value).__name__)
def test_what_is_not_plain_does_not_travel(value: object) -> None:
    with pytest.raises(NotPlain):
        encode(value)


def sized(tag: bytes, count: int, content: bytes = b"") -> bytes:
    return tag + struct.pack(">I", count) + content


@pytest.mark.parametrize("data", [
    b"", b"x", b"i", b"NN", sized(b"s", 2**31), sized(b"l", 2**32 - 1, b"N" * 9), sized(b"i", 0),
    sized(b"s", 1, b"\xff"), sized(b"e", 1, sized(b"l", 0)), sized(b"e", 2, b"TT"), sized(b"d", 1, b"T"),
    sized(b"l", 1) * 5000 + b"N",
    b"q" + encode(1) + encode(0), b"q" + encode("1") + encode("x"), b"m" + encode("one"), b"m" + encode([1]),
    sized(b"e", 2, encode(1) + encode(True)), sized(b"i", 2**20, b"\1" * 2**20),
    b"q" + encode("1e50000") + b"N", b"q" + encode(0.5) + encode(1), b"q" + encode(2) + encode(4),
    b"q" + encode(1) + encode(-2), b"q" + encode(1 << 9000) + encode(1), b"q" + encode(Decimal("1E+300000000")) + b"N",
    b"m" + encode(5), b"m" + encode("1e5"), b"m" + encode(" 1"), b"m" + encode("1_0"), b"m" + encode("1E+9" + "9" * 30),
    sized(b"i", 2, b"\0\1"), sized(b"i", 2**14, b"\x80" + bytes(2**14 - 1)), sized(b"l", 1) * 105 + b"N",
    sized(b"t", 2, sized(b"b", 2**22, bytes(2**22)) + b"N"), sized(b"e", 1, b"m" + encode("sNaN")),
    sized(b"u", 2, b"NN") + encode(1), sized(b"u", 0) + encode(2**70), sized(b"u", 0) + encode(True),
    sized(b"u", 1, b"N"), sized(b"g", 0) + encode("eval"), sized(b"g", 0) + encode([]), sized(b"g", 0),
    sized(b"k", 1, b"N"), sized(b"o", 2, b"NNNN")], ids=range(43))
def test_forged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        decode(data)


def test_what_is_taken_can_be_sent_on() -> None:
    """A value that the host reads and cannot write again would fail on the way to the tests: at the host's cost."""
    chance = random.Random(0)
    values = [1, -256, (2.5, "ä")], {"a": {1, 2}, -1: b"x"}, [Fraction(1, 3), Decimal(2)]
    written = [encode(value) for value in values]
    taken = 0
    for _ in range(3000):
        data = bytearray(chance.choice(written))
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.choice(b"NTFifcsbltezdqm\0\1\2\x80\xff")
        try:
            value = decode(bytes(data))
        except ValueError:
            continue
        assert repr(decode(encode(value))) == repr(value)
        taken += 1
    assert taken > 100


def test_a_value_of_many_small_items_is_bounded() -> None:
    with pytest.raises(ValueError, match="items"):
        decode(sized(b"l", 2, sized(b"l", MAX_ITEMS - 1, b"N" * (MAX_ITEMS - 1)) * 2))


@pytest.mark.parametrize("member", [
    lambda n: encode(1 + n * (2**61 - 1)), lambda n: b"q" + encode(1 + 2 * n * (2**61 - 1)) + encode(2),
    lambda n: encode((1 + n * (2**61 - 1), "x" * 500)), lambda n: encode(Decimal(1 + n * (2**61 - 1)))],
    ids=["int", "Fraction", "tuple", "Decimal"])
def test_keys_chosen_to_collide_are_refused(member: Callable[[int], bytes]) -> None:
    """Hashes of numbers repeat at 2**61 - 1: a set of 5,000 such Fractions took 20 s to build."""
    forged = sized(b"e", 2000, b"".join(map(member, range(2000))))
    with pytest.raises(ValueError, match="hashes are equal"):
        decode(forged)


def test_large_sets_and_dicts_travel_and_so_do_hashes_that_are_equal_by_nature() -> None:
    values: list[object] = [set(range(100_000)), {str(n): n for n in range(50_000)},
                            set(itertools.product((-1, -2), repeat=6))]  # 64 tuples, one hash
    for value in values:
        assert decode(encode(value)) == value
    with pytest.raises(NotPlain, match="items"):
        encode(set(range(MAX_ITEMS + 1)))


@pytest.mark.parametrize(("expected", "got", "is_same"), [
    (1, 1, True), (1, True, False), (True, 1, False), (1, 1.0, False), (1.0, 1, False), (0.0, -0.0, True),
    (math.nan, math.nan, True), (math.nan, 1.0, False), (1.0, math.nan, False), ([1, 2], (1, 2), True),
    ([1, 2], [2, 1], False), ([1], [1, 1], False), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ({"1": 1}, {1: 1}, False), ({1, 2}, {2, 1}, True), ([1, 2], {1, 2}, False), ("1", 1, False),
    (b"a", "a", False), ([], {}, False),
    ([["a"], ["b"]], [["a", "b"]], False), (None, False, False), ([None], None, False)])
def test_exact_is_by_type(expected: object, got: object, is_same: bool) -> None:
    assert same(expected, got, EXACT) is is_same


@pytest.mark.parametrize(("expected", "got", "is_same"), [
    (1000000, 1000001, False), (1000000.0, 1000000.5, True), (0.1 + 0.2, 0.3, True), (2, 2.0, True), (2.0, 2, True),
    (1.0, True, False), (0, 1e-7, True), (0, 1e-5, False), (1e-9, 2e-9, False), (10**400, 10**400 + 1, False),
    (1.0, 10**400, False), (math.inf, math.inf, True), (math.inf, 1e308, False), (math.nan, 0.0, False),
    ([0.3, {"x": 1.0}], (0.1 + 0.2, {"x": 1}), True), ({"x": 1.0}, {"x": 1.0, "y": 1.0}, False), (1.0, "1.0", False)])
def test_a_tolerance_is_relative_and_never_for_whole_numbers(expected: object, got: object, is_same: bool) -> None:
    assert same(expected, got, FLOAT) is is_same


def test_other_comparisons_loosen_what_they_name_and_no_more() -> None:
    case, order = Comparison("case_insensitive"), Comparison("unordered")
    assert same(["Yes"], ["YES"], case)
    assert not same({"A": 1}, {"A": 1, "a": 1}, case)
    assert not same("Yes", "Yes!", case)
    assert same([[1, 2], [3]], [[3], [1, 2]], order)
    assert not same([[1, 2]], [[2, 1]], order)
    assert not same([1, 1, 2], [1, 2, 2], order)
    assert not same([1], [True], order)


@pytest.mark.parametrize(("expected", "got", "is_right"), [
    ("1\n2\n", b"1\n2", True), ("1\n2", b"1  \r\n2\t\n\n\n", True), ("1\n2", b"1\n2\n3", False), ("1\n2", b"1", False),
    ("1\n2", b"junk\n1\n2", False), ("1", b" 1", False), ("YES", b"yes", False), ("3", "\uff13".encode(), False),
    ("1000", b"1_000", False), ("1", b"\xff", False), ("", b"", True), ("", b"0", False), ("a\n\nb", b"a\nb", False)])
def test_output_is_compared_line_by_line(expected: str, got: bytes, is_right: bool) -> None:
    assert (difference(expected, got, EXACT) == "") is is_right


@pytest.mark.parametrize(("expected", "got", "is_right"), [
    ("1000000", b"1000001", False), ("0.3333333", b"0.33333333", True), ("x 1.0 y", b"x 1.0000001 y", True),
    ("1.0", b"1", True), ("1.0", "\uff11.0".encode(), False), ("1000.0", b"1_000.0", False), ("1e999", b"1e998", False),
    ("1.0", b"inf", False), ("1.0 2.0", b"1.0", False), ("nan", b"nan", True)])
def test_output_with_a_tolerance_reads_ascii_decimals_alone(expected: str, got: bytes, is_right: bool) -> None:
    assert (difference(expected, got, FLOAT) == "") is is_right


def test_output_in_any_order_or_case() -> None:
    assert difference("a\nb", b"b\na", Comparison("unordered")) == ""
    assert difference("a\nb", b"b\nb", Comparison("unordered"))
    assert difference("Yes", b"YES", Comparison("case_insensitive")) == ""


def test_a_value_that_cannot_be_written_out_is_still_shown() -> None:
    assert "int" in shown(10**5000)  # Python writes at most 4,300 digits
    unordered: Any = {"a": Decimal("sNaN"), "b": Decimal(1)}
    assert "Counter" in shown(Counter(unordered))
    assert len(shown("x" * 1000)) == 80


ENDED = ("ended", 0, 0.0, encode(("value", 2)))


@pytest.mark.parametrize("said", [
    None, 5, b"", (), ("ended",), ("ended", -1, 0.0, b""), ("ended", 0x137F, 0.0, b""), ("ended", 10**30, 0.0, b""),
    ("ended", 0xFFFF, 0.0, b""), ("ended", 0, math.nan, b""), ("ended", 0, math.inf, b""), ("ended", 0, -1.0, b""),
    ("ended", 0, 0, b""), ("ended", 0.0, 0.0, b""), ("ended", 0, 0.0, "text"), ("loaded", 0), (*ENDED, 1)])
def test_what_a_candidate_may_say_of_a_call_is_an_answer_whatever_it_is(said: object) -> None:
    """An error of the host's would let an answer leave its group when it pleases."""
    assert read_returned(said, 1.0) == NONSENSE
    assert read_loaded(said, 1).kind is (Kind.VALUE if said == ("loaded", 0) else Kind.DIED)


@pytest.mark.parametrize(("said", "kind"), [
    (ENDED, Kind.VALUE), (("ended", 9, 0.0, b""), Kind.DIED), (("ended", 9, 0.6, b""), Kind.TIMEOUT),
    (("ended", 24, 0.0, b""), Kind.TIMEOUT), (("ended", 256, 0.0, b""), Kind.DIED), (("ended", 0, 0.0, b""), Kind.DIED),
    (("ended", 0, 0.0, b"x"), Kind.DIED), (("ended", 0, 1.5, encode(("value", 2))), Kind.TIMEOUT),
    (("ended", 0, 0.0, encode(("raised", "E" * 10**6, "E", "x" * 10**6, ()))), Kind.RAISED)])
def test_how_a_call_ended(said: object, kind: Kind) -> None:
    answer = read_returned(said, 1.0)
    assert answer.kind is kind
    assert len(answer.described) <= 402


def test_no_reason_is_long_or_moves_a_cursor() -> None:
    assert legible("a\x1b[2J\r\nb\0\ud800\u202e") == r"a\x1b[2J\r\nb\x00\ud800\u202e"
    assert len(legible("\0" * 10**6)) <= 500
