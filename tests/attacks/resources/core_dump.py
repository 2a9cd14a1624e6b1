# tries: to leave a core dump, or to start the machine's handler of core dumps, by crashing
# stopped by: rlimits mount
# ends: signalled 139
import os
import resource

resource.setrlimit(resource.RLIMIT_STACK, resource.getrlimit(resource.RLIMIT_STACK))
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except (OSError, ValueError):
    pass
os.kill(os.getpid(), 11)
