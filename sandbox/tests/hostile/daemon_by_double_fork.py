"""Leaves a process in the background that goes on after the run."""
# at most: 8s
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for step in range(400):
            open("alive", "w").write(str(step))
            time.sleep(0.02)
    os._exit(0)
while not os.path.exists("alive"):
    time.sleep(0.01)
# --- next run
import os
import time

before = os.stat("alive").st_mtime_ns
time.sleep(0.3)
assert os.stat("alive").st_mtime_ns == before, "it still writes"
if "@TIER@" != "t3":
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) > 2]
    # A session has its own dead to bury.
    states = [open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] for pid in others]
    assert set(states) <= ({"Z"} if "@MODE@" == "session" else set()), states
