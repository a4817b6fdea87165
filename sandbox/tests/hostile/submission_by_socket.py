"""Submits a socket."""
# must in t3: raised PermissionError
# submission: not a regular file, there is no file
import socket

socket.socket(socket.AF_UNIX).bind("submission.csv")
