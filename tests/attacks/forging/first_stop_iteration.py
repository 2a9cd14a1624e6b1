# tries: to have answered nothing, and so nothing wrong: `all(map(...))` holds at the first StopIteration
# stopped by: separation
# tests: check asserts lazy
# verdict: wrong


def add(a, b):
    raise StopIteration
