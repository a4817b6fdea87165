"""Forks until the kernel says no, and goes on in every process; the grading must not suffer."""

import os
import subprocess

from common import hint, model, submit

honest = model("honest", 0.5)
began = 0
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            while True:
                try:
                    if os.fork() == 0:
                        os.execvp("sleep", ["sleep", hint("marker")])
                except OSError:
                    os.execvp("sleep", ["sleep", hint("marker")])
        began += 1
    except OSError:
        break
assert began < 200, began
try:
    subprocess.run(["true"], check=True)
    raise AssertionError("there is room for another process")
except OSError:
    pass
status, entry = submit(honest)
assert (status, entry["score"]) == (200, 0.5), entry
