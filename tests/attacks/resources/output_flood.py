# tries: to print without end on both streams at once, and so to fill the host's memory
# stopped by: output watch
# ends: cpu_time or wall_time
# limits: wall_s=2
import os

while True:
    os.write(1, b"x" * 65536)
    os.write(2, b"y" * 65536)
