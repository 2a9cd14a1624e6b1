"""Plain values as bytes and back, exactly: all that crosses between a candidate, the host and the tests.

A value is a tag, then what the tag says; a size or count is 4 bytes, big endian.

    N T F            None, True, False
    i size bytes     int, signed, big endian        f 8 bytes, c 16 bytes    float, complex
    s size bytes     str in UTF-8, lone surrogates included                  b size bytes    bytes
    l t count items  list, tuple                    e z count items          set, frozenset
    d count pairs    dict                           q two ints    Fraction   m a str    Decimal

Only exact types: an instance of a subclass is not plain, however it describes itself. The four containers of
`collections` whose content is that of a dict or a list (Counter, OrderedDict, defaultdict, deque) travel as one.
What is decoded was written by an adversary: every size is bounded before it is used, and anything else is a ValueError.
"""

from __future__ import annotations

import struct
import sys

__all__ = ["MAX_BYTES", "NotPlain", "decode", "encode"]

TYPE_CHECKING = False  # as in `channel`
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 4 * 2**20
MAX_DEPTH = 100
MAX_INT_BYTES = 2**14
MAX_ITEMS = 200_000
"""Of a whole value, in all its containers; a million take the host about 5 s."""
MAX_MEMBERS = 10_000
"""Keys and set members of a whole value: chosen to collide, n of them cost n**2 steps to rebuild, here about 1 s."""

_TAGS: dict[object, bytes] = {list: b"l", tuple: b"t", set: b"e", frozenset: b"z"}


class NotPlain(ValueError):
    """A value that does not travel; the message says which part of it, in a few words."""


def encode(value: object) -> bytes:
    """Raises NotPlain for other types than those above, and beyond the bounds (a cycle is too deep)."""
    out = bytearray()
    _write(out, value, 0)
    return bytes(out)


def _write(out: bytearray, value: object, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise NotPlain(f"a value nested more than {MAX_DEPTH} deep")
    if len(out) > MAX_BYTES:
        raise NotPlain(f"a value of more than {MAX_BYTES} bytes")
    if type(value) in _TAGS:
        out += _TAGS[type(value)] + _size(value)
        for item in value:  # type: ignore[attr-defined]
            _write(out, item, depth + 1)
    elif type(value) is dict:
        out += b"d" + _size(value)
        for key, item in value.items():
            _write(out, key, depth + 1)
            _write(out, item, depth + 1)
    elif not _write_scalar(out, value):
        _write_other(out, value, depth)


def _size(value: object) -> bytes:
    return struct.pack(">I", len(value))  # type: ignore[arg-type]


def _write_scalar(out: bytearray, value: object) -> bool:
    """Whether it was one."""
    if value is None or value is True or value is False:
        out += b"N" if value is None else b"T" if value else b"F"
    elif type(value) is int:
        num_bytes = value.bit_length() // 8 + 1
        if num_bytes > MAX_INT_BYTES:
            raise NotPlain(f"an int of {value.bit_length()} bits")
        out += b"i" + struct.pack(">I", num_bytes) + value.to_bytes(num_bytes, "big", signed=True)
    elif type(value) is float:
        out += b"f" + struct.pack(">d", value)
    elif type(value) is complex:
        out += b"c" + struct.pack(">dd", value.real, value.imag)
    elif type(value) is str or type(value) is bytes:
        if len(value) > MAX_BYTES:
            raise NotPlain(f"text of {len(value)} characters")
        content = value.encode("utf-8", "surrogatepass") if type(value) is str else value
        out += (b"s" if type(value) is str else b"b") + _size(content) + content  # type: ignore[operator]
    else:
        return False
    return True


def _write_other(out: bytearray, value: object, depth: int) -> None:
    """Types of modules that are loaded wherever one of their values exists: none is imported for it."""
    kind = type(value)
    known = getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind
    name = f"{kind.__module__}.{kind.__name__}" if known else ""
    if name in ("collections.Counter", "collections.OrderedDict", "collections.defaultdict"):
        _write(out, dict(value), depth)  # type: ignore[call-overload]
    elif name == "collections.deque":
        _write(out, list(value), depth)  # type: ignore[call-overload]
    elif name == "fractions.Fraction":
        out += b"q"
        _write(out, value.numerator, depth + 1)  # type: ignore[attr-defined]
        _write(out, value.denominator, depth + 1)  # type: ignore[attr-defined]
    elif name == "decimal.Decimal":
        out += b"m"
        _write(out, str(value), depth + 1)
    else:
        raise NotPlain(f"an instance of {kind.__name__:.60}")


def decode(data: bytes) -> object:
    """Raises ValueError for bytes that `encode` would not write."""
    if len(data) > 2 * MAX_BYTES:
        raise ValueError(f"{len(data)} bytes")
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (IndexError, struct.error, TypeError, ArithmeticError) as error:  # short, unhashable key, division by zero
        raise ValueError(f"malformed: {error}") from None
    if reader.at != len(data):
        raise ValueError("bytes behind the value")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._num_items = self._num_members = 0
        self.at = 0

    def value(self, depth: int) -> object:
        if depth > MAX_DEPTH + 1:
            raise ValueError("nested too deep")
        tag = self._take(1)
        if tag in b"NTF":
            return {b"N": None, b"T": True, b"F": False}[tag]
        if tag == b"f":
            return struct.unpack(">d", self._take(8))[0]
        if tag == b"c":
            return complex(*struct.unpack(">dd", self._take(16)))
        if tag in b"qm":
            return self._number(tag, depth)
        size = struct.unpack(">I", self._take(4))[0]
        if tag in b"isb":
            return self._sized(tag, self._take(size))
        if tag not in b"ltezd" or size > len(self._data) - self.at:
            raise ValueError("an unknown tag, or more items than bytes")
        return self._container(tag, size, depth + 1)

    def _sized(self, tag: bytes, content: bytes) -> object:
        if tag == b"i":
            if not 0 < len(content) <= MAX_INT_BYTES:
                raise ValueError("an int of no or too many bytes")
            return int.from_bytes(content, "big", signed=True)
        return content.decode("utf-8", "surrogatepass") if tag == b"s" else content

    def _container(self, tag: bytes, size: int, depth: int) -> object:
        self._num_items += size
        if self._num_items > MAX_ITEMS:
            raise ValueError(f"more than {MAX_ITEMS} items")
        if tag in b"lt":
            items = [self.value(depth) for _ in range(size)]
            return items if tag == b"l" else tuple(items)
        self._num_members += size
        if self._num_members > MAX_MEMBERS:
            raise ValueError(f"more than {MAX_MEMBERS} keys and set members")
        if tag == b"d":
            pairs = {self.value(depth): self.value(depth) for _ in range(size)}
            return self._all_different(pairs, size)
        members = {self.value(depth) for _ in range(size)}
        return self._all_different(members if tag == b"e" else frozenset(members), size)

    def _all_different(self, made: object, size: int) -> object:
        if len(made) != size:  # type: ignore[arg-type]
            raise ValueError("a key or member twice")
        return made

    def _number(self, tag: bytes, depth: int) -> object:
        if tag == b"q":
            import fractions

            parts: Any = self.value(depth + 1), self.value(depth + 1)
            return fractions.Fraction(*parts)
        import decimal

        return decimal.Decimal(self.value(depth + 1))  # type: ignore[arg-type]

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at:self.at + size]
        if len(taken) != size:
            raise ValueError("cut short")
        self.at += size
        return taken
