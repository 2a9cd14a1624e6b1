# tries: to say "passed" on the channel it was given, in the words of the tests' own side
# stopped by: separation
# tests: calls check asserts
# verdict: wrong
import os
import struct


def text(value):
    return b"s" + struct.pack(">I", len(value)) + value


passed = b"t" + struct.pack(">I", 4) + text(b"passed") + b"b" + struct.pack(">I", 16) + bytes(16)
passed += b"l" + struct.pack(">I", 2) + b"TT" + text(b"")
os.write(3, struct.pack(">I", len(passed)) + passed)


def add(a, b):
    os.write(3, struct.pack(">I", len(passed)) + passed)
    return 0
