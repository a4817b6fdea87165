# --- runs without a box --------------------------------------------------------------------------
# Part of the zygote's program (see `zygote.py`), for tier 3: the monitor of a run, and the sums that
# replace sized mounts. `bare.rs` describes the design.

import ctypes
import json
import os
import signal


def keep(library, zygote, own, work):
    """The main function of a monitor: calls `work` in a child, then kills all processes of the run.

    `bare.rs` says which processes its signals reach.
    """
    report = ctypes.create_string_buffer(PAGE)
    length = library.sandbox_keeper(zygote, report, PAGE - 2)
    if length < 0:
        write_page(own.gate, UNJAILED, report.raw[:-length].decode())
        return
    # SIGTERM comes from the zygote or the supervisor, or from the kernel when one of them ends.
    signal.signal(signal.SIGTERM, lambda *_: kill_all())
    worker = os.fork()
    if worker == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        own.verdict.close()
        work()
    _, status, usage = os.wait4(worker, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        kill_all()
        try:
            os.wait()
        except ChildProcessError:
            break
    verdict = [status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024]
    write_page(own.verdict, FINISHED, json.dumps(verdict))


def kill_all():
    """Kills every process that the caller's signals reach."""
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass


def scratch(workspace):
    """Where the temporary files of a run without a box go."""
    return f"{workspace}.tmp"


def nameless_files(pid):
    """The deleted files that a process has open, by device and inode, and their bytes on disk or
    in memory. Infinite if the process cannot be inspected, as after starting a program that its
    user may not read."""
    found = {}
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            try:
                about = os.stat(entry.path)
            except OSError:
                # The descriptor is gone.
                continue
            if about.st_nlink == 0:
                found[about.st_dev, about.st_ino] = about.st_blocks * 512
    except PermissionError:
        # One that is ending has no memory, and may not be looked into either.
        if sizes_of(pid)[0]:
            found[pid] = float("inf")
    except OSError:
        # The process is gone.
        pass
    return found
