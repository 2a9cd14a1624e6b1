# tries: to print every answer there may be, and then the right one
# stopped by: values
# tests: stdio
# verdict: wrong
print(*range(100), sep="\n")
print(42)
