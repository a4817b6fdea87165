"""Has the kernel watch every descriptor from every other one."""
import os
import select

watchers = []
pipes = [os.pipe() for _ in range(60)]
try:
    while True:
        watchers.append(select.epoll())
        for reader, writer in pipes:
            watchers[-1].register(reader)
            watchers[-1].register(writer)
except OSError:
    pass
assert 10 < len(watchers) < 200, len(watchers)
