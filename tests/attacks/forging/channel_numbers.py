# tries: to have the host work out numbers without end: Fractions of texts and Decimals, written by hand
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
    part = {3: text(b"1e3000000000"), 42: b"m" + text(b"1E+300000000")}.get(a + b, text(b"1e50000"))
    answer = row(text(b"value"), b"q" + part + b"N")
    say(number(0), b"f" + bytes(8), b"b" + struct.pack(">I", len(answer)) + answer)
