# Runs the tests of a function on a candidate. Nothing that a model wrote runs in this process.
import ast
import json
import random


class Failed(Exception):
    """The candidate raised an exception."""


def check(item, candidate):
    """What went wrong; `None` if the tests pass."""
    # The same calls each time.
    random.seed(0)
    # Tests may call what the prompt defines.
    space = {"__name__": "tests"}
    exec(compile(item["prompt"] + "\n" + item["test"], "tests.py", "exec"), space)
    space[item["entry_point"]] = candidate
    try:
        space["check"](candidate)
    except Failed:
        return "raised"
    except Exception:
        return "wrong"
    return None


def as_call(positional, named):
    return repr((positional, named))


def record(item):
    """Prints the calls of the tests, as the released solution gets them."""
    space = {"__name__": "solution"}
    exec(compile(item["prompt"] + item["canonical_solution"], "solution.py", "exec"), space)
    calls = []

    def solution(*positional, **named):
        calls.append(as_call(positional, named))
        return space[item["entry_point"]](*positional, **named)

    mistake = check(item, solution)
    if mistake is None:
        # Who calls it will read them so.
        for call in calls:
            ast.literal_eval(call)
    print(json.dumps({"mistake": mistake, "calls": calls}))


def compare(item, calls, results):
    """Prints what the tests say of a program that gave these results for these calls."""
    left = list(zip(calls, results, strict=True))

    def candidate(*positional, **named):
        if not left or left[0][0] != as_call(positional, named):
            raise AssertionError("another call than of the solution")
        ended, what = left.pop(0)[1]
        if ended == "raised":
            raise Failed(what)
        try:
            return ast.literal_eval(what)
        except Exception:
            # It is no number, text or collection of these, and equal to nothing that a test expects.
            return object()

    print(json.dumps({"mistake": check(item, candidate), "calls": calls}))
