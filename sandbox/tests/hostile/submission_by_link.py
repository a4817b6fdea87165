"""Submits a link to the system's own files."""
# submission: is or goes through a link
import os

os.symlink("/etc/passwd", "submission.csv")
