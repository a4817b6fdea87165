"""Looks for the data of another task that the same sandbox serves."""
import os

if "@TIER@" != "t3":
    assert os.listdir("/tasks") == [] and os.listdir("/workspaces") == []
    assert not os.path.exists("/tasks/beta") and not os.path.exists("/tasks/alpha")
try:
    open("@CORPUS@/beta/prepared/public/train.csv")
except OSError:
    pass
else:
    raise AssertionError("another task's data")
for folder, _, files in os.walk("."):
    for name in files:
        assert "beta" not in open(os.path.join(folder, name)).read(), name
assert "alpha" in open("input/test.csv").read()
