# tries: the machine's clock, name, modules, kernel, swap, quotas and power
# stopped by: seccomp capabilities user
# ends: exited 0
import ctypes

from attack import held, in_child, syscall

text = ctypes.c_char_p
new_year_2000 = (ctypes.c_long * 2)(946684800, 0)
in_child("clock", syscall, "clock_settime", 0, new_year_2000)
in_child("time of day", syscall, "settimeofday", new_year_2000, 0)
in_child("adjust", syscall, "adjtimex", (ctypes.c_long * 26)(0x4000))
in_child("name", syscall, "sethostname", text(b"reasongym-attack"), 16)
in_child("domain", syscall, "setdomainname", text(b"reasongym-attack"), 16)
in_child("module", syscall, "init_module", text(b"x"), 1, text(b""))
in_child("module file", syscall, "finit_module", 0, text(b""), 0)
in_child("kernel", syscall, "kexec_load", 0, 0, 0, 0)
in_child("power", syscall, "reboot", 0xFEE1DEAD - (1 << 32), 672274793, 0, 0)
in_child("swap", syscall, "swapon", text(b"/tmp/x"), 0)
in_child("quota", syscall, "quotactl", 0, text(b"/dev/sda"), 0, 0)
in_child("accounting", syscall, "acct", text(b"/tmp/x"))
in_child("log", syscall, "syslog", 5, 0, 0)
held()
