"""Leaves names in modules and in the environment."""
import builtins
import os

import numpy

builtins.leftover = numpy.leftover = 1
os.environ["LEFTOVER"] = "1"
os.umask(0o777)
os.chdir("/tmp")
# --- next run without session
import builtins
import os

import numpy

assert not hasattr(builtins, "leftover") and not hasattr(numpy, "leftover")
assert "LEFTOVER" not in os.environ and os.getcwd() == os.environ["HOME"]
assert os.umask(0o022) == 0o022
