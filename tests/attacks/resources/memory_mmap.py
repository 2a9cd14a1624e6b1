# tries: to map memory piece by piece, past what the allocator would refuse
# stopped by: rlimits cgroup
# ends: exited 0 or memory 137
# open without: rlimits
import mmap

from attack import breach, held

pieces = []
try:
    for _ in range(48):
        piece = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pieces.append(piece)
except OSError:
    held()
else:
    breach("192 MiB of address space within 128")
