# Runs a user's scorer on one line, and says what it printed or how it failed.
import contextlib
import io
import json
import sys
import traceback


def run(source, line):
    printed = io.StringIO()
    sys.stdin = io.StringIO(line + "\n")
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "scorer.py", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        if end.code not in (None, 0):
            return {"failed": f"it exited with {end.code}"}
    except BaseException as error:
        frames = [it for it in traceback.extract_tb(error.__traceback__) if it.filename == "scorer.py"]
        place = f" (scorer.py, line {frames[-1].lineno})" if frames else ""
        return {"failed": f"{type(error).__name__}: {error}{place}"[:2000]}
    return {"printed": printed.getvalue()[-20000:]}


def tell(source, line):
    print(json.dumps(run(source, line)))
