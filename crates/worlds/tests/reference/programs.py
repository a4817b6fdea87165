"""Runs functions as their texts say: an item as JSON a line in, the results of its tests out.

Also counts the examples of the docstring that do not come out as they stand there.
"""

import doctest
import json
import sys

for line in sys.stdin:
    item = json.loads(line)
    space = {}
    exec(item["prompt"] + item["canonical_solution"] + "\n" + item["check"], space)
    function = space[item["entry_point"]]
    space["check"](function)
    examples = doctest.DocTestFinder(recurse=False).find(function, globs=space)
    runs = [doctest.DocTestRunner(verbose=False).run(example, out=lambda _: None) for example in examples]
    answer = {
        "examples": sum(run.attempted for run in runs),
        "failed": sum(run.failed for run in runs),
        "results": [function(*test["arguments"]) for test in item["tests"]],
    }
    print(json.dumps(answer))
