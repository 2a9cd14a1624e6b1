"""Builds walls of namespaces around itself and becomes, or rather forks, the agent inside. Started by `local.py`.

Two processes. The first leaves the user namespace and waits outside, so that the agent has a parent who reaps it; it
ends with the host, and the agent with it. The second is PID 1 of a new PID namespace, lays out a root file system of
its own and drops all rights but those the agent uses. Works without any right where user namespaces are allowed. As
root the same is done as a user without files and processes, so that no walls' failure ends at the machine's root.

Does not cover: faults of the kernel; timing and caches shared with the machine; whatever is readable below /usr.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
from typing import NamedTuple, NoReturn

from reasongym.sandbox import agent, linux
from reasongym.sandbox.inner import Program

__all__ = ["INNER_ID", "STREAMS", "Spec", "main"]

INNER_ID = 1000
"""User and group inside. Not 0, so that executing a file never gives a right back."""
ROOT = "/tmp"
"""Any folder serves: the new root is mounted over it in this mount namespace alone."""
STREAMS = {"fd": "/proc/self/fd", **{name: f"/proc/self/fd/{number}"
                                     for number, name in enumerate(("stdin", "stdout", "stderr"))}}
DEVICES = ("null", "zero", "full", "random", "urandom")
LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
RESIDENTS = 2
"""Processes outside jobs that count as the inner user's: the agent and, but where it is root, the one that waits."""
PARTS = {"work": "/work", "tmp": "/tmp", "shm": "/dev/shm"}
PRIVATE = linux.MS_NOSUID | linux.MS_NODEV
FLAGS = {"mount": linux.CLONE_NEWNS | linux.CLONE_NEWCGROUP, "network": linux.CLONE_NEWNET,
         "ipc": linux.CLONE_NEWIPC, "uts": linux.CLONE_NEWUTS}


class Spec(NamedTuple):
    """binds: folders shown read-only under their own names. masked: folders within them shown empty. without: layers
    given up. work_mb: size of all that can be written. outer_id: the unprivileged user that root becomes, or None."""

    host_pid: int
    binds: tuple[str, ...]
    masked: tuple[str, ...]
    without: tuple[str, ...]
    work_mb: int
    outer_id: int | None


def main(control_fd: int) -> Program:
    """Comes back in a job's process alone, as `agent.main` does."""
    with socket.socket(fileno=os.dup(control_fd)) as control:
        spec = Spec(**json.loads(control.recv(65536)))  # not an argument: those can be read from inside
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: it is the host's to decide
    try:
        agent.preload()
        alive = _leave(spec, control_fd)
        handles = _enter(spec, alive)
    except OSError as error:
        with socket.socket(fileno=control_fd) as control:
            control.send(json.dumps({"failed": f"{error.strerror or error}{_advice(error)}"}).encode())
        os._exit(1)
    return agent.main(control_fd, handles)


def _advice(error: OSError) -> str:
    if error.errno in {errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EINVAL}:
        return ("; expected that a user may make namespaces here; remedy: see the sysctls user.max_user_namespaces, "
                "kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, or use the docker "
                "backend. Inside a container: its profile must allow unshare and mount, and /proc be unmasked")
    return ""


def _leave(spec: Spec, control_fd: int) -> int:
    """Into new namespaces of users and processes. Returns in the second process: a pipe whose end the first holds."""
    host = os.pidfd_open(spec.host_pid)
    if os.getppid() != spec.host_pid:
        os._exit(1)  # it died first
    if spec.outer_id is not None:
        os.setgroups([])
    _new_user_namespace(spec.outer_id)
    if "pid" not in spec.without:
        linux.unshare(linux.CLONE_NEWPID)
    alive, held = os.pipe()
    pid = os.fork()
    if pid != 0:
        os.close(alive)
        with socket.socket(fileno=control_fd) as control:
            control.send(json.dumps({"agent": pid}).encode())
        _wait_outside(pid, host)
    os.close(held)
    os.close(host)
    return alive


def _new_user_namespace(outer_id: int | None) -> None:
    if outer_id is None:
        user, group = os.geteuid(), os.getegid()
        linux.unshare(linux.CLONE_NEWUSER)
        _write_maps("self", user, group)
        return
    # Who maps another user than itself must stand outside the new namespace.
    ready, go = os.pipe()
    me = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(go)
        os.read(ready, 1)
        try:
            _write_maps(str(me), outer_id, outer_id)
        except OSError:
            os._exit(1)
        os._exit(0)
    linux.unshare(linux.CLONE_NEWUSER)
    os.close(go)
    os.close(ready)
    if os.waitpid(helper, 0)[1] != 0:
        raise OSError(errno.EPERM, f"cannot map user {outer_id}")


def _write_maps(process: str, user: int, group: int) -> None:
    maps = {"setgroups": "deny", "uid_map": f"{INNER_ID} {user} 1", "gid_map": f"{INNER_ID} {group} 1"}
    for name, text in maps.items():
        with open(f"/proc/{process}/{name}", "w") as file:
            file.write(text)


