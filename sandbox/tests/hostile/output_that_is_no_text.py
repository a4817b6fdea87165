"""Prints every byte there is, and what steers terminals."""
import sys

sys.stdout.buffer.write(bytes(range(256)) * 10)
print("\x1b[2J\x1b]0;title\x07\x00\ud800")
