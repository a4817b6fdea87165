"""Leaves a secret and a module of a well-known name in its work dir."""
open("secret.txt", "w").write("of episode one")
open("json.py", "w").write("raise SystemExit('planted')")
# --- next episode
import json
import os

if "@TIER@" != "t3":
    for folder, folders, files in os.walk("/"):
        if folder == "/":
            folders.remove("proc")
        assert "secret.txt" not in files, folder
    assert os.listdir("/workspaces") == []
assert os.listdir(".") == ["input"]
for number in range(500):
    for path in (f"../{number}/secret.txt", f"/workspaces/{number}/secret.txt"):
        try:
            open(path)
        except OSError:
            continue
        raise AssertionError(path)
assert json.dumps([1]) == "[1]"
