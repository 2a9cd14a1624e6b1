# tries: to learn the machine's name, the sixth argument
# stopped by: uts
# ends: exited 0
# open without: uts
import os
import socket
import sys

from attack import breach, held

names = {os.uname().nodename, socket.gethostname()}
breach(names) if sys.argv[6] in names else held()
