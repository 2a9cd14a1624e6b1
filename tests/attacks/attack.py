"""Lies beside every program of the suite when it runs: how it tries something, and how it says that it got it.

A line that begins with BREACH is a success of the attack. A program that reaches its end prints `held`.
"""

import ctypes
import errno
import os
import signal

_NUMBERS = """
mount:165:40 umount2:166:39 pivot_root:155:41 chroot:161:51 unshare:272:97 setns:308:268 open_tree:428:428
fsopen:430:430 move_mount:429:429 keyctl:250:219 add_key:248:217 request_key:249:218 bpf:321:280 perf_event_open:298:241
userfaultfd:323:282 io_uring_setup:425:425 ptrace:101:117 process_vm_readv:310:270 process_vm_writev:311:271
init_module:175:105 finit_module:313:273 kexec_load:246:104 reboot:169:142 swapon:167:224 clock_settime:227:112
settimeofday:164:170 adjtimex:159:171 name_to_handle_at:303:264 open_by_handle_at:304:265 quotactl:179:60 acct:163:89
shmget:29:194 shmat:30:196 shmctl:31:195 semget:64:190 msgget:68:186 mq_open:240:180 memfd_create:319:279 clone3:435:435
clone:56:220 personality:135:92 setdomainname:171:162 sethostname:170:161 pidfd_open:434:434 pidfd_getfd:438:438
pidfd_send_signal:424:424 rt_sigqueueinfo:129:138 prlimit64:302:261 setpriority:141:140 sched_setscheduler:144:119
sched_setaffinity:203:122 ioprio_set:251:30 setxattr:188:5 inotify_init1:294:26 fanotify_init:300:262 socket:41:198
sendmsg:46:211 vmsplice:278:75 tee:276:77 syslog:103:116 iopl:172:- kcmp:312:272 process_madvise:440:440
migrate_pages:256:238 move_pages:279:239 lookup_dcookie:212:18 seccomp:317:277 mlockall:151:230 memfd_secret:447:447
process_mrelease:448:448 landlock_create_ruleset:444:444 getpid:39:172 setuid:105:146 setgroups:116:159
"""
_COLUMN = ("x86_64", "aarch64").index(os.uname().machine)
NUMBERS = {name: int(numbers[_COLUMN]) for name, *numbers in (entry.split(":") for entry in _NUMBERS.split())
           if numbers[_COLUMN] != "-"}
libc = ctypes.CDLL(None, use_errno=True)


def breach(what):
    print("BREACH", str(what)[:300], flush=True)


def held():
    print("held", flush=True)


def attempt(what, call, *arguments):
    """What is not refused with an OSError is a breach."""
    try:
        got = call(*arguments)
    except OSError as error:
        print(what, errno.errorcode.get(error.errno, error.errno), flush=True)
        return None
    breach(f"{what}: {got!r}")
    return got


def syscall(name, *arguments):
    """By its number; raises OSError."""
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *values)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return result


def in_child(what, call, *arguments):
    """As attempt, in a process of its own: being killed for it is as good as being refused."""
    child = os.fork()
    if child == 0:
        try:
            attempt(what, call, *arguments)
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code > 0:
        raise SystemExit(f"{what}: the attempt itself is wrong")
    if code < 0:
        print(what, signal.Signals(-code).name, flush=True)
