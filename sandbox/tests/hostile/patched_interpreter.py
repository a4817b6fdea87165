"""Breaks Python and the server that it was forked from."""
import builtins
import gc
import json
import sys

import numpy

builtins.open = None
json.dumps = None
numpy.array = None
sys.path[:] = []
sys.modules.clear()
for thing in gc.get_objects():
    if type(thing).__name__ in ("Server", "Run"):
        thing.__dict__.clear()
# --- next run without session
import json

import numpy

assert json.dumps([1]) == "[1]" and numpy.array([1]).sum() == 1
open("x", "w").close()
