# tries: to raise what the tests' side takes for its own end: its exceptions' names, names no class can have
# stopped by: separation
# tests: calls check asserts
# verdict: wrong
import itertools

names = itertools.cycle(["SystemExit", "GeneratorExit", "_Lost", "_Broken", "NameError", "ImportError", "a\0b",
                         "\ud800", "ExceptionGroup", "UnicodeDecodeError", "KeyboardInterrupt", "type", "Warning"])
calls = itertools.count()


def add(a, b):
    for _ in range((a + b) % 13):
        next(names)
    name = next(names)
    try:
        kind = type(name, (BaseException,), {})
    except ValueError:
        kind = type("SystemExit", (BaseException,), {})
    raise kind(0)
