"""Submits a socket."""
# submission: not a regular file
import socket

socket.socket(socket.AF_UNIX).bind("submission.csv")
