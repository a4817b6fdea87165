"""The warmed interpreter of the sandbox.

It imports the usual libraries once, fits one small model of each kind, and then serves requests:
each run is a forked child that puts itself into its own box and executes a script there. This
process holds nothing worth stealing: it sees the public files of tasks and no answers, and a
run's code and output pass through it only as descriptors.

Descriptors: 4 is the control socket, 5 the library with the jail's system calls.
Argument: one JSON object, the settings.

The program is one text, put together from `worker.py`, `bare.py` and this file, in that order.
"""

import ctypes
import gc
import importlib
import json
import mmap
import os
import select
import signal
import socket
import sys
import time
import warnings

CONTROL = 4
LIBRARY = 5
# The largest packet that either side sends.
PACKET = 64 * 1024
# How often the memory of runs is added up, in milliseconds.
WEIGH_EVERY = 50


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
    library.sandbox_keeper.argtypes = [ctypes.c_int, ctypes.c_void_p, size]
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


class Run:
    """One run in flight: the worker, its reaper or keeper, and where to report."""

    def __init__(self, reply, reaper, memory, folders=()):
        self.reply = reply
        # None for a run without a box; then the keeper is the process that is known here.
        self.reaper = reaper
        # Those whose size must be watched.
        self.folders = folders
        self.too_large = False
        # Bytes that all processes of the run may hold together.
        self.memory = memory
        self.too_heavy = False
        self.gate = mmap.mmap(-1, PAGE)
        self.note = mmap.mmap(-1, PAGE)
        # A keeper's word about the worker's end.
        self.verdict = mmap.mmap(-1, PAGE)
        self.pid = self.pidfd = -1
        self.status = self.usage = None

    def hide(self):
        """Lets go of everything in a forked child, so that no run can reach another's."""
        self.reply.close()
        self.close_pages()

    def close_pages(self):
        self.gate.close()
        self.note.close()
        self.verdict.close()

    def is_too_large(self, processes):
        """Whether its files are more than its folders may hold, those without a name included."""
        if self.folders and not self.too_large:
            size = self.folders[0][1]
            self.too_large = (
                not all(is_within(*folder) for folder in self.folders)
                or sum(nameless_bytes(pid) for pid in processes) > size
            )
        return self.too_large

    def stop(self):
        """Has the run ended; a reaper takes its namespace along, a keeper kills."""
        if self.reaper:
            signal.pidfd_send_signal(self.reaper.pidfd, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(self.pidfd, signal.SIGTERM)


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
    def __init__(self, library, bare):
        self.library = library
        # Whether runs are without a box; then, by work dir, how much may be in it.
        self.bare = bare
        self.quotas = {}
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
        packet, fds, _, _ = socket.recv_fds(self.control, PACKET, 16)
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
        if self.bare:
            self.quotas[path] = (request["bytes"], request["files"])
        else:
            name = path.encode()
            check(self.library.sandbox_workspace_mount(name, len(name), request["bytes"], request["files"]))
            os.mkdir(os.path.join(path, "input"))
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.answer(reply, {"opened": {}}, [directory])
        os.close(directory)
        reply.close()

    def close(self, request, reply):
        path = request["path"]
        if self.bare:
            remove(path)
            del self.quotas[path]
        else:
            name = path.encode()
            check(self.library.sandbox_workspace_unmount(name, len(name)))
            os.rmdir(path)
        self.answer(reply, {"closed": {}})
        reply.close()

    def start(self, cell, reply, stdout, stderr, code, *doors):
        """Forks a worker into a new pid namespace and reports that it runs."""
        cell["doors"] = doors
        if self.bare:
            self.start_bare(cell, reply, stdout, stderr, code)
            return
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

    def start_bare(self, cell, reply, stdout, stderr, code):
        """Forks a keeper, which will fork the worker, and reports that the run goes on."""
        path = cell["workspace"]
        temporary = scratch(path)
        os.mkdir(temporary, 0o700)
        most = cell["scratch"]
        folders = [(path, *self.quotas[path]), (temporary, most, max(64, most // PAGE))]
        run = Run(reply, None, cell["limits"]["memory"], folders)
        zygote = os.getpid()
        run.pid = os.fork()
        if run.pid == 0:
            try:
                self.leave(run)
                keep(self.library, zygote, run, lambda: self.be_worker(run, cell, code, stdout, stderr))
            finally:
                os._exit(0)
        run.pidfd = os.pidfd_open(run.pid)
        self.runs[run.pid] = run
        self.watch(run.pidfd, lambda: self.keeper_gone(run, temporary))
        self.watch(reply.fileno(), lambda: self.hung_up(run), 0)
        self.answer(reply, {"started": {}}, [run.pidfd])

    def keeper_gone(self, run, temporary):
        """A keeper ends last of its run, unless it was killed: then the rest falls to us."""
        os.waitpid(run.pid, 0)
        self.ignore(run.pidfd)
        self.ignore(run.reply.fileno())
        os.close(run.pidfd)
        while orphans := set(descendants([os.getpid()])[1:]) - set(descendants(set(self.runs) - {run.pid})):
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
            for pid in orphans:
                try:
                    os.waitpid(pid, 0)
                except ChildProcessError:
                    pass
        kind, text = read_page(run.verdict)
        # Without a verdict the worker was killed together with its keeper.
        end = json.loads(text) if kind == FINISHED else [signal.SIGKILL, 0.0, 0.0, 0]
        run.is_too_large([])
        remove(temporary)
        self.answer(run.reply, self.account(run, *end))
        run.hide()

    def be_worker(self, run, cell, code, stdout, stderr):
        """The child's whole life."""
        status = 125
        try:
            self.leave(run)
            status = work(self.library, cell, code, stdout, stderr, run.gate, run.note)
        finally:
            os._exit(status)

    def leave(self, run):
        """Lets go, in a forked child, of all that belongs to this server and to other runs."""
        for other in self.runs.values():
            other.hide()
        self.runs.clear()
        self.handlers.clear()
        self.control.close()
        run.reply.close()

    def watch(self, fd, handler, events=select.POLLIN):
        self.handlers[fd] = handler
        self.poller.register(fd, events)

    def ignore(self, fd):
        if self.handlers.pop(fd, None):
            self.poller.unregister(fd)

    def hung_up(self, run):
        self.ignore(run.reply.fileno())
        run.stop()

    def weigh(self, run):
        """Ends a run whose processes together hold too much.

        Each process is bounded by its address space; this bounds their sum. What a child shares
        with this process through the fork is not its own and is left out.
        """
        total = 0
        roots = [run.pid, run.reaper.pid] if run.reaper else [run.pid]
        for pid in descendants(roots):
            total += max(0, anonymous_memory(pid) - self.own_weight)
        if total > run.memory:
            run.too_heavy = True
            run.stop()
        elif run.is_too_large(descendants(roots)):
            run.stop()

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
        usage = run.usage
        message = self.account(run, run.status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss)
        self.bury(run)
        self.answer(run.reply, message)
        run.reply.close()

    def account(self, run, status, user, system, peak):
        """How a run ended, for the supervisor."""
        gate, report = read_page(run.gate)
        kind, text = read_page(run.note)
        del self.runs[run.pid]
        message = {
            "gate": gate,
            "report": report,
            "kind": kind,
            "text": text,
            "too_heavy": run.too_heavy,
            "too_large": run.too_large,
            "status": status,
            "user": user,
            "system": system,
            "peak": peak * 1024,
        }
        return {"ended": message}

    def bury(self, run):
        os.waitpid(run.reaper.pid, 0)
        os.close(run.reaper.pidfd)
        self.library.sandbox_reaper_release(run.reaper.stack)
        run.close_pages()


def main():
    settings = json.loads(sys.argv[1])
    # Nothing of ours waits for the keyboard; a worker gets the usual handler back.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    library = load_library()
    version = library.sandbox_version()
    if version != settings["version"]:
        raise RuntimeError(f"the library is version {version}, not {settings['version']}")
    check(library.sandbox_prepare(settings["bare"]))
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
    server = Server(library, settings["bare"])
    Server.answer(server.control, {"ready": {}})
    server.serve()


if __name__ == "__main__":
    main()
