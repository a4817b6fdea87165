"""A plain fork server, without a jail: what jailed runs are compared with.

The warmed interpreter's own program (first argument) imports and warms up as it does for the
zygote. Then each line of standard input, a script as a JSON string, runs in a forked child; the
child's status is answered on standard output.
"""

import gc
import json
import os
import sys

zygote = {"__name__": "zygote"}
exec(compile(sys.argv[1], "zygote.py", "exec"), zygote)
zygote["import_libraries"](json.loads(sys.argv[2]))
zygote["warm_up"]()
zygote["become_forkable"]()
print("ready", flush=True)

for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        gc.enable()
        exec(compile(json.loads(line), "script.py", "exec"), {"__name__": "__main__"})
        os._exit(0)
    print(os.waitpid(pid, 0)[1], flush=True)
