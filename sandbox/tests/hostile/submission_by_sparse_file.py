"""Submits a file that would fill the reader's memory."""
# submission: at most 1MiB are read
open("submission.csv", "wb").truncate(200 << 20)
