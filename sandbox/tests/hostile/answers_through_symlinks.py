"""Plants links to the answers and reads through them, hoping somebody else resolves them."""
import os

targets = [
    "@CORPUS@/alpha/prepared/private/answer.csv", "../private/answer.csv",
    "/proc/1/root@CORPUS@/alpha/prepared/private/answer.csv", "/proc/self/root/../private/answer.csv",
]
for number, target in enumerate(targets):
    link = f"link{number}"
    os.symlink(target, link)
    try:
        open(link).read()
    except OSError:
        continue
    raise AssertionError(target)
for operation in (os.rename, os.link, os.symlink):
    try:
        operation("link0", "input/answer.csv")
    except OSError:
        continue
    raise AssertionError(operation)
try:
    # The next run would get the data mounted on whatever stands here.
    os.rename("input", "elsewhere")
except OSError:
    pass
else:
    # Without a box it is but a link, and put there anew before each run.
    assert "@TIER@" == "t3", "input was moved"
