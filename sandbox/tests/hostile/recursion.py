"""Calls itself without end."""
# must: raised RecursionError
def f():
    f()


f()
