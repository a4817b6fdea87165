"""Reads every readable file of plausible kind for the secret, and every name for the answers."""
import os

# Without a box the host's paths are there to be named, and must not open.
boxed = "@TIER@" != "t3"
canary = "@CANARY@"[::-1].encode()
seen = 0
if not boxed:
    # The root cannot be listed, so the search goes by what may be there.
    for start in ("/", "/home", "/root", "/tmp", "/var", "/mnt", "@CORPUS@", "@CORPUS@/alpha", ".."):
        try:
            os.listdir(start)
        except OSError:
            continue
        raise AssertionError(start)
for folder, folders, files in os.walk("/" if boxed else ".", followlinks=not boxed):
    if folder == "/":
        # The kernel's tree is another program's business; the rest of the system is not data.
        folders[:] = [name for name in folders if name not in ("proc", "usr", "opt", "root", "dev")]
    for name in files + folders:
        assert name not in ("answer.csv", "threshold.json", "private"), (folder, name)
    for name in files:
        seen += 1
        try:
            with open(os.path.join(folder, name), "rb") as file:
                assert canary not in file.read(1 << 20), (folder, name)
        except OSError:
            pass
for place in ("/opt", "/root", "/home", "/var", "/mnt", "/usr/src", "/usr/share/doc"):
    for folder, _, files in os.walk(place):
        assert "answer.csv" not in files, folder
for gone in ("/home", "/var", "/mnt", "/etc/shadow", "/etc/hostname", "/sys", "/usr/src"):
    assert not boxed or not os.path.exists(gone), gone
    assert not os.access(gone, os.R_OK) or not boxed, gone
assert seen > 0
