"""Raises an exception that raises when it is shown."""
# must: raised Broken
class Broken(Exception):
    def __str__(self):
        raise self

    __repr__ = __str__


raise Broken
