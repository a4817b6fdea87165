"""Hides a deleted file in a program that nobody may look into, for its user may not read it."""
# must: ran out of disk space
import os
import time

shell = os.path.realpath("/bin/sh")
program = os.open("shell", os.O_CREAT | os.O_WRONLY, 0o111)
os.write(program, open(shell, "rb").read())
os.close(program)
hidden = os.open("hidden", os.O_CREAT | os.O_RDWR)
os.unlink("hidden")
if os.fork() == 0:
    os.dup2(hidden, 1)
    fill = "for n in 1 2 3 4 5; do head -c 4000000 /dev/zero; sleep 0.1; done; sleep 20"
    os.execv("./shell", ["sh", "-c", fill])
os.close(hidden)
time.sleep(5)
# Where the disk is of its own, the other program's writes have failed by now.
with open("more", "wb") as file:
    file.write(bytes(16 << 20))
