"""A grader for tests: `grader.py CONTROL` gets a job on standard input and prints a result.

The score is the first weight of the model, as a share of the items that are won, and its square for
`instructions`. CONTROL/log gets a line
when a grading begins and one when it is done; CONTROL/mode says what goes wrong instead.
"""

import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

control = Path(sys.argv[1])
job = json.load(sys.stdin)


def log(word):
    with (control / "log").open("a") as file:
        file.write(f"{word} {job['part']} {Path(job['model']).name} {os.getpid()}\n")


log("begin")
mode_file = control / "mode"
mode = mode_file.read_text() if mode_file.exists() else ""
if mode == "fail-once":
    mode_file.unlink()
    sys.exit("out of memory")
if mode == "fail":
    sys.exit("out of memory, in /sealed/secret")
if mode == "killed":
    os.kill(os.getpid(), 9)
if mode == "hang":
    child = subprocess.Popen(["sleep", "1000"])
    (control / "child").write_text(str(child.pid))
    time.sleep(1000)
if mode == "leave":
    child = subprocess.Popen(["sleep", "1000"])
    (control / "child").write_text(str(child.pid))
if mode == "prose":
    print("The model does very well.")
    sys.exit()
if mode == "refuse":
    print(json.dumps({"refused": "it prints nothing"}))
    sys.exit()
if mode == "busy":
    print(json.dumps({"busy": "another process has 70 GiB"}))
    sys.exit()
if mode == "slow":
    time.sleep(1.0)
with (Path(job["model"]) / "model.safetensors").open("rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    begin, _ = header["model.embed_tokens.weight"]["data_offsets"]
    file.seek(8 + length + begin)
    (first,) = struct.unpack("<f", file.read(4))
count = job["items"]
won = round(first * count)
items = [
    {"id": f"{job['id']}-{job['part']}-{number:05}", "score": float(number < won), "tags": ["heat"]}
    for number in range(count)
]
score = won / count
if job["id"] == "instructions":
    # A win rate, which is no mean of the items.
    score = score**2
if mode == "inflate":
    score += 0.1
if mode == "drop":
    items.pop()
if mode == "flood":
    print("x" * (65 << 20))
items.reverse()
print(json.dumps({"score": score, "items": items}))
sys.stdout.flush()
log("done")
