"""Plain values as bytes and back, exactly: all that crosses between a candidate, the host and the tests.

A value is a tag, then what the tag says; a size or count is 4 bytes, big endian.

    N T F            None, True, False
    i size bytes     int, signed, big endian        f 8 bytes, c 16 bytes    float, complex
    s size bytes     str in UTF-8, lone surrogates included                  b size bytes    bytes
    l t count items  list, tuple                    e z count items          set, frozenset
    d count pairs    dict                           q two ints    Fraction   m a str    Decimal
    o k count pairs  OrderedDict, Counter           g count pairs, the factory's name or None      defaultdict
    u count items, the greatest length or None      deque

Only exact types: an instance of a subclass is not plain, however it describes itself. A defaultdict whose factory is
none of FACTORIES travels as the dict it holds, or, where the value has to arrive `exact`, not at all.
What is decoded was written by an adversary: every size is bounded before it is used, and all that `encode` would not
have written is a ValueError, so that what one side takes the next can be sent: an int in more bytes than it needs, a
Fraction of texts, a Decimal that Python writes otherwise.
"""

from __future__ import annotations

import struct
import sys

__all__ = ["MAX_BYTES", "MAX_MESSAGE", "NotPlain", "decode", "encode"]

TYPE_CHECKING = False  # as in `channel`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MAX_BYTES = 4 * 2**20
MAX_MESSAGE = MAX_BYTES + 2**16
"""A value and what is said around it."""
MAX_DEPTH = 104
"""100 of a value, and what a message puts around it."""
MAX_INT_BYTES = 2**14
MAX_FRACTION_BYTES = 2**10
"""Of each part: to see that they have no common divisor takes the square of their size."""
MAX_ITEMS = 200_000
"""Of a whole value, in all its containers; a million take the host about 5 s."""
MAX_ALIKE = 2 * 2**20
"""Bytes of keys and set members whose hashes are equal, each counted once for every one that it may be compared with:
chosen so, n of them cost n**2 comparisons to rebuild. Of Fractions, whose comparison is the slowest, about 0.2 s."""

FACTORIES = {kind.__name__: kind for kind in (bool, complex, dict, float, frozenset, int, list, set, str, tuple)}
"""Of a defaultdict, by name."""

_TAGS: dict[object, bytes] = {list: b"l", tuple: b"t", set: b"e", frozenset: b"z"}
_KEYED = {"collections.OrderedDict": b"o", "collections.Counter": b"k", "collections.defaultdict": b"g"}


class NotPlain(ValueError):
    """A value that does not travel; the message says which part of it, in a few words."""


def encode(value: object, *, limit: int = MAX_BYTES, exact: bool = False) -> bytes:
    """Raises NotPlain for other types than those above, and beyond the bounds (a cycle is too deep)."""
    writer = _Writer(limit, exact)
    writer.write(value, 0)
    if len(writer.out) > limit:
        raise NotPlain(f"a value of more than {limit} bytes")
    return bytes(writer.out)


