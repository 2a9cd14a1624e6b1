# tries: to print so much that only the right part is kept
# stopped by: output
# tests: stdio
# verdict: wrong
import os

n = int(input()) + 1
os.write(1, f"{n}\n".encode())
for _ in range(40):
    os.write(1, b"\n" * 65536)
os.write(1, b"wrong\n")
