# tries: to raise its limits again, and to lower the agent's
# stopped by: rlimits capabilities seccomp
# ends: exited 0
import resource

from attack import breach, held

for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE,
             resource.RLIMIT_FSIZE, resource.RLIMIT_STACK, resource.RLIMIT_MEMLOCK, resource.RLIMIT_SIGPENDING):
    soft, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY:
        continue
    for process, limits in ((0, (soft, hard + 1)), (0, (hard + 1, hard + 1)), (1, (1, 1))):
        try:
            resource.prlimit(process, kind, limits)
            breach(f"limit {kind} of {process}: {limits}")
        except (OSError, ValueError):
            pass
held()
