# tries: settings, keys, logs and control groups of the kernel by their files
# stopped by: mount
# ends: exited 0
import os
import stat

from attack import breach, held

for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
             "/proc/sys/vm/drop_caches", "/proc/sys/kernel/ns_last_pid", "/proc/sys/user/max_user_namespaces",
             "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/tasks",
             "/proc/self/uid_map", "/sys/power/state", "/proc/self/setgroups", "/proc/timer_list",
             "/proc/self/loginuid", "/proc/acpi/wakeup", "/proc/mtrr"):
    try:
        with open(path, "r+b", 0) as file:
            if not stat.S_ISCHR(os.fstat(file.fileno()).st_mode):  # a file may be covered by /dev/null
                breach(f"{path} can be written")
    except OSError:
        pass
for path in ("/proc/kcore", "/proc/kmsg", "/dev/kmsg", "/dev/mem", "/proc/kpageflags",
             "/sys/kernel/debug/tracing/trace", "/proc/1/environ", "/sys/kernel/security/lsm", "/proc/vmallocinfo"):
    try:
        if open(path, "rb", 0).read(1):
            breach(f"{path} can be read")
    except OSError:
        pass
held()
