"""The warmed interpreter of the sandbox.

It serves requests. Before the first run that may use them, it imports the usual libraries and fits
one small model of each kind, so that no run has to. Each run is a forked child that puts itself into
its own box and executes a script there. This process holds nothing worth stealing: it sees the public
files of tasks and no answers, and a run's code and output pass through it only as descriptors.

Descriptors: 4 is the control socket, 5 the library with the jail's system calls.
Argument: one JSON object, the settings.

The program is one text, put together from `worker.py`, `bare.py`, `warm.py`, `run.py` and this
file, in that order.
"""

import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
import warnings

CONTROL = 4
LIBRARY = 5
# The largest packet that either side sends.
PACKET = 64 * 1024
# How often the memory of runs is added up, in milliseconds.
WEIGH_EVERY = 50


def load_library():
    library = ctypes.CDLL(f"/proc/self/fd/{LIBRARY}")
    u64, size, text = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p
    library.sandbox_reaper_start.argtypes = [ctypes.POINTER(Reaper)]
    library.sandbox_reaper_release.argtypes = [ctypes.c_void_p]
    library.sandbox_reaper_release.restype = None
    library.sandbox_children_join.argtypes = [ctypes.c_int]
    library.sandbox_workspace_mount.argtypes = [text, size, u64, u64]
    library.sandbox_workspace_unmount.argtypes = [text, size]
    library.sandbox_isolate.argtypes = [ctypes.c_void_p, size]
    library.sandbox_enter.argtypes = [text, size, ctypes.c_void_p, size]
    library.sandbox_keeper.argtypes = [ctypes.c_int, ctypes.c_void_p, size]
    library.sandbox_tree_fits.argtypes = [text, size, u64, u64]
    library.sandbox_tree_remove.argtypes = [text, size]
    return library


def check(answer):
    """Turns a negative error number of the library into an exception."""
    if answer < 0:
        raise OSError(-answer, os.strerror(-answer))


def hear(other):
    """Receives one packet and its descriptors from a non-blocking socket.

    `None` if nothing is queued; an empty packet if the peer has closed its side, also when it
    closed with unread data. (`recv_fds` ignores its flags, so the socket itself must not block.)
    """
    try:
        packet, fds, _, _ = socket.recv_fds(other, PACKET, 1)
    except BlockingIOError:
        return None, []
    except OSError:
        return b"", []
    return packet, fds


