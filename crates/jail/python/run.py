# --- runs in flight -------------------------------------------------------------------------------
# Part of the zygote's program (see `zygote.py`): the state of the processes that it started.

import ctypes
import errno
import fcntl
import mmap
import os
import signal
import time

# A run is at work or ending; a session may also be on its way to rest, or at rest.
WORKING, SETTLING, RESTING, ENDING = range(4)
# How long a session may take to come to rest before it is ended, in seconds.
SETTLE_WITHIN = 1.0
# Bytes that must stay free on a disk with work dirs. With less, a script may find the disk full
# although its own files are within their limit.
FREE_SPACE = 64 << 20


class Reaper(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_int), ("pidfd", ctypes.c_int), ("stack", ctypes.c_void_p)]


class Worker:
    """A forked child: a spare that waits for work, then the first process of a run."""

    def __init__(self, reaper):
        # None without a box; `pid` and `pidfd` are then those of the monitor.
        self.reaper = reaper
        self.pid = self.pidfd = -1
        # Bytes of this process's own memory, which the fork will share with it.
        self.inherited = anonymous(os.getpid())
        # The socket to a spare or a session.
        self.door = None
        self.gate = mmap.mmap(-1, PAGE)
        self.note = mmap.mmap(-1, PAGE)
        # How the worker ended, as the monitor reports it.
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
        """Ends its process tree: through the reaper's PID namespace, or by asking the monitor."""
        if self.reaper:
            signal.pidfd_send_signal(self.reaper.pidfd, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(self.pidfd, signal.SIGTERM)


class Run:
    """One run in flight: its worker, where to report, and what it has used."""

    def __init__(self, reply, worker, cell, folders=()):
        self.reply = reply
        self.worker = worker
        # Folders of the host whose size must be watched: path, bytes and entries of each.
        self.folders = folders
        self.too_large = False
        # Whether the host's disk was full, which is no fault of the run.
        self.disk_full = False
        # When to add up the sizes of files again.
        self.count_again = 0.0
        # Bytes that all processes of the run may hold together.
        self.memory = cell["limits"]["memory"]
        self.too_heavy = False
        self.status = self.usage = None
        self.state = WORKING
        # Whether the supervisor has heard of its end.
        self.told = False
        # When it must have come to rest.
        self.patience = 0.0
        # How often in a row nobody else was about.
        self.quiet = 0
        # Whether it may make files without a name in memory, which CUDA needs.
        self.nameless = bool(cell["gpus"])
        # What its processes share, as last added up, and when to do that again.
        self.shared = 0
        self.look_again = 0.0
        # Seconds of processor time that earlier calls of a session were told of.
        self.accounted = 0.0

    def hide(self):
        self.reply.close()
        self.worker.hide()

    def fills_disk(self, processes, fits, last=False):
        """Whether its files are more than its folders may hold, those without a name included, or
        the host's disk is full. `last` is for the sum that counts, once nobody can write."""
        if self.folders and not (self.too_large or self.disk_full):
            path, size, _ = self.folders[0]
            nameless = {}
            for pid in processes:
                nameless.update(nameless_files(pid))
            self.too_large = sum(nameless.values()) > size
            self.disk_full = free_space(path) < FREE_SPACE
            now = time.monotonic()
            # On a full disk it matters at once whose fault that is.
            if last or self.disk_full or now >= self.count_again:
                self.too_large = self.too_large or not all(fits(*folder) for folder in self.folders)
                # Looking at many files takes its time: a tenth of it at most.
                self.count_again = time.monotonic() + 9 * (time.monotonic() - now)
        return self.too_large or self.disk_full

    def weight(self, processes):
        """Bytes of memory that its processes hold. What each shares through the fork with this
        process is not its own and is left out. The kernel bounds what each process may write to
        for itself; what they share is only added up here."""
        total = sum(max(0, anonymous(pid) - self.worker.inherited) for pid in processes)
        return total + sum(page_tables(pid) for pid in processes) + self.pieces(processes)

    def pieces(self, processes):
        """Bytes of memory without a name that its processes map to share or, with GPUs, have
        open: each piece once, and all of it, for pages that nobody has mapped at the moment are
        still there."""
        now = time.monotonic()
        if now >= self.look_again:
            sizes = {}
            for pid in processes:
                for piece, size in shared_mappings(pid):
                    sizes[piece] = max(sizes.get(piece, 0), size)
                if self.nameless:
                    sizes.update(nameless_files(pid))
            self.shared = sum(sizes.values())
            # Reading every mapping of many processes takes its time: a tenth of it at most.
            self.look_again = time.monotonic() + 9 * (time.monotonic() - now)
        return self.shared

    def settle(self):
        """One step on a session's way to rest: its interpreter is stopped, and everything else is
        killed. Whether it is at rest now, which it is if nobody was about twice in a row: a
        process that ends while it is looked for may have left another."""
        signal.pidfd_send_signal(self.worker.pidfd, signal.SIGSTOP)
        stopped = is_stopped(self.worker.pid)
        others = set(descendants(self.worker.roots())) - set(self.worker.roots())
        others = [other for other in others if state(f"/proc/{other}") != "Z"]
        for other in others:
            try:
                os.kill(other, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.quiet = self.quiet + 1 if stopped and not others else 0
        return self.quiet > 1


def free_space(path):
    """Bytes that are free on the disk of a folder."""
    about = os.statvfs(path)
    return about.f_bavail * about.f_frsize


def sizes_of(pid):
    """Pages of a process's address space, those that are resident, and those of the latter that
    belong to files; nothing for one that is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return [int(field) for field in file.read().split()[:3]]
    except (OSError, ValueError):
        return [0, 0, 0]


def anonymous(pid):
    """Bytes of a process's resident memory that belong to no file; 0 for one that is gone."""
    _, resident, shared = sizes_of(pid)
    return (resident - shared) * mmap.PAGESIZE


def shared_mappings(pid):
    """The pieces of memory without a file that a process maps to share, by device and inode, and
    up to which byte of each; none for a process that is gone."""
    try:
        with open(f"/proc/{pid}/maps", "rb", buffering=0) as file:
            try:
                return list(queried_mappings(file))
            except OSError as error:
                # A kernel before 6.11 does not know the question.
                if error.errno != errno.ENOTTY:
                    raise
                return list(printed_mappings(file.read()))
    except OSError:
        return []


# How names of mappings begin whose memory belongs to no file.
WITHOUT_FILE = (b"/dev/zero", b"/memfd:", b"[anon_shmem")


class MappingQuery(ctypes.Structure):
    """`struct procmap_query` of linux/fs.h."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("size", "flags", "address", "start", "end", "permissions")),
        *((name, ctypes.c_uint64) for name in ("page_size", "offset", "inode")),
        *((name, ctypes.c_uint32) for name in ("major", "minor", "name_size", "build_id_size")),
        *((name, ctypes.c_uint64) for name in ("name", "build_id")),
    ]


# `_IOWR(PROCFS_IOCTL_MAGIC, 17, struct procmap_query)`.
PROCMAP_QUERY = 3 << 30 | ctypes.sizeof(MappingQuery) << 16 | ord("f") << 8 | 17
# `PROCMAP_QUERY_VMA_SHARED | PROCMAP_QUERY_COVERING_OR_NEXT_VMA`.
NEXT_SHARED = 0x08 | 0x10
MAPPING_NAME = ctypes.create_string_buffer(mmap.PAGESIZE)


def queried_mappings(file):
    """The same of an open `/proc/PID/maps`, one question a mapping. The kernel passes over those that
    are not shared, of which an interpreter has a thousand, and prints nothing."""
    query = MappingQuery(size=ctypes.sizeof(MappingQuery), flags=NEXT_SHARED)
    while True:
        query.name, query.name_size = ctypes.addressof(MAPPING_NAME), len(MAPPING_NAME)
        try:
            try:
                fcntl.ioctl(file, PROCMAP_QUERY, query)
                name = MAPPING_NAME.value if query.name_size else b""
            except OSError as error:
                # Memory without a file has a short name.
                if error.errno != errno.ENAMETOOLONG:
                    raise
                query.name = query.name_size = 0
                fcntl.ioctl(file, PROCMAP_QUERY, query)
                name = b""
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            raise
        if name.startswith(WITHOUT_FILE):
            device = os.makedev(query.major, query.minor)
            yield (device, query.inode), query.offset + query.end - query.start
        query.address = query.end


def printed_mappings(text):
    """The same of the content of `/proc/PID/maps`."""
    for line in text.splitlines():
        # `from-to rw-s offset device inode name`
        fields = line.split(None, 5)
        if fields[1].endswith(b"s") and fields[-1].startswith(WITHOUT_FILE):
            start, end = (int(number, 16) for number in fields[0].split(b"-"))
            device = os.makedev(*(int(number, 16) for number in fields[3].split(b":")))
            yield (device, int(fields[4])), int(fields[2], 16) + end - start


def page_tables(pid):
    """Bytes of the tables of a process's pages; 0 for a process that is gone."""
    return status_bytes(pid, b"VmPTE:")


def peak_memory(pid):
    """Bytes of the largest resident set so far; 0 for a process that is gone."""
    return status_bytes(pid, b"VmHWM:")


def status_bytes(pid, key):
    """A size that the kernel tells of a process in KiB, in bytes."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            sizes = [line.split()[1] for line in file if line.startswith(key)]
    except OSError:
        return 0
    return int(sizes[0]) * 1024 if sizes else 0


def processor_time(pid):
    """Seconds of processor time that a living process and its dead threads have used."""
    try:
        # The kernel's number for the clock of a whole process.
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


def children(pid):
    """The children of a process, dead ones included."""
    found = []
    try:
        # A thread's children are its own in the kernel's lists.
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found.extend(int(child) for child in file.read().split())
    except (OSError, ValueError):
        pass
    return found


def descendants(roots):
    """The processes `roots` and all below them."""
    found, pending = [], list(roots)
    while pending:
        pid = pending.pop()
        found.append(pid)
        pending.extend(children(pid))
    return found


def state(path):
    """A process's or thread's state, one letter; `X` for one that is gone."""
    try:
        with open(f"{path}/stat", "rb") as file:
            # The name before it may contain anything.
            return file.read().rsplit(b")", 1)[1].split()[0].decode()
    except (OSError, IndexError):
        return "X"


def is_stopped(pid):
    """Whether a process is there and no thread of it runs."""
    try:
        states = [state(f"/proc/{pid}/task/{task}") for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return False
    return any(now in "Tt" for now in states) and all(now in "TtZX" for now in states)
