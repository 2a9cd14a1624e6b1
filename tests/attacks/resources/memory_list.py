# tries: to fill memory with a list that grows
# stopped by: rlimits cgroup
# ends: memory
grown = [None]
while True:
    grown += grown
