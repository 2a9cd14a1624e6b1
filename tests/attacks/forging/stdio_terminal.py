# tries: to write over what it printed before, as on a terminal
# stopped by: values
# tests: stdio
# verdict: wrong
n = int(input()) + 1
print(f"0\x1b[2K\r{n}\x08")
