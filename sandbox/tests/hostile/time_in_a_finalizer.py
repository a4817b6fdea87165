"""Ends, but not quite: an object goes on in its finalizer."""
# policy: {"time_limit": "1s"}
# must: timed out
import atexit


class Stubborn:
    def __del__(self):
        while True:
            pass


kept = Stubborn()
if "@MODE@" == "session":
    del kept
atexit.register(lambda: globals().pop("kept"))