class Server:
    def __init__(self, library, bare, on_disk, weights, spares):
        self.library = library
        # Whether runs are without a box, and whether work dirs are folders of the host, as they
        # always are then; if so, by work dir, how much may be in it.
        self.bare = bare
        self.on_disk = on_disk
        self.quotas = {}
        self.weights = weights
        self.control = socket.socket(fileno=CONTROL)
        self.own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.poller = select.poll()
        self.poller.register(CONTROL, select.POLLIN)
        self.handlers = {}
        self.runs = set()
        # Workers that wait for a run, how many there should be, and whether to make one when
        # there is nothing else to do.
        self.spares = []
        self.spares_wanted = 0 if bare else spares
        self.restock = True
        # Whether there may be children that are nobody's.
        self.strangers = False
        self.weighed = time.monotonic()

    def serve(self):
        # Nothing of one round is kept in variables: what is there when modules are imported stays in
        # the memory of all workers to come.
        while self.serve_round():
            pass

    def serve_round(self):
        """Waits for something to do, and does it; false at the end of the supervisor."""
        ready = [fd for fd, _ in self.poller.poll(self.patience())]
        # Requests last: only they open descriptors, so no number seen above can have
        # changed its meaning by the time it is handled.
        for fd in ready:
            self.handle(fd)
        if CONTROL in ready and not self.receive():
            return False
        if not ready and self.restock:
            self.make_spare()
        for run in [run for run in self.runs if run.state == SETTLING]:
            self.guarded(run, lambda: self.settle(run))
        self.weigh_all()
        return True

    def handle(self, fd):
        if fd in self.handlers:
            handler, run = self.handlers[fd]
            self.guarded(run, handler)

    def guarded(self, run, action):
        """Does something for one run. Whatever goes wrong with that is the end of this run, not
        of all others."""
        try:
            action()
        except Exception as error:
            traceback.print_exc()
            sys.stderr.flush()
            if run is not None and not run.told:
                self.give_up(run, f"{type(error).__name__}: {error}")

    def give_up(self, run, reason):
        """Ends a run that cannot be followed any more, and says so."""
        worker = run.worker
        for fd in (worker.pidfd, run.reply.fileno(), worker.door and worker.door.fileno()):
            self.ignore(fd)
        if worker.reaper:
            self.ignore(worker.reaper.pidfd)
        self.runs.discard(run)
        self.answer(run.reply, {"failed": reason})
        run.told = True
        try:
            worker.stop()
        except OSError:
            # Gone already.
            pass
        run.hide()
        # From here on its processes are nobody's.
        self.strangers = True

    def patience(self):
        """How long to wait for something to do, in milliseconds."""
        if self.restock:
            return 0
        states = {run.state for run in self.runs}
        if SETTLING in states:
            return 1
        return WEIGH_EVERY if self.strangers or {WORKING, ENDING} & states else None

    def weigh_all(self):
        now = time.monotonic()
        if now - self.weighed >= WEIGH_EVERY / 1000:
            self.weighed = now
            for run in list(self.runs):
                # What is at rest grows no heavier.
                if run.state in (WORKING, SETTLING):
                    self.guarded(run, lambda: self.weigh(run))
            if self.strangers or any(run.state == ENDING for run in self.runs):
                self.bury_strangers()

    def bury_strangers(self):
        """Ends and waits for children of this process that it does not know; whether there were
        any. A namespace does not end as long as one of its dead is waited for by nobody."""
        known = set()
        for worker in [run.worker for run in self.runs] + self.spares:
            known.update(worker.roots())
        strangers = [pid for pid in children(os.getpid()) if pid not in known]
        for pid in strangers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
        self.strangers = bool(strangers)
        return self.strangers

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
            elif request["do"] == "import":
                self.import_modules(request, reply)
            elif request["do"] == "place":
                self.place(request["name"], fds[1], reply)
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

    def import_modules(self, request, reply):
        """Imports modules for the runs to come. Everything else waits meanwhile."""
        import_libraries(request["modules"])
        if request["warm_up"]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warm_up()
        become_forkable()
        # These have not got the modules.
        for worker in list(self.spares):
            self.spare_gone(worker)
        self.restock = True
        self.answer(reply, {"imported": {}})
        reply.close()

    def open(self, request, reply):
        """Makes a work dir, mounted unless it is on the host's disk, and passes a descriptor of it."""
        path = request["path"]
        os.mkdir(path, 0o755)
        if self.on_disk:
            self.quotas[path] = (request["bytes"], request["files"])
        else:
            name = path.encode()
            check(self.library.sandbox_workspace_mount(name, len(name), request["bytes"], request["files"]))
        if not self.bare:
            for name in ["input", "models"] if self.weights else ["input"]:
                os.mkdir(os.path.join(path, name), 0o755)
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.answer(reply, {"opened": {}}, [directory])
        os.close(directory)
        reply.close()

    def place(self, name, directory, reply):
        """Makes a new file in a work dir and passes a descriptor to write to it. Only this process
        has the user that a work dir's files belong to."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(name, flags, 0o644, dir_fd=directory)
        except OSError as error:
            self.answer(reply, {"unplaced": error.errno})
        else:
            self.answer(reply, {"placed": {}}, [file])
            os.close(file)
        reply.close()

    def close(self, request, reply):
        path = request["path"]
        if self.on_disk:
            del self.quotas[path]
            # What lies outside of the box is removed from there.
            if self.bare:
                self.remove(path)
        else:
            name = path.encode()
            check(self.library.sandbox_workspace_unmount(name, len(name)))
            os.rmdir(path)
        self.answer(reply, {"closed": {}})
        reply.close()

    def remove(self, folder):
        """Removes a folder of the host, whatever a script has left in it. One that stays goes
        with the supervisor's own folder, in which it lies."""
        name = folder.encode()
        try:
            check(self.library.sandbox_tree_remove(name, len(name)))
        except OSError as error:
            print(f"{folder} could not be removed: {error}", file=sys.stderr, flush=True)

    def fits(self, folder, size, files):
        """Whether what lies in a folder of the host has at most so many bytes and entries."""
        name = folder.encode()
        return self.library.sandbox_tree_fits(name, len(name), size, files) == 1

    def fork_spare(self):
        """Forks a worker into a new pid namespace, where it waits for something to do."""
        door, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        door.setblocking(False)
        reaper = Reaper()
        check(self.library.sandbox_reaper_start(ctypes.byref(reaper)))
        worker = Worker(reaper)
        worker.door = door
        try:
            check(self.library.sandbox_children_join(reaper.pidfd))
            try:
                worker.pid = os.fork()
                if worker.pid == 0:
                    self.be_worker(worker, lambda: wait_for_work(self.library, worker, inside))
            finally:
                check(self.library.sandbox_children_join(self.own_namespace))
            worker.pidfd = os.pidfd_open(worker.pid)
        except Exception:
            worker.stop()
            self.bury(worker)
            raise
        finally:
            inside.close()
        return worker

    def make_spare(self):
        self.restock = False
        if len(self.spares) < self.spares_wanted:
            try:
                worker = self.fork_spare()
            except OSError:
                # No process to be had just now: the next run will need one and say so.
                return
            self.spares.append(worker)
            self.watch(worker.pidfd, lambda: self.spare_gone(worker))
            self.restock = len(self.spares) < self.spares_wanted

    def spare_gone(self, worker):
        """Removes a spare that was ended or lacks modules; another one is forked in its place."""
        self.spares.remove(worker)
        self.ignore(worker.pidfd)
        self.discard(worker)

    def discard(self, worker):
        """Ends a worker that no run will use."""
        worker.stop()
        os.waitpid(worker.pid, 0)
        os.close(worker.pidfd)
        self.bury(worker)

    def start(self, cell, reply, stdout, stderr, code, *doors):
        """Gives a worker something to do and reports that it runs."""
        if self.bare:
            cell["doors"] = doors
            self.start_bare(cell, reply, stdout, stderr, code)
            return
        worker = self.spares.pop(0) if self.spares else self.fork_spare()
        self.ignore(worker.pidfd)
        try:
            packet = json.dumps(cell).encode()
            socket.send_fds(worker.door, [packet], [stdout, stderr, code, *doors], socket.MSG_NOSIGNAL)
        except BrokenPipeError:
            # It has just ended, which is seen, and reported, next.
            pass
        except Exception:
            self.discard(worker)
            raise
        cell["doors"] = doors
        path = cell["workspace"]
        run = Run(reply, worker, cell, [(path, *self.quotas[path])] if self.on_disk else ())
        self.runs.add(run)
        self.watch(worker.pidfd, lambda: self.worker_gone(run), run)
        # A supervisor that gives up waiting hangs up: then the run has no purpose any more.
        if cell["session"]:
            reply.setblocking(False)
            self.watch(reply.fileno(), lambda: self.asked(run), run)
            self.watch(worker.door.fileno(), lambda: self.call_over(run), run)
        else:
            self.watch(reply.fileno(), lambda: self.hung_up(run), run, 0)
            worker.shut_door()
        self.answer(reply, {"started": {}}, [worker.reaper.pidfd])
        self.restock = True

    def start_bare(self, cell, reply, stdout, stderr, code):
        """Forks a monitor, which forks the worker, and reports that the run has begun."""
        path = cell["workspace"]
        temporary = scratch(path)
        if os.path.lexists(temporary):
            # An earlier run's, which could not be removed then.
            self.remove(temporary)
        os.mkdir(temporary, 0o700)
        most = cell["scratch"]
        folders = [(path, *self.quotas[path]), (temporary, most, max(64, most // PAGE))]
        worker = Worker(None)
        run = Run(reply, worker, cell, folders)
        zygote = os.getpid()
        worker.pid = os.fork()
        if worker.pid == 0:
            try:
                self.leave()
                reply.close()
                script = lambda: work(self.library, cell, read_code(code), stdout, stderr, worker.gate, worker.note)
                keep(self.library, zygote, worker, lambda: self.be_worker(worker, script))
            finally:
                os._exit(0)
        worker.pidfd = os.pidfd_open(worker.pid)
        self.runs.add(run)
        self.watch(worker.pidfd, lambda: self.keeper_gone(run, temporary), run)
        self.watch(reply.fileno(), lambda: self.hung_up(run), run, 0)
        self.answer(reply, {"started": {}}, [worker.pidfd])

    def keeper_gone(self, run, temporary):
        """A monitor ends last of its run; if it was killed, the zygote ends the rest."""
        worker = run.worker
        os.waitpid(worker.pid, 0)
        self.ignore(worker.pidfd)
        self.ignore(run.reply.fileno())
        os.close(worker.pidfd)
        self.runs.remove(run)
        kind, text = read_page(worker.verdict)
        if kind == FINISHED:
            end = json.loads(text)
        else:
            # The worker was killed together with its monitor, or has become a child of this process
            # with all the others.
            end = [signal.SIGKILL, 0.0, 0]
            deadline = time.monotonic() + SETTLE_WITHIN
            while self.bury_strangers() and time.monotonic() < deadline:
                time.sleep(0.001)
        run.fills_disk([], self.fits, last=True)
        self.remove(temporary)
        self.answer(run.reply, {"ended": self.account(run, *end)})
        run.told = True
        run.hide()

    def be_worker(self, worker, task):
        """The child's whole life."""
        status = 125
        try:
            self.leave()
            worker.shut_door()
            status = task()
        finally:
            os._exit(status)

    def leave(self):
        """Lets go, in a forked child, of all that belongs to this server and to other runs."""
        for other in [*self.runs, *self.spares]:
            other.hide()
        self.runs.clear()
        self.spares.clear()
        self.handlers.clear()
        self.control.close()

    def watch(self, fd, handler, run=None, events=select.POLLIN):
        self.handlers[fd] = (handler, run)
        self.poller.register(fd, events)

    def ignore(self, fd):
        if self.handlers.pop(fd, None):
            self.poller.unregister(fd)

    def hung_up(self, run):
        self.ignore(run.reply.fileno())
        run.worker.stop()

    def asked(self, run):
        """The supervisor of a session wants something done, or has hung up."""
        packet, fds = hear(run.reply)
        try:
            if packet == b"":
                self.hung_up(run)
            elif packet and run.state == RESTING:
                self.resume(run, *fds)
        finally:
            for fd in fds:
                os.close(fd)

    def resume(self, run, code):
        """Gives a session at rest more to do."""
        worker = run.worker
        run.state = WORKING
        write_page(worker.note, RUNNING)
        self.watch(worker.door.fileno(), lambda: self.call_over(run), run)
        # What it said without being asked, and whatever it sent along.
        while (heard := hear(worker.door))[0]:
            for fd in heard[1]:
                os.close(fd)
        try:
            packet, flags = [b"call"], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
            socket.send_fds(worker.door, packet, [code], flags)
        except OSError:
            # It has closed its end, and will do nothing until its time is up.
            pass
        signal.pidfd_send_signal(worker.pidfd, signal.SIGCONT)

    def call_over(self, run):
        """A session's worker says that it is done. One that has closed its end is ending, or
        could be asked for nothing more, and is ended."""
        packet, fds = hear(run.worker.door)
        for fd in fds:
            os.close(fd)
        if packet is None:
            return
        self.ignore(run.worker.door.fileno())
        if not packet:
            run.worker.stop()
            return
        run.state = SETTLING
        run.quiet = 0
        run.patience = time.monotonic() + SETTLE_WITHIN
        self.settle(run)

    def settle(self, run):
        """Brings a session to rest, and reports it; or ends one that will not rest."""
        worker = run.worker
        if run.settle():
            if run.fills_disk(worker.roots(), self.fits, last=True):
                worker.stop()
                return
            run.state = RESTING
            used = processor_time(worker.pid)
            self.answer(run.reply, {"rested": self.account(run, 0, used, peak_memory(worker.pid))})
        elif time.monotonic() > run.patience:
            worker.stop()

    def weigh(self, run):
        """Ends a run whose processes together hold too much.

        Each process is bounded by a limit of its own; this bounds their sum.
        """
        processes = descendants(run.worker.roots())
        if run.weight(processes) > run.memory:
            run.too_heavy = True
            run.worker.stop()
        elif run.fills_disk(processes, self.fits):
            run.worker.stop()

    def worker_gone(self, run):
        """The worker ended by itself or with its namespace: make sure of the rest."""
        worker = run.worker
        _, run.status, run.usage = os.wait4(worker.pid, 0)
        self.ignore(worker.pidfd)
        os.close(worker.pidfd)
        if worker.door:
            self.ignore(worker.door.fileno())
        run.state = ENDING
        worker.stop()
        self.watch(worker.reaper.pidfd, lambda: self.all_gone(run), run)

    def all_gone(self, run):
        """The kernel lets a reaper end only after everything in its namespace has."""
        self.ignore(run.worker.reaper.pidfd)
        self.ignore(run.reply.fileno())
        used = run.usage.ru_utime + run.usage.ru_stime
        run.fills_disk([], self.fits, last=True)
        message = self.account(run, run.status, used, run.usage.ru_maxrss * 1024)
        self.runs.remove(run)
        self.bury(run.worker)
        self.answer(run.reply, {"ended": message})
        run.told = True
        run.reply.close()

    @staticmethod
    def account(run, status, used, peak):
        """How a run, or a session's call, ended, for the supervisor."""
        gate, report = read_page(run.worker.gate)
        kind, text = read_page(run.worker.note)
        used, run.accounted = max(0.0, used - run.accounted), used
        return {
            "gate": gate,
            "report": report,
            "kind": kind,
            "text": text,
            "too_heavy": run.too_heavy,
            "too_large": run.too_large,
            "disk_full": run.disk_full,
            "status": status,
            "cpu": used,
            "peak": peak,
        }

    def bury(self, worker):
        os.waitpid(worker.reaper.pid, 0)
        os.close(worker.reaper.pidfd)
        self.library.sandbox_reaper_release(worker.reaper.stack)
        worker.hide()


def become_forkable():
    """Makes this process one whose children neither hang nor copy what they do not change."""
    threads = os.listdir("/proc/self/task")
    if len(threads) != 1:
        raise RuntimeError(f"{len(threads)} threads run after warming up; a fork could hang")
    # Objects made so far move out of the collector's sight: a child that collects garbage would
    # otherwise touch, and so copy, all their pages.
    gc.collect()
    gc.freeze()
    gc.disable()


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
    become_forkable()
    server = Server(library, settings["bare"], settings["on_disk"], settings["weights"], settings["spares"])
    Server.answer(server.control, {"ready": {}})
    server.serve()


if __name__ == "__main__":
    main()
