# tries: to read the machine's interfaces and connections
# stopped by: network mount
# ends: exited 0
# open without: network
from attack import breach, held

for name in ("dev", "tcp", "unix", "route", "arp"):
    try:
        lines = open(f"/proc/self/net/{name}").read().splitlines()
    except OSError:
        continue
    found = [line for line in lines[1:] if "lo:" not in line and "Inter" not in line and "face" not in line]
    if name == "dev" and any("lo:" in line and line.split()[1] != "0" for line in lines):
        breach("the loopback carries traffic of others")
    elif name != "unix" and found:
        breach(f"{name}: {found[0]}")
held()
