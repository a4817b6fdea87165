# Calls a function that a model wrote, and prints a line for each call after all of them.
import ast as _ast
import json as _json


def _tried(call):
    positional, named = _ast.literal_eval(call)
    try:
        return "returned", repr(_function(*positional, **named))
    except Exception as error:
        return "raised", type(error).__name__


_lines = [_json.dumps(_tried(_call)) for _call in _calls]
print()
print("\n".join(_lines))
