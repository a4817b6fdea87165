"""Looks for the hidden items: by path, by links, through /proc, and in everything that can be read."""

import os
from pathlib import Path

from common import OUTPUT, fails, hint, model, submit

canary = hint("canary")[::-1].encode()
for path in hint("sealed"):
    for way in ["", "/proc/1/root", "/proc/self/root", "../../../../..", "/proc/self/cwd/../.."]:
        fails(open, way + path)
    link = OUTPUT / f"link-{os.path.basename(path)}"
    link.symlink_to(path)
    fails(open, link)
    fails(os.link, path, OUTPUT / "hard")
# Links for the server to follow: to the file, to its folder, and as files of a model.
honest = model("honest", 0.5)
(OUTPUT / "folder").symlink_to(os.path.dirname(hint("sealed")[0]))
for submission in ["output/folder", "output/folder/x", hint("sealed")[0], "output/../../sealed"]:
    status, answer = submit(submission)
    assert status in (400, 422), (submission, status, answer)
(OUTPUT / "linked").mkdir()
for name in ["config.json", "model.safetensors"]:
    (OUTPUT / "linked" / name).symlink_to(hint("sealed")[0])
status, answer = submit("output/linked")
assert status == 422 and canary.decode() not in answer, answer
seen = 0
for folder, folders, names in os.walk("/"):
    if folder.startswith(("/proc", "/usr", "/opt", "/sys", "/toolbox/programs")):
        folders.clear()
        continue
    for name in names:
        path = Path(folder) / name
        if path.is_file():
            seen += 1
            content = path.read_bytes()
            assert canary not in content, path
assert seen > 5, seen
for name in ["mounts", "mountinfo"]:
    text = Path(f"/proc/self/{name}").read_text()
    assert "sealed" not in text, text
assert "seed" not in Path(os.environ["DATA_PATH"], "task.toml").read_text()
status, entry = submit(honest)
assert (status, entry["score"]) == (200, 0.5), entry