def _wait_outside(agent_pid: int, host: int) -> NoReturn:
    """Until the agent ends, or the host does: then the agent is killed, as it is when this process is killed."""
    poll = select.poll()
    inside = os.pidfd_open(agent_pid)
    poll.register(inside, select.POLLIN)
    poll.register(host, select.POLLIN)
    ended = {descriptor for descriptor, _ in poll.poll()}
    if inside not in ended:
        os.kill(agent_pid, signal.SIGKILL)
    _, status = os.waitpid(agent_pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _enter(spec: Spec, alive: int) -> agent.Handles:
    linux.unshare(sum(flag for layer, flag in FLAGS.items() if layer not in spec.without))
    # Opened while this is still the machine's root, who may walk through folders that nobody else may.
    sources = {path: os.open(path, os.O_PATH) for path in spec.binds} if "mount" not in spec.without else {}
    if spec.outer_id is not None:
        os.setresgid(INNER_ID, INNER_ID, INNER_ID)
        os.setresuid(INNER_ID, INNER_ID, INNER_ID)
    # After the change of user, which clears it. Who died before this line is seen on the pipe.
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    if poll.poll(0):
        os._exit(1)
    os.close(alive)
    if "uts" not in spec.without:
        socket.sethostname("sandbox")
    handles = _lay_out(spec, sources) if "mount" not in spec.without else agent.Handles()
    if "capabilities" not in spec.without:
        linux.keep_capabilities(frozenset({linux.CAP_KILL, linux.CAP_SYS_ADMIN}))
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    return handles


def _lay_out(spec: Spec, sources: dict[str, int]) -> agent.Handles:
    """A root of its own, nothing of which can be written but the parts of one small tmpfs."""
    links = {name: os.readlink(f"/{name}") for name in LINKS if os.path.islink(f"/{name}")}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", ROOT, "tmpfs", PRIVATE, "size=1m,nr_inodes=1k,mode=755")
    for path, descriptor in sources.items():
        _show(descriptor, ROOT + path, is_folder=True)
        os.close(descriptor)
    for name, target in links.items():
        os.symlink(target, f"{ROOT}/{name}")
    os.makedirs(f"{ROOT}/dev", exist_ok=True)
    for name, descriptor in devices.items():
        _show(descriptor, f"{ROOT}/dev/{name}", is_folder=False)
        os.close(descriptor)
    for name, target in STREAMS.items():
        os.symlink(target, f"{ROOT}/dev/{name}")
    for path in spec.masked:
        linux.mount("tmpfs", ROOT + path, "tmpfs", PRIVATE | linux.MS_RDONLY, "size=4k,nr_inodes=2,mode=555")
    handles = _lay_out_proc(f"{ROOT}/proc") if "pid" not in spec.without else agent.Handles()
    _lay_out_writable(spec.work_mb)
    os.chdir(ROOT)
    linux.pivot_root(".", ".")  # the old root now lies over the new one
    linux.unmount(".", linux.MNT_DETACH)
    os.chdir("/")
    linux.mount("none", "/", "", linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | PRIVATE)
    return handles


def _lay_out_proc(target: str) -> agent.Handles:
    """For jobs their own processes alone, nothing of the agent and of the kernel's settings. The agent keeps a view of
    everything, by descriptors, which close in a job's process."""
    os.mkdir(target)
    linux.mount("proc", target, "proc", PRIVATE | linux.MS_NOEXEC)
    with open(f"{target}/sys/user/max_user_namespaces", "w") as file:
        file.write("0")  # of this user namespace: none below it, in which a job would have every right
    try:
        pid_counter = os.open(f"{target}/sys/kernel/ns_last_pid", os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # a kernel built without checkpoints
        pid_counter = None
    proc = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    linux.unmount(target, linux.MNT_DETACH)
    linux.mount("proc", target, "proc", PRIVATE | linux.MS_NOEXEC | linux.MS_RDONLY, "hidepid=invisible,subset=pid")
    return agent.Handles(proc, pid_counter)


def _show(descriptor: int, target: str, *, is_folder: bool) -> None:
    if is_folder:
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    linux.mount(f"/proc/self/fd/{descriptor}", target, "", linux.MS_BIND | linux.MS_REC)
    # A device can be written to all the same; its times, which whoever may write to it may set, cannot.
    linux.protect_tree(target, linux.MS_RDONLY | (PRIVATE if is_folder else linux.MS_NOSUID | linux.MS_NOEXEC))


def _lay_out_writable(work_mb: int) -> None:
    """One tmpfs seen in three places, so that its size bounds them together."""
    hidden = f"{ROOT}/hidden"
    os.mkdir(hidden)
    linux.mount("tmpfs", hidden, "tmpfs", PRIVATE | linux.MS_NOEXEC, f"size={work_mb}m,nr_inodes=8k,mode=755")
    for name, place in PARTS.items():
        os.mkdir(f"{hidden}/{name}", 0o700)
        os.makedirs(ROOT + place, exist_ok=True)
        linux.mount(f"{hidden}/{name}", ROOT + place, "", linux.MS_BIND)
        linux.protect_tree(ROOT + place, PRIVATE | linux.MS_NOEXEC)
    linux.unmount(hidden)
    os.rmdir(hidden)
