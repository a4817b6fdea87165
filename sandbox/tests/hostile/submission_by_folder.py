"""Submits a folder."""
# submission: not a regular file
import os

os.mkdir("submission.csv")
