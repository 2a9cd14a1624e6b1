# tries: to have the tests hand back what fits into their message and not into the host's, so that they look broken
# stopped by: values
# tests: back
# verdict: wrong


def add(a, b):
    return "x" * 2129902
