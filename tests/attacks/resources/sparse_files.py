# tries: files that claim to be larger than the disk, and then are
# stopped by: rlimits mount
# ends: exited 0
# open without: rlimits
import os

from attack import attempt, held

with open("sparse", "wb") as file:
    attempt("truncate", os.truncate, file.fileno(), 1 << 40)
    attempt("fallocate", os.posix_fallocate, file.fileno(), 0, 1 << 33)
    attempt("write far", os.pwrite, file.fileno(), b"x", 1 << 40)
held()
