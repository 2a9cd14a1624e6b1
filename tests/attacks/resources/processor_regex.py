# tries: a pattern whose matching takes time exponential in the text
# stopped by: rlimits watch
# ends: cpu_time
import re

re.match("(a+)+b", "a" * 60)
