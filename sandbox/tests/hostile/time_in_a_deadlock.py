"""Waits for itself."""
# policy: {"time_limit": "1s"}
# must: timed out
import threading

lock = threading.Lock()
lock.acquire()
lock.acquire()