class _Writer:
    def __init__(self, limit: int, exact: bool) -> None:
        self.out = bytearray()
        self._limit = limit
        self._exact = exact
        self._num_items = 0

    def write(self, value: object, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise NotPlain("a value nested more than 100 deep")
        if len(self.out) > self._limit:
            raise NotPlain(f"a value of more than {self._limit} bytes")
        if type(value) in _TAGS:
            self._begin(_TAGS[type(value)], value)
            for item in value:  # type: ignore[attr-defined]
                self.write(item, depth + 1)
        elif type(value) is dict:
            self._pairs(b"d", value, depth)
        elif not self._scalar(value):
            self._other(value, depth)

    def _pairs(self, tag: bytes, value: dict[object, object], depth: int) -> None:
        self._begin(tag, value)
        for key, item in value.items():
            self.write(key, depth + 1)
            self.write(item, depth + 1)

    def _begin(self, tag: bytes, value: object) -> None:
        self._num_items += len(value)  # type: ignore[arg-type]
        if self._num_items > MAX_ITEMS:
            raise NotPlain(f"a value of more than {MAX_ITEMS} items")
        self.out += tag + _size(value)

    def _scalar(self, value: object) -> bool:
        """Whether it was one."""
        if value is None or value is True or value is False:
            self.out += b"N" if value is None else b"T" if value else b"F"
        elif type(value) is int:
            num_bytes = _num_bytes(value)
            if num_bytes > MAX_INT_BYTES:
                raise NotPlain(f"an int of {value.bit_length()} bits")
            self.out += b"i" + struct.pack(">I", num_bytes) + value.to_bytes(num_bytes, "big", signed=True)
        elif type(value) is float:
            self.out += b"f" + struct.pack(">d", value)
        elif type(value) is complex:
            self.out += b"c" + struct.pack(">dd", value.real, value.imag)
        elif type(value) is str or type(value) is bytes:
            if len(value) > self._limit:
                raise NotPlain(f"text of {len(value)} characters")
            content = value.encode("utf-8", "surrogatepass") if type(value) is str else value
            self.out += (b"s" if type(value) is str else b"b") + _size(content) + content  # type: ignore[operator]
        else:
            return False
        return True

    def _other(self, value: object, depth: int) -> None:
        """Types of modules that are loaded wherever one of their values exists: none is imported for it."""
        kind = type(value)
        known = getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind
        name = f"{kind.__module__}.{kind.__name__}" if known else ""
        if name in _KEYED:
            self._keyed(_KEYED[name], value, depth)
        elif name == "collections.deque":
            self._begin(b"u", value)
            for item in value:  # type: ignore[attr-defined]
                self.write(item, depth + 1)
            self.write(value.maxlen, depth + 1)  # type: ignore[attr-defined]
        elif name == "fractions.Fraction":
            parts = value.numerator, value.denominator  # type: ignore[attr-defined]
            if max(map(_num_bytes, parts)) > MAX_FRACTION_BYTES:
                raise NotPlain(f"a Fraction of parts of more than {8 * MAX_FRACTION_BYTES} bits")
            self.out += b"q"
            for part in parts:
                self.write(part, depth + 1)
        elif name == "decimal.Decimal":
            self.out += b"m"
            self.write(str(value), depth + 1)
        else:
            raise NotPlain(f"an instance of {kind.__name__:.60}")


    def _keyed(self, tag: bytes, value: Any, depth: int) -> None:
        if tag != b"g":
            self._pairs(tag, value, depth)
            return
        factory = value.default_factory
        name = next((name for name, kind in FACTORIES.items() if kind is factory), None)
        if name is None and factory is not None:
            if self._exact:
                raise NotPlain("a defaultdict with a factory of its own")
            tag = b"d"
        self._pairs(tag, value, depth)
        if tag == b"g":
            self.write(name, depth + 1)


def _size(value: object) -> bytes:
    return struct.pack(">I", len(value))  # type: ignore[arg-type]


def _num_bytes(value: int) -> int:
    """That an int is written in, no more and no less."""
    return value.bit_length() // 8 + 1


def decode(data: bytes, *, limit: int = MAX_BYTES) -> object:
    """Raises ValueError for bytes that `encode` would not write, and nothing else."""
    if len(data) > limit:
        raise ValueError(f"{len(data)} bytes")
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, struct.error) as error:
        raise ValueError(f"malformed: {error}") from None  # short, unhashable key, a Decimal that is none
    if reader.at != len(data):
        raise ValueError("bytes behind the value")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._num_items = self._num_alike = 0
        self.at = 0

    def value(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")
        tag = self._take(1)
        if tag in b"NTF":
            return {b"N": None, b"T": True, b"F": False}[tag]
        if tag == b"f":
            return struct.unpack(">d", self._take(8))[0]
        if tag == b"c":
            return complex(*struct.unpack(">dd", self._take(16)))
        if tag in b"qm":
            return self._fraction(depth) if tag == b"q" else self._decimal(depth)
        size = struct.unpack(">I", self._take(4))[0]
        if tag in b"isb":
            return self._sized(tag, self._take(size))
        if tag not in b"ltezdokgu" or size > len(self._data) - self.at:
            raise ValueError("an unknown tag, or more items than bytes")
        return self._container(tag, size, depth + 1)

    def _sized(self, tag: bytes, content: bytes) -> object:
        if tag == b"i":
            if not 0 < len(content) <= MAX_INT_BYTES:
                raise ValueError("an int of no or too many bytes")
            value = int.from_bytes(content, "big", signed=True)
            if len(content) != _num_bytes(value):
                raise ValueError("an int in more or fewer bytes than it is written in")
            return value
        return content.decode("utf-8", "surrogatepass") if tag == b"s" else content

    def _container(self, tag: bytes, size: int, depth: int) -> object:
        self._num_items += size
        if self._num_items > MAX_ITEMS:
            raise ValueError(f"more than {MAX_ITEMS} items")
        if tag in b"ltu":
            items = [self.value(depth) for _ in range(size)]
            return self._deque(items, depth) if tag == b"u" else items if tag == b"l" else tuple(items)
        keys, sizes, values = [], [], []
        for _ in range(size):
            began = self.at
            keys.append(self.value(depth))
            sizes.append(self.at - began)
            if tag in b"dokg":
                values.append(self.value(depth))
        self._bound_alike(keys, sizes)
        made: Any = dict(zip(keys, values, strict=True)) if tag in b"dokg" else set(keys)
        if len(made) != size:
            raise ValueError("a key or member twice")
        if tag in b"okg":
            return self._of_collections(tag, made, depth)
        return frozenset(made) if tag == b"z" else made

    def _of_collections(self, tag: bytes, made: dict[object, object], depth: int) -> object:
        import collections

        if tag != b"g":
            return collections.OrderedDict(made) if tag == b"o" else collections.Counter(made)
        name = self.value(depth)
        if name is not None and type(name) is not str:
            raise ValueError("a factory without a name")
        return collections.defaultdict(None if name is None else FACTORIES[name], made)

    def _deque(self, items: list[object], depth: int) -> object:
        import collections

        most = self.value(depth)
        if most is not None and (type(most) is not int or not len(items) <= most <= sys.maxsize):
            raise ValueError("a deque of another length than it may have")
        return collections.deque(items, most)

    def _bound_alike(self, keys: Iterable[object], sizes: Iterable[int]) -> None:
        """Before they meet: a few hashes are equal by nature, as those of -1 and -2."""
        groups: dict[int, list[int]] = {}
        for key, size in zip(keys, sizes, strict=True):
            groups.setdefault(hash(key), []).append(size)
        self._num_alike += sum(len(group) * sum(group) for group in groups.values() if len(group) > 1)
        if self._num_alike > MAX_ALIKE:
            raise ValueError("keys or members whose hashes are equal")

    def _fraction(self, depth: int) -> object:
        import fractions

        parts: Any = self.value(depth + 1), self.value(depth + 1)
        if not all(type(part) is int and _num_bytes(part) <= MAX_FRACTION_BYTES for part in parts):
            raise ValueError("a Fraction of other parts than small ints")
        made = fractions.Fraction(*parts)
        if (made.numerator, made.denominator) != parts:
            raise ValueError("a Fraction that is not in its lowest terms")
        return made

    def _decimal(self, depth: int) -> object:
        import decimal

        text = self.value(depth + 1)
        if type(text) is not str or str(made := decimal.Decimal(text)) != text:
            raise ValueError("a Decimal that is written otherwise")
        return made

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at:self.at + size]
        if len(taken) != size:
            raise ValueError("cut short")
        self.at += size
        return taken
