# tries: device nodes of its own: disks, memory, consoles; and those of the machine
# stopped by: mount user capabilities
# ends: exited 0
import os
import stat

from attack import attempt, breach, held

for name, kind, major, minor in (("disk", stat.S_IFBLK, 8, 0), ("loop", stat.S_IFBLK, 7, 0),
                                 ("mem", stat.S_IFCHR, 1, 1), ("kmsg", stat.S_IFCHR, 1, 11),
                                 ("tty", stat.S_IFCHR, 4, 1)):
    for folder in ("/work", "/tmp", "/dev/shm"):
        attempt(name, os.mknod, f"{folder}/{name}", kind | 0o666, os.makedev(major, minor))
for name in ("sda", "vda", "nvme0n1", "mem", "kmem", "port", "kmsg", "fuse", "kvm", "net/tun", "loop-control",
             "mapper/control", "uinput", "vsock", "vhost-net", "nvidia0", "dri/card0", "hpet", "autofs",
             "userfaultfd"):
    try:
        os.close(os.open("/dev/" + name, os.O_RDONLY))
        breach(name)
    except OSError:
        pass
held()
