"""Imports sockets."""
# base: table
# must: bad_import
from socket import create_connection
