# tries: to raise its own priority above all else, and to lower that of others
# stopped by: seccomp capabilities
# ends: exited 0
import os

from attack import attempt, held, syscall

attempt("nice", os.setpriority, os.PRIO_PROCESS, 0, -20)
attempt("the agent", os.setpriority, os.PRIO_PROCESS, 1, 19)
attempt("the user", os.setpriority, os.PRIO_USER, 0, 19)
attempt("the group", os.setpriority, os.PRIO_PGRP, 1, 19)
attempt("realtime", syscall, "sched_setscheduler", 0, 1, bytes([50, 0, 0, 0]))
attempt("disk priority", syscall, "ioprio_set", 3, os.getuid(), 0)
attempt("the agent's processors", os.sched_setaffinity, 1, {0})
held()
