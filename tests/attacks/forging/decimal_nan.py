# tries: numbers that compare oddly: nan, signed infinities, decimals and fractions that claim to be whole
# stopped by: values
# tests: calls check asserts
# verdict: wrong
import decimal
import itertools

odd = itertools.cycle([float("nan"), float("inf"), decimal.Decimal("NaN"), True])


def add(a, b):
    return next(odd)
