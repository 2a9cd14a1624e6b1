"""What a Python program may ask of the kernel: system calls by name and number, with the arguments they may have.

An allow-list: what is not named here is refused. Both the filter of our own (`seccomp.py`) and the profile for
container engines are made of these tables. Numbers are `name:x86_64:aarch64`, `-` where an architecture lacks the call.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["AGENT_NEEDS", "ALLOWED", "ANSWERED", "ARCHITECTURES", "CONDITIONAL", "FATAL", "LAST_KNOWN", "REFUSAL",
           "RULES", "Compare"]

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machine -> the AUDIT_ARCH value that a filter sees. Position in this table: column of a number."""
LAST_KNOWN = 462
"""Later calls are said not to exist, so that a C library newer than this table falls back to older ones."""
REFUSAL = errno.EPERM


class Compare(NamedTuple):
    """(argument & mask) == value, in the lower 32 bits: the kernel reads no more of any argument compared here."""

    argument: int
    value: int
    mask: int = 0xFFFFFFFF


def _table(text: str) -> Mapping[str, tuple[int | None, ...]]:
    """Name -> number on each architecture."""
    split = (entry.split(":") for entry in text.split())
    return {name: tuple(None if number == "-" else int(number) for number in numbers) for name, *numbers in split}


ALLOWED = _table("""
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69 pwritev:296:70
preadv2:327:286 pwritev2:328:287 lseek:8:62 open:2:- openat:257:56 openat2:437:437 creat:85:- close:3:57
close_range:436:436 stat:4:- fstat:5:80 lstat:6:- newfstatat:262:79 statx:332:291 statfs:137:43 fstatfs:138:44
access:21:- faccessat:269:48 faccessat2:439:439 getdents:78:- getdents64:217:61 readlink:89:- readlinkat:267:78
mkdir:83:- mkdirat:258:34 rmdir:84:- unlink:87:- unlinkat:263:35 rename:82:- renameat:264:38 renameat2:316:276
link:86:- linkat:265:37 symlink:88:- symlinkat:266:36 mknod:133:- mknodat:259:33 chmod:90:- fchmod:91:52
fchmodat:268:53 fchmodat2:452:452 chown:92:- fchown:93:55 lchown:94:- fchownat:260:54 truncate:76:45 ftruncate:77:46
fallocate:285:47 utime:132:- utimes:235:- utimensat:280:88 futimesat:261:- umask:95:166 chdir:80:49 fchdir:81:50
getcwd:79:17 flock:73:32 dup:32:23 dup2:33:-
dup3:292:24 pipe:22:- pipe2:293:59 copy_file_range:326:285 sendfile:40:71 poll:7:- ppoll:271:73 select:23:-
pselect6:270:72 epoll_create:213:- epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22
epoll_pwait2:441:441 eventfd:284:- eventfd2:290:19 timerfd_create:283:85 timerfd_settime:286:86
timerfd_gettime:287:87 signalfd:282:- signalfd4:289:74 mmap:9:222 munmap:11:215 mremap:25:216 mprotect:10:226
madvise:28:233 brk:12:214 mincore:27:232 membarrier:324:283 futex:202:98 futex_waitv:449:449
set_robust_list:273:99 get_robust_list:274:100 rseq:334:293 set_tid_address:218:96 sched_yield:24:124
sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125
sched_get_priority_min:147:126 sched_rr_get_interval:148:127 getcpu:309:168 fork:57:- vfork:58:- execve:59:221
execveat:322:281 exit:60:93 exit_group:231:94 wait4:61:260 waitid:247:95 restart_syscall:219:128 arch_prctl:158:-
getpid:39:172 getppid:110:173 gettid:186:178 getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177
getgroups:115:158 getresuid:118:148 getresgid:120:150 getpgrp:111:- getpgid:121:155 getsid:124:156 setsid:112:157
setpgid:109:154 capget:125:90 getpriority:140:141 getrlimit:97:163 getrusage:98:165 times:100:153
sysinfo:99:179 uname:63:160 getrandom:318:278 rt_sigprocmask:14:135 rt_sigreturn:15:139
rt_sigpending:127:136 rt_sigsuspend:130:133 rt_sigtimedwait:128:137 sigaltstack:131:132 kill:62:129 tkill:200:130
tgkill:234:131 pause:34:- alarm:37:- nanosleep:35:101 clock_nanosleep:230:115 clock_gettime:228:113
clock_getres:229:114 gettimeofday:96:169 time:201:- getitimer:36:102 setitimer:38:103 timer_create:222:107
timer_settime:223:110 timer_gettime:224:108 timer_getoverrun:225:109 timer_delete:226:111 recvfrom:45:207
recvmsg:47:212 sendto:44:206 getsockname:51:204 getpeername:52:205 getsockopt:55:209 shutdown:48:210
""")
"""With any argument. Of signals: PID 1 of a namespace cannot be reached by them, and all else in it is the job's own.
No call that makes a socket, and no sendmsg: a descriptor sent over a pair of sockets can be kept alive by the kernel
alone."""
CONDITIONAL = _table("""
clone:56:220 setrlimit:160:164 prlimit64:302:261 setpriority:141:140 sched_setaffinity:203:122 socketpair:53:199
prctl:157:167 fcntl:72:25 ioctl:16:29 rt_sigaction:13:134
""")
"""With the arguments of RULES."""
ABSENT = _table("""
clone3:435:435
""")
"""ENOSYS. clone3 takes its flags in memory, where no filter can read them; C libraries fall back to clone."""
UNSUPPORTED = _table("""
setxattr:188:5 lsetxattr:189:6 fsetxattr:190:7 getxattr:191:8 lgetxattr:192:9 fgetxattr:193:10 listxattr:194:11
llistxattr:195:12 flistxattr:196:13 removexattr:197:14 lremovexattr:198:15 fremovexattr:199:16
""")
"""ENOTSUP, as on a file system without attributes: shutil.copy2 then goes on without them, and at any other fails."""
DONE = _table("""
fsync:74:82 fdatasync:75:83 sync_file_range:277:84 sync:162:81 syncfs:306:267 msync:26:227 fadvise64:221:223
""")
"""Said to have succeeded, and not carried out: nothing that a job writes is on a disk, and of the system's files they
would flush the machine's writes or drop its cached pages, which other jobs feel."""
ANSWERED = ((ABSENT, errno.ENOSYS), (UNSUPPORTED, errno.ENOTSUP), (DONE, 0))
"""What never reaches the kernel, with what it is told."""
FATAL = _table("""
ptrace:101:117 process_vm_readv:310:270 process_vm_writev:311:271 process_madvise:440:440 kexec_load:246:104
kexec_file_load:320:294 init_module:175:105 finit_module:313:273 delete_module:176:106 bpf:321:280
perf_event_open:298:241 userfaultfd:323:282 mount:165:40 umount2:166:39 pivot_root:155:41 chroot:161:51
unshare:272:97 setns:308:268 open_tree:428:428 move_mount:429:429 fsopen:430:430 fsconfig:431:431 fsmount:432:432
fspick:433:433 mount_setattr:442:442 keyctl:250:219 add_key:248:217 request_key:249:218 io_uring_setup:425:425
io_uring_enter:426:426 io_uring_register:427:427 reboot:169:142 swapon:167:224 swapoff:168:225 settimeofday:164:170
clock_settime:227:112 adjtimex:159:171 clock_adjtime:305:266 open_by_handle_at:304:265 name_to_handle_at:303:264
quotactl:179:60 acct:163:89 iopl:172:- ioperm:173:- pidfd_getfd:438:438
""")
"""The program is killed: nothing that solves a task asks for these, and a second try is not given."""

