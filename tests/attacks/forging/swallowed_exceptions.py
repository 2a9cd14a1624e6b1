# tries: to end the iteration that its tests make over its answers, before any of them is compared
# stopped by: separation
# tests: calls check asserts lazy
# verdict: wrong
kinds = [StopIteration, StopAsyncIteration, GeneratorExit, IndexError, KeyError, AttributeError,
         type("Own", (StopIteration,), {})]


def add(a, b):
    raise kinds[(a + b) % len(kinds)]
