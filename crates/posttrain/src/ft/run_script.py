# Runs a script as a program, with the raw data where it looks for it.
import os
import runpy
import sys

if not os.path.lexists("data"):
    os.symlink("input", "data")
# As Python does for a program: modules beside it are found.
sys.path.insert(0, os.getcwd())
sys.argv = ["process_data.py"] + ["--debug"] * DEBUG
runpy.run_path("process_data.py", run_name="__main__")
