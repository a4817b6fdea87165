"""Takes memory when it should be ending."""
# policy: {"memory": "200MiB", "time_limit": "10s"}
# must: finished, ran out of memory
import atexit


@atexit.register
def take():
    kept = []
    while True:
        kept.append(bytearray(10 << 20))
