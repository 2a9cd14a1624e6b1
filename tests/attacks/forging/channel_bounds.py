# tries: to be taken and not to fit where it is sent on: too deep, too large, an int in one byte less than it needs
# stopped by: values
# tests: calls check asserts lazy
# verdict: wrong
import os
import struct


def text(value):
    return b"s" + struct.pack(">I", len(value)) + value


def number(value):
    content = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    return b"i" + struct.pack(">I", len(content)) + content


def row(*parts):
    return b"t" + struct.pack(">I", len(parts)) + b"".join(parts)


def say(*parts):
    frame = row(text(b"ended"), *parts)
    frame = struct.pack(">I", len(frame)) + frame
    while frame:
        frame = frame[os.write(3, frame):]
    os._exit(0)


def add(a, b):
    value = {3: (b"l" + struct.pack(">I", 1)) * 104 + b"N",
             42: b"i" + struct.pack(">I", 2**14) + b"\x80" + bytes(2**14 - 1)}.get(
        a + b, b"b" + struct.pack(">I", 2**22 - 10) + bytes(2**22 - 10))
    answer = row(text(b"value"), value)
    say(number(0), b"f" + bytes(8), b"b" + struct.pack(">I", len(answer)) + answer)
