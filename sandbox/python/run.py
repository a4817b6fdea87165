# --- runs in flight -------------------------------------------------------------------------------
# Part of the zygote's program (see `zygote.py`): what it knows of the processes that it started.

import ctypes
import mmap
import os
import signal
import time

# A run is at work or ending; a session may also be on its way to rest, or at rest.
WORKING, SETTLING, RESTING, ENDING = range(4)
# How long a session may take to come to rest before it is ended, in seconds.
SETTLE_WITHIN = 1.0


class Reaper(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_int), ("pidfd", ctypes.c_int), ("stack", ctypes.c_void_p)]


class Worker:
    """A forked child: a spare that waits for work, then the first process of a run."""

    def __init__(self, reaper):
        # None without a box; then the keeper is the process that is known here.
        self.reaper = reaper
        self.pid = self.pidfd = -1
        # The way to a spare and to a session.
        self.door = None
        self.gate = mmap.mmap(-1, PAGE)
        self.note = mmap.mmap(-1, PAGE)
        # A keeper's word about the worker's end.
        self.verdict = mmap.mmap(-1, PAGE)

    def hide(self):
        """Lets go of everything in a forked child, so that no run can reach another's."""
        self.shut_door()
        self.gate.close()
        self.note.close()
        self.verdict.close()

    def shut_door(self):
        if self.door:
            self.door.close()
            self.door = None

    def roots(self):
        """The processes above all others of its tree."""
        return [self.pid, self.reaper.pid] if self.reaper else [self.pid]

    def stop(self):
        """Has its tree ended; a reaper takes its namespace along, a keeper kills."""
        if self.reaper:
            signal.pidfd_send_signal(self.reaper.pidfd, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(self.pidfd, signal.SIGTERM)


class Run:
    """One run in flight: its worker, where to report, and what it has used."""

    def __init__(self, reply, worker, cell, folders=()):
        self.reply = reply
        self.worker = worker
        # Those whose size must be watched.
        self.folders = folders
        self.too_large = False
        # Bytes that all processes of the run may hold together.
        self.memory = cell["limits"]["memory"]
        # Whether the address space of each process bounds all its memory; if not, what it
        # shares is added up too.
        self.bounded = cell["limits"]["reservations"]
        self.too_heavy = False
        self.status = self.usage = None
        self.state = WORKING
        # When it must have come to rest.
        self.patience = 0.0
        # Seconds of processor time that earlier calls of a session were told of.
        self.accounted = 0.0

    def hide(self):
        self.reply.close()
        self.worker.hide()

    def is_too_large(self, processes):
        """Whether its files are more than its folders may hold, those without a name included."""
        if self.folders and not self.too_large:
            size = self.folders[0][1]
            self.too_large = (
                not all(is_within(*folder) for folder in self.folders)
                or sum(nameless_bytes(pid) for pid in processes) > size
            )
        return self.too_large

    def weight(self, processes, own):
        """Bytes of memory that its processes hold. What each shares through the fork with this
        process, which has `own`, is not its own and is left out."""
        total = sum(max(0, anonymous_memory(pid) - own) for pid in processes)
        if not self.bounded:
            total += sum(shared_memory(pid) + nameless_bytes(pid) for pid in processes)
        return total

    def settle(self):
        """One step on a session's way to rest: everything but its interpreter is killed, and
        that is stopped. Whether it is at rest now."""
        signal.pidfd_send_signal(self.worker.pidfd, signal.SIGSTOP)
        others = set(descendants(self.worker.roots())) - set(self.worker.roots())
        others = [other for other in others if is_alive(other)]
        for other in others:
            try:
                os.kill(other, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not others and is_stopped(self.worker.pid)


def anonymous_memory(pid):
    """Bytes of resident memory that belong to no file; 0 for a process that is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared = file.read().split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * mmap.PAGESIZE


def shared_memory(pid):
    """Bytes that a process holds in mappings that it can share, and in tables of its pages; 0 for
    a process that is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            sizes = [line.split()[1] for line in file if line.startswith((b"RssShmem:", b"VmPTE:"))]
    except OSError:
        return 0
    return sum(int(size) * 1024 for size in sizes)


def peak_memory(pid):
    """Bytes of the largest resident set so far; 0 for a process that is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            peaks = [line.split()[1] for line in file if line.startswith(b"VmHWM:")]
    except OSError:
        return 0
    return int(peaks[0]) * 1024 if peaks else 0


def processor_time(pid):
    """Seconds of processor time that a living process and its dead threads have used."""
    try:
        # The kernel's number for the clock of a whole process.
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def descendants(roots):
    """The processes `roots` and all below them."""
    found, pending = [], list(roots)
    while pending:
        pid = pending.pop()
        found.append(pid)
        try:
            # A thread's children are its own in the kernel's lists.
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                    pending.extend(int(child) for child in file.read().split())
        except (OSError, ValueError):
            pass
    return found


def state(path):
    """A process's or thread's state, one letter; `X` for one that is gone."""
    try:
        with open(f"{path}/stat", "rb") as file:
            # The name before it may contain anything.
            return file.read().rsplit(b")", 1)[1].split()[0].decode()
    except (OSError, IndexError):
        return "X"


def is_alive(pid):
    return state(f"/proc/{pid}") not in "ZX"


def is_stopped(pid):
    """Whether a process is there and no thread of it runs."""
    try:
        states = [state(f"/proc/{pid}/task/{task}") for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return False
    return any(now in "Tt" for now in states) and all(now in "TtZX" for now in states)
