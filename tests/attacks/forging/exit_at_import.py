# tries: to end well while it is loaded
# stopped by: separation
# tests: calls check asserts
# verdict: wrong
def add(a, b):
    return 0


raise SystemExit(0)
