# tries: to wait for input that never comes
# stopped by: separation
# ends: exited 0
import sys

from attack import held

sys.stdin.read()
held()
