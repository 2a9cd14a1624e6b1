# tries: to read the expected output from descriptors, from its arguments, from the next input
# stopped by: separation
# tests: stdio
# verdict: wrong
import os
import sys

found = list(sys.argv[1:])
for number in range(256):
    try:
        found.append(os.pread(number, 10**6, 0).decode("utf-8", "replace"))
    except OSError:
        pass
print(*found)
