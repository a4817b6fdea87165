"""Leaves the root by a folder that was open before the root was changed."""
import os

os.mkdir("cell")
outside = os.open(".", os.O_RDONLY)
try:
    os.chroot("cell")
except PermissionError:
    pass
else:
    raise AssertionError("the root was changed")
os.fchdir(outside)
for _ in range(100):
    os.chdir("..")
boxed = "@TIER@" != "t3"
assert not boxed or not os.path.exists("home") and not os.path.exists("@CORPUS@".lstrip("/"))
# In a box /root may be there, with Python in it and nothing else.
for place in ("@CORPUS@".lstrip("/"), "home") + (() if boxed else ("root",)):
    try:
        os.listdir(place)
    except OSError:
        continue
    raise AssertionError(place)
