"""Raises an exception whose class has no name, or one that ends whoever asks for it."""
# must: raised, exited
class Meta(type):
    @property
    def __name__(cls):
        raise SystemExit(0)


class Nameless(Exception, metaclass=Meta):
    pass


raise Nameless
