"""One step of a generator: what its programs share.

The work dir holds `generate_task_env.py` (the generator), `request.json` (the step) and, for some
steps, `given.bin` (rows). The result is `inspection.json` or `result.bin`; a step that a generator
cannot take leaves `refusal.json` with a code and a reason. A generator shares the process of its
step, so nothing written here is trusted: every value is checked again where it is read. Only the
step `inspect` executes nothing of the generator.

This fragment comes first; `inspection.py`, or `framed.py` and `calls.py`, follow it.
"""

import errno
import json
import traceback

FILE = "generate_task_env.py"


class Refused(Exception):
    """What a generator does wrong: a code, and the reason in words."""

    def __init__(self, code, detail):
        super().__init__(detail)
        self.code = code
        self.detail = detail


def said(error):
    """The last line of a traceback, and the generator's line that it came from."""
    last = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    if not frames:
        return last
    frame = frames[-1]
    return f"{last} (line {frame.lineno}, in `{frame.name}`: `{frame.line}`)"


def is_a_limit(error):
    """Whether it is the end of memory or disk space, which the sandbox reports itself."""
    full = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
    return isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno in full


def take(steps):
    """Takes the step that is asked for."""
    with open("request.json") as file:
        request = json.load(file)
    with open(FILE, "rb") as file:
        source = file.read()
    try:
        steps[request["step"]](source, request)
        return
    except Refused as error:
        refusal = {"code": error.code, "detail": error.detail}
    except BaseException as error:
        if is_a_limit(error):
            raise
        refusal = {"code": "raised", "detail": said(error)}
    with open("refusal.json", "w") as file:
        json.dump(refusal, file)
