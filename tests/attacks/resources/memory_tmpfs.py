# tries: to fill memory with files in each folder that can be written to
# stopped by: mount
# ends: exited 0

from attack import breach, held

written = 0
for folder in ("/work", "/tmp", "/dev/shm"):
    try:
        for number in range(3):
            with open(f"{folder}/reasongym-attack-{number}", "wb", 0) as file:
                for _ in range(15):
                    written += file.write(bytes(1 << 18))
    except OSError:
        pass
breach(f"{written} bytes") if written > 8 << 20 else held()
