"""Leaves a secret and a module of a well-known name in its work dir."""
open("secret.txt", "w").write("of episode one")
open("json.py", "w").write("raise SystemExit('planted')")
# --- next episode
import json
import os

for folder, _, files in os.walk("/"):
    if folder == "/":
        _.remove("proc")
    assert "secret.txt" not in files, folder
assert os.listdir("/workspaces") == [] and os.listdir("/work") == ["input"]
assert json.dumps([1]) == "[1]"
