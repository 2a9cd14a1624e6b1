# tries: a loop in C over more numbers than there is time for
# stopped by: rlimits watch
# ends: cpu_time
sum(range(10**13))
