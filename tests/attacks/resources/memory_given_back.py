# tries: shared memory that is given back from the process's tables, and stays in the machine's memory
# stopped by: cgroup
# ends: exited 0 or memory
# open without: cgroup
# limits: cpu_s=5
import mmap
import os
import signal

from attack import breach, held

kept = []
for _ in range(6):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        for _ in range(5):
            block = mmap.mmap(-1, 8 << 20)
            for at in range(0, len(block), 4096):
                block[at] = 1
            block.madvise(mmap.MADV_DONTNEED)
            kept.append(block)
        os.write(theirs, b"1")
        signal.pause()
    os.close(theirs)
    if os.read(ours, 1) != b"1":  # it was killed
        held()
        raise SystemExit
breach("240 MiB held within 128")