_CLONE_NAMESPACES = 0x7E020000  # NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_AF_UNIX = 1
_SIGCHLD = 17
_RESOURCES = (0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)  # not 4, core dumps: see inner.set_limits
_PRCTL = (1, 2, 3, 15, 16, 21, 23, 39)  # death signal, dumpable (read), name, seccomp (read), capabilities (read), ...
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 9, 36, 37, 38, 1024 + 6, 1024 + 8, 1024 + 10)  # no SETOWN, SETSIG, SETPIPE_SZ
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX

RULES: Mapping[str, tuple[tuple[Compare, ...], ...]] = {
    "clone": ((Compare(0, 0, _CLONE_NAMESPACES),),),
    # Of another process of the same user it would reach the agent.
    "prlimit64": tuple((Compare(0, 0), Compare(1, resource)) for resource in _RESOURCES),
    "setrlimit": tuple((Compare(0, resource),) for resource in _RESOURCES),
    "setpriority": ((Compare(0, 0), Compare(1, 0)),),  # PRIO_USER would lower the agent, and through it the next job
    "sched_setaffinity": ((Compare(0, 0),),),
    "socketpair": ((Compare(0, _AF_UNIX),),),  # asyncio wakes itself up through one
    "prctl": tuple((Compare(0, option),) for option in _PRCTL),
    "fcntl": tuple((Compare(1, command),) for command in _FCNTL),
    "ioctl": tuple((Compare(1, request),) for request in _IOCTL),
    # Of any other number, which differs in one of its bits. Children of who ignores SIGCHLD are reaped by the kernel,
    # and their processor time is then counted nowhere.
    "rt_sigaction": tuple((Compare(0, ~_SIGCHLD & 1 << bit, 1 << bit),) for bit in range(7)),
}
"""Name -> alternatives, each a tuple of comparisons that must all hold."""

AGENT_NEEDS = ("accept", "accept4", "bind", "capset", "connect", "fcntl", "listen", "pidfd_open", "prctl", "prlimit64",
               "rt_sigaction", "seccomp", "sendmsg", "setgid", "setgroups", "setresgid", "setresuid", "setrlimit",
               "setsockopt", "setuid", "socket")
"""What a container's profile must allow beyond this, for the agent and the engine's own start; each job then puts the
filter of this module on itself."""
