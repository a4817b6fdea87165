"""Ends, but for a thread that does not."""
# policy: {"time_limit": "1s"}
# must: timed out
# must in session: finished
import threading
import time

threading.Thread(target=time.sleep, args=(60,)).start()
