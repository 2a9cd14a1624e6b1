# tries: to learn from one call what the next one should return, through files and processes that stay
# stopped by: separation
# tests: calls check asserts
# verdict: wrong


def add(a, b):
    with open("/tmp/seen", "a+") as file:
        file.seek(0)
        seen = file.read().split()
        file.write(f"{a} {b} ")
    return int(seen[-1]) if seen else 0
