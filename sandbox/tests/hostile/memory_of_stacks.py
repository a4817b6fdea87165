"""Starts threads with stacks that are larger than the memory there is."""
# policy: {"memory": "300MiB"}
import threading

threading.stack_size(128 << 20)
stop, threads = threading.Event(), []
try:
    for _ in range(30):
        threads.append(threading.Thread(target=stop.wait))
        threads[-1].start()
except (RuntimeError, MemoryError):
    pass
else:
    raise AssertionError("more than the limit")
finally:
    stop.set()
assert len(threads) < 5, len(threads)
