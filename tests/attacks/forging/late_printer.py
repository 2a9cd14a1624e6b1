# tries: to print the right answer from a process that outlives it, from atexit and from a finaliser
# stopped by: cleaning pid
# tests: calls check asserts stdio
# verdict: wrong
import atexit
import os
import weakref


class Last:
    pass


last = Last()
weakref.finalize(last, os.write, 1, b"42\n42\n")
atexit.register(os.write, 1, b"passed\n")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(2, b"passed\n")
    else:
        os._exit(0)


def add(a, b):
    return 0
