# --- the worker: the forked child ---------------------------------------------------------------
# Part of the zygote's program (see `zygote.py`): what a run's process does, from the fork to its
# end.

import atexit
import builtins
import ctypes
import errno
import gc
import json
import linecache
import os
import random
import signal
import sys
import threading
import traceback
import types

# Where a run in a box finds itself.
WORK = "/work"
SCRIPT = "script.py"
# A worker leaves word in pages shared with this process: one byte of kind, then text up to a
# zero byte. Two pages, because the first must stay out of the script's reach: whoever could write
# there could pass its own failure off as ours.
# The gate says whether the jail stands; it is unmapped before the script runs.
PENDING, JAILED, UNJAILED = range(3)
# The note says how the script ended, on its own word.
RUNNING, FINISHED, RAISED, EXITED, MEMORY, DISK = range(6)
PAGE = 4096
DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def write_page(page, kind, text=""):
    """Leaves word for the zygote; the last word counts."""
    body = text.encode("utf-8", "replace")[: PAGE - 2] + b"\0"
    page[1 : 1 + len(body)] = body
    page[0] = kind


def read_page(page):
    return page[0], page[1:].split(b"\0", 1)[0].decode("utf-8", "replace")


def jail(library, cell, gate):
    """Puts this process into its cell; false if the cell does not stand."""
    spec = json.dumps(cell).encode()
    report = ctypes.create_string_buffer(PAGE)
    length = library.sandbox_enter(spec, len(spec), report, PAGE - 2)
    write_page(gate, JAILED if length >= 0 else UNJAILED, report.raw[: abs(length)].decode())
    gate.close()
    return length >= 0


def work(library, cell, code_fd, stdout, stderr, gate, note):
    """Jails this process and executes the script; returns the exit code."""
    null = os.open("/dev/null", os.O_RDONLY)
    for target, source in ((0, null), (1, stdout), (2, stderr)):
        os.dup2(source, target)
    with open(code_fd, "rb") as file:
        file.seek(0)
        source = file.read()
    if not jail(library, cell, gate):
        return 125
    folder = WORK
    if cell["bare"]:
        folder = os.environ["HOME"] = cell["workspace"]
        os.environ["TMPDIR"] = scratch(folder)
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.__stdout__, sys.__stderr__, sys.__stdin__ = sys.stdout, sys.stderr, sys.stdin
    # Every run draws numbers of its own unless the script seeds them itself.
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    gc.enable()
    return execute(source, note, folder)


def execute(source, note, folder):
    """Executes `source` as a fresh `__main__` and reports how it ended."""
    main = types.ModuleType("__main__")
    main.__file__ = SCRIPT
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.argv = [SCRIPT]
    sys.path.insert(0, folder)
    ending, text, code = FINISHED, "", 0
    try:
        try:
            text_source = source.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SyntaxError(f"the script is not UTF-8: {error}") from None
        lines = text_source.splitlines(keepends=True)
        # Lets tracebacks show the script's lines although there is no such file.
        linecache.cache[SCRIPT] = (len(source), None, lines, SCRIPT)
        exec(compile(text_source, SCRIPT, "exec"), main.__dict__)
    except SystemExit as error:
        code = exit_code(error.code)
        ending = EXITED if code else FINISHED
    except BaseException as error:
        ending, text, code = RAISED, type(error).__name__, 1
        if isinstance(error, MemoryError):
            ending = MEMORY
        elif isinstance(error, OSError) and error.errno in DISK_ERRORS:
            ending = DISK
        print_error(error)
    # As at the end of an ordinary interpreter: threads, exit handlers, buffers.
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException as error:
        print_error(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    write_page(note, ending, text)
    return code


def exit_code(value):
    """What `sys.exit(value)` means, in the range that a process can end with."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF
    print(value, file=sys.stderr)
    return 1


def print_error(error):
    """Prints the traceback without the frames of this file."""
    try:
        frame = error.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
            frame = frame.tb_next
        traceback.print_exception(type(error), error, frame)
    except BaseException:
        try:
            os.write(2, f"{type(error).__name__} (its traceback could not be printed)\n".encode())
        except OSError:
            pass
