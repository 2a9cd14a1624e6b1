# tries: the right answer on the wrong stream, or followed by a failure
# stopped by: values
# tests: stdio
# verdict: wrong
import sys

print(int(input()) + 1)
sys.exit(1)
