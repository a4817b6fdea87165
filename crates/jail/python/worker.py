# --- the worker: the forked child ---------------------------------------------------------------
# Part of the zygote's program (see `zygote.py`): what a run's process does, from the fork to its
# end.

import ast
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
import socket
import sys
import threading
import traceback
import types

# The work dir of a run in a box.
WORK = "/work"
SCRIPT = "script.py"
# A worker reports through pages of memory shared with the zygote: one byte of kind, then text up to
# a zero byte. There are two, because the script must not reach the first: a script that could write
# there could make its own failure look like a fault of the sandbox.
# The gate holds whether the jail was built; it is unmapped before the script runs.
PENDING, JAILED, UNJAILED = range(3)
# The note holds how the script ended, as the script's process reports it.
RUNNING, FINISHED, RAISED, EXITED, MEMORY, DISK = range(6)
PAGE = 4096
# The descriptor of the socket through which a session gets its next code.
DOOR = 3
DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def write_page(page, kind, text=""):
    """Writes a report for the zygote; a later report replaces it."""
    body = text.encode("utf-8", "replace")[: PAGE - 2] + b"\0"
    page[1 : 1 + len(body)] = body
    page[0] = kind


def read_page(page):
    return page[0], page[1:].split(b"\0", 1)[0].decode("utf-8", "replace")


def isolate(library, gate):
    """Takes the steps into the jail that are the same for all runs; false if one failed."""
    report = ctypes.create_string_buffer(PAGE)
    length = library.sandbox_isolate(report, PAGE - 2)
    if length < 0:
        write_page(gate, UNJAILED, report.raw[:-length].decode())
    return length >= 0


def jail(library, cell, gate):
    """Puts this process into its jail; false if the jail could not be built."""
    spec = json.dumps(cell).encode()
    report = ctypes.create_string_buffer(PAGE)
    length = library.sandbox_enter(spec, len(spec), report, PAGE - 2)
    write_page(gate, JAILED if length >= 0 else UNJAILED, report.raw[: abs(length)].decode())
    return length >= 0


def wait_for_work(library, worker, door):
    """The main function of a spare: takes the first steps into the jail now, the others for a run."""
    isolated = isolate(library, worker.gate)
    packet, fds, _, _ = socket.recv_fds(door, PACKET, 16)
    if not packet or not isolated:
        return 125
    cell = json.loads(packet)
    stdout, stderr, code, *cell["doors"] = fds
    source = read_code(code)
    if cell["session"]:
        # In the place of the zygote's program, which has been read.
        os.dup2(door.detach(), DOOR, inheritable=False)
    return work(library, cell, source, stdout, stderr, worker.gate, worker.note)


def work(library, cell, source, stdout, stderr, gate, note):
    """Jails this process and executes what it is given; returns the exit code."""
    null = os.open("/dev/null", os.O_RDONLY)
    for target, stream in ((0, null), (1, stdout), (2, stderr)):
        os.dup2(stream, target)
    if not jail(library, cell, gate):
        return 125
    # Out of the script's reach.
    gate.close()
    folder = WORK
    if cell["bare"]:
        folder = os.environ["HOME"] = cell["workspace"]
        os.environ["TMPDIR"] = scratch(folder)
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None

    if cell["gpus"]:
        # Read by CUDA when it is first used, which nobody has done in this process.
        os.environ["CUDA_VISIBLE_DEVICES"] = cell["gpus"]["visible"]

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
    own = os.getpid()
    main = fresh_main(folder)
    if cell["session"]:
        converse(main, source, note)
    return finish(note, own, *execute(main, source, SCRIPT)[:3])


def read_code(fd):
    """All of a file in memory, wherever its position is."""
    return os.pread(fd, os.fstat(fd).st_size, 0)


def fresh_main(folder):
    """A `__main__` as at the start of a script."""
    main = types.ModuleType("__main__")
    main.__file__ = SCRIPT
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.argv = [SCRIPT]
    sys.path.insert(0, folder)
    return main


def converse(main, source, note):
    """Executes one code after the other in the same `main`; ends with the one that wants it."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=DOOR)
    calls, own = 1, os.getpid()
    while True:
        ending, text, code, left = execute(main, source, f"call_{calls}.py", show_last=True)
        # What comes next is not for a child that the script has forked and not ended.
        if left or os.getpid() != own:
            # At once: a door that is seen to be shut before is one that the script has shut.
            os._exit(finish(note, own, ending, text, code))
        flush()
        write_page(note, ending, text)
        # Here it is stopped until it is asked for more.
        door.send(b"done")
        _, [code], _, _ = socket.recv_fds(door, 16, 1)
        source = read_code(code)
        os.close(code)
        calls += 1


def execute(main, source, name, show_last=False):
    """Executes `source` in `main`: how it ended, the exception's name, the exit code, and whether
    it wants the interpreter to end.

    With `show_last`, the value of an expression at its end is shown, as in a notebook.
    """
    try:
        try:
            text_source = source.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SyntaxError(f"the script is not UTF-8: {error}") from None
        lines = text_source.splitlines(keepends=True)
        # Lets tracebacks show the script's lines although there is no such file.
        linecache.cache[name] = (len(source), None, lines, name)
        for code in compiled(text_source, name, show_last):
            exec(code, main.__dict__)
    except SystemExit as error:
        code = exit_code(error.code)
        return EXITED if code else FINISHED, "", code, True
    except BaseException as error:
        ending = RAISED
        if isinstance(error, MemoryError):
            ending = MEMORY
        elif isinstance(error, OSError) and error.errno in DISK_ERRORS:
            ending = DISK
        print_error(error)
        return ending, type(error).__name__, 1, False
    return FINISHED, "", 0, False


def compiled(source, name, show_last):
    """The code objects of a source, in order."""
    if not show_last:
        return [compile(source, name, "exec")]
    tree = ast.parse(source, name)
    shown = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
    return [compile(tree, name, "exec"), compile(ast.Interactive(shown), name, "single")]


def finish(note, own, ending, text, code):
    """As at the end of an ordinary interpreter: threads, exit handlers, buffers. The ending of the
    process `own` is the run's, that of its forked children is not."""
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException as error:
        print_error(error)
    flush()
    if os.getpid() == own:
        write_page(note, ending, text)
    return code


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


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
