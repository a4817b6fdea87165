# --- runs without a box --------------------------------------------------------------------------
# Part of the zygote's program (see `zygote.py`), for tier 3: the keeper of a run, and the sums that
# stand in for sized mounts. `bare.rs` says how it all hangs together.

import ctypes
import json
import os
import shutil
import signal


def keep(library, zygote, own, work):
    """The life of a keeper: has `work` done by a child, and ends everything that comes of it.

    See `bare.rs` for whom its signals reach.
    """
    report = ctypes.create_string_buffer(PAGE)
    length = library.sandbox_keeper(zygote, report, PAGE - 2)
    if length < 0:
        write_page(own.gate, UNJAILED, report.raw[:-length].decode())
        return
    # Asked to stop, by the zygote, the supervisor, or the end of either.
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


def remove(folder):
    """Removes a folder of the host, whatever a script has left in it."""
    for parent, names, _ in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            # It may have been made with no rights for anybody.
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder)


def nameless_bytes(pid):
    """Bytes on disk of deleted files that a process has open."""
    total = 0
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            about = os.stat(entry.path)
            if about.st_nlink == 0:
                total += about.st_blocks * 512
    except OSError:
        # The process or the descriptor is gone.
        pass
    return total


def is_within(folder, size, files):
    """Whether what lies in a folder has at most so many bytes and entries."""
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    about = entry.stat(follow_symlinks=False)
                    size -= about.st_blocks * 512
                    files -= 1
                    if size < 0 or files < 0:
                        return False
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            # Gone meanwhile, or shut by the script: then it adds nothing either.
            pass
    return True
