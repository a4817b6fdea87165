# Runs a bundle's evaluator on a submission. GIVEN, a JSON text, is set above these lines.
#
# The evaluator finds the bundle's files around it, under their names: all are links to the
# released ones, but for the script itself, which must not find its way back to the whole answers
# by its own path, and for the answers, of which it gets the rows that are to be graded.
import json
import os
import runpy
import shutil
import sys

RELEASED, ROOM, SUBMITTED = "/work/input", "/work/evaluation", "submitted.csv"

given = json.loads(GIVEN)
os.mkdir(ROOM)
for name in os.listdir(RELEASED):
    if name not in (given["evaluator"], given["answers_name"], SUBMITTED):
        os.symlink(os.path.join(RELEASED, name), os.path.join(ROOM, name))
shutil.copyfile(os.path.join(RELEASED, given["evaluator"]), os.path.join(ROOM, given["evaluator"]))
for name, text in ((given["answers_name"], given["answers"]), (SUBMITTED, given["submission"])):
    with open(os.path.join(ROOM, name), "w", encoding="utf-8", newline="") as file:
        file.write(text)
os.chdir(ROOM)
sys.path[0] = ROOM
sys.argv = [given["evaluator"], "--submission_path", SUBMITTED]
runpy.run_path(given["evaluator"], run_name="__main__")
