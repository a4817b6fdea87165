"""Imports system calls inside a function, for random bytes of the system."""
# base: table
# must: bad_import
def score(columns):
    import os

    return columns["load"] + os.urandom(1)[0]
