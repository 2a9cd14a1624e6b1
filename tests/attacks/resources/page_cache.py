# tries: to have the machine flush its disks and read its own files anew: fsync of a system folder, fadvise of a library
# stopped by: seccomp
# ends: exited 0
import mmap
import os
import resource
import sysconfig

from attack import breach, held

path = os.path.join(sysconfig.get_paths()["stdlib"], "turtle.py")  # that nothing else reads


def faults():
    """Pages that had to be read from a disk, to touch all of the file."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        for at in range(0, len(content), 4096):
            content[at]
        return resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before


if os.path.exists(path):
    faults()
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    if (read := faults()):
        breach(f"{read} pages of {path} were read again")
os.fsync(os.open("/usr/lib", os.O_RDONLY))
os.sync()
held()
