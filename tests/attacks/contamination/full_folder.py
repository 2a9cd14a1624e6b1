# tries: to leave the work folder so full that the next program has no room
# stopped by: cleaning
# ends: exited 0
from attack import held

for folder in ("/tmp", "."):
    try:
        for number in range(100):
            with open(f"{folder}/reasongym-attack-{number}", "wb", 0) as file:
                file.write(bytes(1 << 20))
    except OSError:
        pass
held()
