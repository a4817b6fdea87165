"""Waits for somebody who never comes."""
# policy: {"time_limit": "1s"}
# must: timed out
import os

os.mkfifo("pipe")
open("pipe").read()
