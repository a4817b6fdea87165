"""The warmed interpreter of the sandbox.

It imports the usual libraries once, fits one small model of each kind, and then serves requests:
each run is a forked child that puts itself into its own box and executes a script there. This
process holds nothing worth stealing: it sees the public files of tasks and no answers, and a
run's code and output pass through it only as descriptors.

Descriptors: 4 is the control socket, 5 the library with the jail's system calls.
Argument: one JSON object, the settings.
"""

import builtins
import ctypes
import errno
import gc
import importlib
import json
import linecache
import mmap
import os
import random
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types
import warnings

CONTROL = 4
LIBRARY = 5
WORK = "/work"
WORKSPACES = "/workspaces"
SCRIPT = "script.py"
# The largest packet that either side sends.
PACKET = 64 * 1024
# A worker leaves word in pages shared with this process: one byte of kind, then text up to a
# zero byte. Two pages, because the first must stay out of the script's reach: whoever could write
# there could pass its own failure off as ours.
# The gate says whether the jail stands; it is unmapped before the script runs.
PENDING, JAILED, UNJAILED = range(3)
# The note says how the script ended, on its own word.
RUNNING, FINISHED, RAISED, EXITED, MEMORY, DISK = range(6)
PAGE = 4096
# How often the memory of runs is added up, in milliseconds.
WEIGH_EVERY = 50
DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class Reaper(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_int), ("pidfd", ctypes.c_int), ("stack", ctypes.c_void_p)]


def load_library():
    library = ctypes.CDLL(f"/proc/self/fd/{LIBRARY}")
    u64, size, text = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p
    library.sandbox_reaper_start.argtypes = [ctypes.POINTER(Reaper)]
    library.sandbox_reaper_release.argtypes = [ctypes.c_void_p]
    library.sandbox_reaper_release.restype = None
    library.sandbox_children_join.argtypes = [ctypes.c_int]
    library.sandbox_workspace_mount.argtypes = [text, size, u64, u64]
    library.sandbox_workspace_unmount.argtypes = [text, size]
    library.sandbox_enter.argtypes = [text, size, ctypes.c_void_p, size]
    return library


def check(answer):
    """Turns a negative error number of the library into an exception."""
    if answer < 0:
        raise OSError(-answer, os.strerror(-answer))


def import_libraries(names):
    """Imports what is there of `names`; a name that is not installed is not missed here."""
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise


def check_data(folders):
    """Fails if a script could not read its data: on the host, files may be for root's eyes."""
    for folder in folders:
        for path in [folder, *(entry.path for entry in os.scandir(folder))]:
            if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
                raise RuntimeError(f"{path} is not readable for others; try `chmod -R o+rX` on it")


def warm_up():
    """Runs the usual code paths once, so that lazy imports and first-call set-up are behind us.

    Everything runs in one thread: a forked child of a process that used several may hang.
    """
    import io

    import numpy as np
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import (
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.metrics import mean_squared_error, roc_auc_score
    from sklearn.model_selection import cross_val_score, train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(40, 3))
    classes = (numbers[:, 0] > 0).astype(int)
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    frame["word"] = np.where(classes == 1, "yes", "no")
    text = io.StringIO()
    frame.to_csv(text, index=False)
    frame = pd.read_csv(io.StringIO(text.getvalue()))
    frame.groupby("word")["a"].mean()
    frame.merge(frame[["word"]].drop_duplicates(), on="word")
    frame.describe()
    str(frame)
    columns = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), ["word"]),
            ("numbers", StandardScaler(), ["a", "b", "c"]),
        ]
    )
    make_pipeline(columns, LogisticRegression()).fit(frame, classes).predict_proba(frame)
    left, right, _, _ = train_test_split(numbers, classes, test_size=0.5, random_state=0)
    for model in (
        LogisticRegression(),
        KNeighborsClassifier(),
        SVC(),
        RandomForestClassifier(n_estimators=2),
        HistGradientBoostingClassifier(max_iter=2),
    ):
        model.fit(numbers, classes).predict(numbers)
    for model in (
        LinearRegression(),
        Ridge(),
        RandomForestRegressor(n_estimators=2),
        GradientBoostingRegressor(n_estimators=2),
    ):
        model.fit(numbers, numbers[:, 1]).predict(numbers)
    cross_val_score(Ridge(), numbers, numbers[:, 1], cv=2)
    roc_auc_score(classes, numbers[:, 0])
    mean_squared_error(classes, numbers[:, 0])
    np.linalg.lstsq(numbers, classes, rcond=None)


