"""Submits a pipe, so that the reader waits for ever."""
# submission: not a regular file
import os

os.mkfifo("submission.csv")
