# Runs a user's scorer, and says what it printed or how it failed.
import contextlib
import io
import json
import sys
import traceback


def execute(source, name, text):
    """Runs the scorer as the module `name`, with `text` on standard input; returns what it defines."""
    sys.stdin = io.StringIO(text)
    names = {"__name__": name}
    exec(compile(source, "scorer.py", "exec"), names)
    return names


def tell(work):
    """Prints what `work` returns, or else what it printed, or how it failed."""
    printed, text = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            text = work()
    except SystemExit as end:
        if end.code not in (None, 0):
            return print(json.dumps({"failed": f"it exited with {end.code}"}))
    except BaseException as error:
        frames = [it for it in traceback.extract_tb(error.__traceback__) if it.filename == "scorer.py"]
        place = f" (scorer.py, line {frames[-1].lineno})" if frames else ""
        failed = f"{type(error).__name__}: {error}{place}"[:2000]
        return print(json.dumps({"failed": failed}))
    print(json.dumps({"printed": printed.getvalue()[-20000:] if text is None else text}))


def tell_score(source, line):
    def score():
        execute(source, "__main__", line + "\n")

    tell(score)


def tell_aggregate(source, items):
    def aggregate():
        return json.dumps(float(execute(source, "scorer", "")["aggregate"](items)))

    tell(aggregate)
