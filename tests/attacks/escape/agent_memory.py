# tries: to read and to change the agent, which outlives it, by its files in /proc and by system calls
# stopped by: capabilities mount seccomp
# ends: exited 0
import os

from attack import breach, held

for name in ("environ", "maps", "mem", "auxv", "stack", "syscall"):
    for flags in (os.O_RDONLY, os.O_RDWR):
        try:
            os.close(os.open(f"/proc/1/{name}", flags))
            breach(name)
        except OSError:
            pass
for name in ("root", "cwd", "exe", "fd/0", "fd/4", "ns/pid"):
    try:
        breach(f"{name}: {os.readlink(f'/proc/1/{name}')}")
    except OSError:
        pass
for name, text in (("oom_score_adj", "1000"), ("comm", "x"), ("clear_refs", "1"), ("timerslack_ns", "1")):
    try:
        with open(f"/proc/1/{name}", "w") as file:
            file.write(text)
        breach(f"wrote {name}")
    except OSError:
        pass
held()
