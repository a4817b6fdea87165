"""Walks up from the data folder to where the answers lie on the host."""
import os

# Without a box the host's paths are there to be named, and must not open.
boxed = "@TIER@" != "t3"
tries = [
    "answer.csv", "input/answer.csv", "../answer.csv", "../private/answer.csv",
    "input/../private/answer.csv", "input/../../private/answer.csv",
    "../prepared/private/answer.csv", "../../private/answer.csv", "../../alpha/task.json",
    "/private/answer.csv", "/tasks/alpha/../private/answer.csv", "/work/../private/threshold.json",
]
tries += ["@CORPUS@/alpha/prepared/private/answer.csv", "@CORPUS@/alpha/task.json", "@CORPUS@"]
for path in tries:
    assert not boxed or not os.path.lexists(path), path
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError:
        continue
    raise AssertionError(path)
for start in ("input", "/tasks", "/work") if boxed else ():
    fd = os.open(start, os.O_RDONLY)
    for up in range(1, 9):
        inside = os.listdir(os.open("/".join([".."] * up), os.O_RDONLY, dir_fd=fd))
        assert not {"private", "answer.csv", "threshold.json", "task.json"} & set(inside), inside
