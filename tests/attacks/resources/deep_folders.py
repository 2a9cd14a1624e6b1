# tries: folders nested deeper than any path, so that nobody can empty the work folder
# stopped by: cleaning mount
# ends: exited 0
# limits: cpu_s=5
import os

from attack import held

try:
    for _ in range(2000):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
except OSError:
    pass
held()
