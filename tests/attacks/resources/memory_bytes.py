# tries: to take memory in one piece larger than there is
# stopped by: rlimits
# ends: memory
bytearray(10**12)
