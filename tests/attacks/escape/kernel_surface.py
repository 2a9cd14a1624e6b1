# tries: calls with a long record of faults: bpf, io_uring, userfaultfd, perf, handles of files, memory of its own kind
# stopped by: seccomp
# ends: exited 0
# open without: seccomp
import ctypes

from attack import held, in_child, syscall

zeros = ctypes.create_string_buffer(256)
in_child("bpf", syscall, "bpf", 0, zeros, 72)
in_child("io_uring", syscall, "io_uring_setup", 8, zeros)
in_child("userfaultfd", syscall, "userfaultfd", 1)
in_child("perf", syscall, "perf_event_open", zeros, 0, -1, -1, 0)
in_child("name_to_handle_at", syscall, "name_to_handle_at", -100, zeros, zeros, zeros, 0)
in_child("open_by_handle_at", syscall, "open_by_handle_at", -100, zeros, 0)
in_child("memfd", syscall, "memfd_create", zeros, 0)
in_child("memfd_secret", syscall, "memfd_secret", 0)
in_child("inotify", syscall, "inotify_init1", 0)
in_child("fanotify", syscall, "fanotify_init", 0, 0)
in_child("personality", syscall, "personality", 0x0040000)
in_child("setxattr", syscall, "setxattr", ctypes.c_char_p(b"/tmp"), ctypes.c_char_p(b"user.reasongym"), zeros, 4, 0)
in_child("landlock", syscall, "landlock_create_ruleset", 0, 0, 1)
in_child("migrate_pages", syscall, "migrate_pages", 0, 1, zeros, zeros)
held()
