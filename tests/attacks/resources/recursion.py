# tries: to crash the interpreter with recursion deeper than its stack, in Python and in C
# stopped by: rlimits
# ends: signalled 139 or memory or exited 1
import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __repr__(self):
        return repr(self)


repr(Deep())
