# tries: one operation of the interpreter that no signal handler interrupts
# stopped by: rlimits watch
# ends: cpu_time
10 ** 10 ** 8
