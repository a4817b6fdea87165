"""Has the kernel move pages to its output, faster than anybody can print."""
# must: printed too much
import os

with open("pages", "wb") as file:
    file.write(bytes(1 << 20))
source = os.open("pages", os.O_RDONLY)
while True:
    os.sendfile(1, source, 0, 1 << 20)
