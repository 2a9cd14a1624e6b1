# tries: to write into each folder it can see, and to each device, and to change their times, owners and permissions
# stopped by: mount
# ends: exited 0
# limits: cpu_s=5
import os

from attack import breach, held

OWN = ("/work", "/tmp", "/dev/shm", "/proc")
folders = ["/proc", "/proc/sys", "/proc/self", "/sys/fs/cgroup"]
for folder, names, _ in os.walk("/"):
    names[:] = [name for name in names if os.path.join(folder, name) not in OWN and folder.count("/") < 3]
    folders.append(folder)
for top in folders:
    try:
        os.close(os.open(f"{top}/reasongym-attack", os.O_CREAT | os.O_WRONLY))
        breach(f"a file in {top}")
    except OSError:
        pass
    for change in (lambda: os.utime(top), lambda: os.chmod(top, 0o777), lambda: os.chown(top, 1, 1)):
        try:
            change()
            breach(f"changed {top}")
        except OSError:
            pass
for device in os.scandir("/dev"):
    if device.is_symlink() or device.name == "shm":
        continue
    for change in (lambda: os.utime(device.path, (1, 1)), lambda: os.chmod(device.path, 0o777),
                   lambda: os.unlink(device.path)):
        try:
            change()
            breach(f"changed {device.path}")
        except OSError:
            pass
held()
