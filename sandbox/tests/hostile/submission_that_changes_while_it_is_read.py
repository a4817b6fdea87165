"""Leaves a process that swaps the submission for a link, again and again."""
# submission: 5 bytes, is or goes through a link, there is no file
import os

if os.fork() == 0:
    os.setsid()
    while True:
        open("plain", "w").write("id,y\n")
        os.rename("plain", "submission.csv")
        os.symlink("/etc/passwd", "link")
        os.rename("link", "submission.csv")
while not os.path.lexists("submission.csv"):
    pass
