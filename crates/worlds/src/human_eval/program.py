# Calls a function that a model wrote, and prints a line for each call after all of them.
import ast as _ast
import json as _json


def _print_calls(function, calls):
    def tried(call):
        positional, named = _ast.literal_eval(call)
        try:
            return "returned", repr(function(*positional, **named))
        except Exception as error:
            return "raised", type(error).__name__

    lines = [_json.dumps(tried(call)) for call in calls]
    print()
    print("\n".join(lines))
