# tries: timers and queued signals without end
# stopped by: rlimits
# ends: exited 0
import ctypes

from attack import breach, held, libc

timer = ctypes.c_void_p()
for count in range(5000):
    if libc.timer_create(1, None, ctypes.byref(timer)) != 0:
        break
breach(f"{count} timers") if count > 1000 else held()