# --- the worker: the forked child ---------------------------------------------------------------


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
    return execute(source, note)


def execute(source, note):
    """Executes `source` as a fresh `__main__` and reports how it ended."""
    main = types.ModuleType("__main__")
    main.__file__ = SCRIPT
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.argv = [SCRIPT]
    sys.path.insert(0, WORK)
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
        import atexit

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


# --- the server ---------------------------------------------------------------------------------


class Run:
    """One run in flight: the worker, its reaper, and where to report."""

    def __init__(self, reply, reaper, memory):
        self.reply = reply
        self.reaper = reaper
        # Bytes that all processes of the run may hold together.
        self.memory = memory
        self.too_heavy = False
        self.gate = mmap.mmap(-1, PAGE)
        self.note = mmap.mmap(-1, PAGE)
        self.pid = self.pidfd = -1
        self.status = self.usage = None

    def hide(self):
        """Lets go of everything in a forked child, so that no run can reach another's."""
        self.reply.close()
        self.gate.close()
        self.note.close()


def anonymous_memory(pid):
    """Bytes of resident memory that belong to no file; 0 for a process that is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared = file.read().split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * mmap.PAGESIZE


def descendants(roots):
    """The processes `roots` and all below them."""
    found, pending = [], list(roots)
    while pending:
        pid = pending.pop()
        found.append(pid)
        try:
            with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
                pending.extend(int(child) for child in file.read().split())
        except (OSError, ValueError):
            pass
    return found


class Server:
    def __init__(self, library):
        self.library = library
        self.control = socket.socket(fileno=CONTROL)
        self.own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.poller = select.poll()
        self.poller.register(CONTROL, select.POLLIN)
        self.handlers = {}
        self.runs = {}
        self.weighed = time.monotonic()
        self.own_weight = anonymous_memory(os.getpid())

    def serve(self):
        while True:
            ready = [fd for fd, _ in self.poller.poll(WEIGH_EVERY if self.runs else None)]
            # Requests last: only they open descriptors, so no number seen above can have
            # changed its meaning by the time it is handled.
            for fd in ready:
                if fd in self.handlers:
                    self.handlers[fd]()
            if CONTROL in ready and not self.receive():
                return
            if not self.runs:
                self.weighed = time.monotonic()
            elif time.monotonic() - self.weighed >= WEIGH_EVERY / 1000:
                self.weighed = time.monotonic()
                for run in self.runs.values():
                    self.weigh(run)

    def receive(self):
        """Takes one request; false at the end of the supervisor."""
        packet, fds, _, _ = socket.recv_fds(self.control, PACKET, 8)
        if not packet:
            return False
        reply = socket.socket(fileno=fds[0])
        try:
            request = json.loads(packet)
            if request["do"] == "run":
                self.start(request["cell"], reply, *fds[1:])
            elif request["do"] == "open":
                self.open(request, reply)
            elif request["do"] == "close":
                self.close(request, reply)
            else:
                raise ValueError(f"unknown request {request['do']}")
        except Exception as error:
            self.answer(reply, {"failed": f"{type(error).__name__}: {error}"})
            reply.close()
        finally:
            for fd in fds[1:]:
                os.close(fd)
        return True

    @staticmethod
    def answer(reply, message, fds=()):
        """Sends a packet; a supervisor that no longer listens has nobody to tell."""
        try:
            packet = [json.dumps(message).encode()]
            socket.send_fds(reply, packet, list(fds), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:
            pass

    def open(self, request, reply):
        """Mounts a work dir and passes a descriptor of it."""
        path = request["path"]
        os.mkdir(path)
        name = path.encode()
        check(self.library.sandbox_workspace_mount(name, len(name), request["bytes"], request["files"]))
        os.mkdir(os.path.join(path, "input"))
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.answer(reply, {"opened": {}}, [directory])
        os.close(directory)
        reply.close()

    def close(self, request, reply):
        name = request["path"].encode()
        check(self.library.sandbox_workspace_unmount(name, len(name)))
        os.rmdir(name)
        self.answer(reply, {"closed": {}})
        reply.close()

    def start(self, cell, reply, stdout, stderr, code):
        """Forks a worker into a new pid namespace and reports that it runs."""
        reaper = Reaper()
        check(self.library.sandbox_reaper_start(ctypes.byref(reaper)))
        run = Run(reply, reaper, cell["limits"]["memory"])
        try:
            check(self.library.sandbox_children_join(reaper.pidfd))
            try:
                pid = os.fork()
                if pid == 0:
                    self.be_worker(run, cell, code, stdout, stderr)
            finally:
                check(self.library.sandbox_children_join(self.own_namespace))
        except Exception:
            signal.pidfd_send_signal(reaper.pidfd, signal.SIGKILL)
            self.bury(run)
            raise
        run.pid, run.pidfd = pid, os.pidfd_open(pid)
        self.runs[pid] = run
        self.watch(run.pidfd, lambda: self.worker_gone(run))
        # A supervisor that gives up waiting hangs up: then the run has no purpose any more.
        self.watch(reply.fileno(), lambda: self.hung_up(run), 0)
        self.answer(reply, {"started": {}}, [reaper.pidfd])

    def be_worker(self, run, cell, code, stdout, stderr):
        """The child's whole life."""
        status = 125
        try:
            for other in self.runs.values():
                other.hide()
            self.runs.clear()
            self.handlers.clear()
            self.control.close()
            run.reply.close()
            status = work(self.library, cell, code, stdout, stderr, run.gate, run.note)
        finally:
            os._exit(status)

    def watch(self, fd, handler, events=select.POLLIN):
        self.handlers[fd] = handler
        self.poller.register(fd, events)

    def ignore(self, fd):
        if self.handlers.pop(fd, None):
            self.poller.unregister(fd)

    def hung_up(self, run):
        self.ignore(run.reply.fileno())
        signal.pidfd_send_signal(run.reaper.pidfd, signal.SIGKILL)

    def weigh(self, run):
        """Ends a run whose processes together hold too much.

        Each process is bounded by its address space; this bounds their sum. What a child shares
        with this process through the fork is not its own and is left out.
        """
        total = 0
        for pid in descendants([run.pid, run.reaper.pid]):
            total += max(0, anonymous_memory(pid) - self.own_weight)
        if total > run.memory:
            run.too_heavy = True
            signal.pidfd_send_signal(run.reaper.pidfd, signal.SIGKILL)

    def worker_gone(self, run):
        """The worker ended by itself or with its namespace: make sure of the rest."""
        _, run.status, run.usage = os.wait4(run.pid, 0)
        self.ignore(run.pidfd)
        os.close(run.pidfd)
        signal.pidfd_send_signal(run.reaper.pidfd, signal.SIGKILL)
        self.watch(run.reaper.pidfd, lambda: self.all_gone(run))

    def all_gone(self, run):
        """The kernel lets a reaper end only after everything in its namespace has."""
        self.ignore(run.reaper.pidfd)
        self.ignore(run.reply.fileno())
        gate, report = read_page(run.gate)
        kind, text = read_page(run.note)
        message = {
            "gate": gate,
            "report": report,
            "kind": kind,
            "text": text,
            "too_heavy": run.too_heavy,
            "status": run.status,
            "user": run.usage.ru_utime,
            "system": run.usage.ru_stime,
            "peak": run.usage.ru_maxrss * 1024,
        }
        del self.runs[run.pid]
        self.bury(run)
        self.answer(run.reply, {"ended": message})
        run.reply.close()

    def bury(self, run):
        os.waitpid(run.reaper.pid, 0)
        os.close(run.reaper.pidfd)
        self.library.sandbox_reaper_release(run.reaper.stack)
        run.gate.close()
        run.note.close()


def main():
    settings = json.loads(sys.argv[1])
    # Nothing of ours waits for the keyboard; a worker gets the usual handler back.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    library = load_library()
    version = library.sandbox_version()
    if version != settings["version"]:
        raise RuntimeError(f"the library is version {version}, not {settings['version']}")
    check(library.sandbox_prepare())
    check_data(settings["data"])
    import_libraries(settings["modules"])
    if settings["warm_up"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warm_up()
    threads = os.listdir("/proc/self/task")
    if len(threads) != 1:
        raise RuntimeError(f"{len(threads)} threads run after warming up; a fork could hang")
    # Objects made so far move out of the collector's sight: a child that collects garbage would
    # otherwise touch, and so copy, all their pages.
    gc.collect()
    gc.freeze()
    gc.disable()
    server = Server(library)
    Server.answer(server.control, {"ready": {}})
    server.serve()


if __name__ == "__main__":
    main()
