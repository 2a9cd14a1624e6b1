# tries: to gain rights by programs that give them: setuid files shown, setuid files of its own, changes of user
# stopped by: mount capabilities user
# ends: exited 0
import os
import shutil

from attack import attempt, breach, held

copy = shutil.copy("/usr/bin/env", "/tmp/env")
os.chmod(copy, 0o6777)
attempt("execute what it wrote", os.execv, copy, [copy])
for change in (os.setuid, os.setgid, os.seteuid, os.setegid, lambda number: os.setresuid(number, number, number)):
    attempt("become root", change, 0)
attempt("groups", os.setgroups, [0])
for program in ("/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/newuidmap", "/bin/mount", "/usr/bin/pkexec"):
    if not os.path.exists(program):
        continue
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        for descriptor in (1, 2):
            os.dup2(theirs, descriptor)
        os.execv("/usr/bin/env", ["env", program, "-c", "id -u"])
    os.close(theirs)
    os.waitpid(child, 0)
    if os.read(ours, 100).startswith(b"0\n"):
        breach(program)
if "\t0\t" in open("/proc/self/status").read().partition("Uid:")[2].splitlines()[0]:
    breach("root")
held()
