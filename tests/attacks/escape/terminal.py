# tries: to type into the terminal of whoever started it
# stopped by: seccomp separation
# ends: exited 0
import fcntl
import os

from attack import attempt, held

TIOCSTI, TIOCLINUX, TIOCSCTTY = 0x5412, 0x541C, 0x540E
for descriptor in range(3):
    attempt("type", fcntl.ioctl, descriptor, TIOCSTI, b"x")
    attempt("paste", fcntl.ioctl, descriptor, TIOCLINUX, b"\x03")
    attempt("take", fcntl.ioctl, descriptor, TIOCSCTTY, 1)
attempt("open", os.open, "/dev/tty", os.O_RDWR)
attempt("make one", os.openpty)
held()
