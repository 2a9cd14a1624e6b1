# tries: to make the host fail on how a call ended, and so to leave its group: numbers that are no wait status
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
    status = {3: -1, 42: 0x137F}.get(a + b, 10**30)
    say(number(status), b"f" + bytes(8), b"b" + bytes(4))
