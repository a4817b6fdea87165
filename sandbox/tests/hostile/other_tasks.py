"""Looks for the data of another task that the same sandbox serves."""
import os

assert os.listdir("/tasks") == [] and os.listdir("/workspaces") == []
assert not os.path.exists("/tasks/beta") and not os.path.exists("/tasks/alpha")
for folder, _, files in os.walk("/work"):
    for name in files:
        assert "beta" not in open(os.path.join(folder, name)).read(), name
assert "alpha" in open("/work/input/test.csv").read()
