# tries: to mount, unmount, move and rebuild file systems, by the old and the new calls
# stopped by: seccomp capabilities
# ends: exited 0
import ctypes

from attack import held, in_child, syscall

text = ctypes.c_char_p
for kind in (b"tmpfs", b"proc", b"sysfs", b"devtmpfs", b"cgroup2", b"overlay", b"ext4", b"mqueue"):
    source = text(b"reasongym-attack")
    in_child(f"mount {kind.decode()}", syscall, "mount", source, text(b"/tmp"), text(kind), 0, text(b""))
in_child("remount", syscall, "mount", text(b"none"), text(b"/"), text(b""), 32 | 4096, text(b""))
in_child("unmount", syscall, "umount2", text(b"/proc"), 2)
in_child("pivot_root", syscall, "pivot_root", text(b"/tmp"), text(b"/tmp"))
in_child("chroot", syscall, "chroot", text(b"/tmp"))
in_child("open_tree", syscall, "open_tree", -100, text(b"/"), 1)
in_child("fsopen", syscall, "fsopen", text(b"tmpfs"), 0)
in_child("move_mount", syscall, "move_mount", -100, text(b"/tmp"), -100, text(b"/work"), 0)
held()
