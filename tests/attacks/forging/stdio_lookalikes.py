# tries: digits of other scripts, underscores, signs, carriage returns and invisible characters
# stopped by: values
# tests: stdio
# verdict: wrong
n = int(input()) + 1
print("".join(chr(0xFF10 + int(digit)) for digit in str(n)), end="\r")
print(f"+{n}\u200b")
