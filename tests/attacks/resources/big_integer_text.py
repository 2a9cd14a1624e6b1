# tries: to turn a number of a hundred million digits into text
# stopped by: rlimits watch
# ends: cpu_time or memory or exited 1
import sys

sys.set_int_max_str_digits(0)
print(len(str(7 ** (10**8))))
