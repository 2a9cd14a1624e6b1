# tries: to keep the host busy for minutes: a set of Fractions whose hashes are all the same
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
    members = [b"q" + number(1 + 2 * n * (2**61 - 1)) + number(2) for n in range(5000)]
    answer = row(text(b"value"), b"e" + struct.pack(">I", len(members)) + b"".join(members))
    say(number(0), b"f" + bytes(8), b"b" + struct.pack(">I", len(answer)) + answer)
