"""Reads every readable file of plausible kind for the secret, and every name for the answers."""
import os

canary = "@CANARY@"[::-1].encode()
seen = 0
for folder, folders, files in os.walk("/"):
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
    assert not os.path.exists(gone), gone
assert seen > 0
