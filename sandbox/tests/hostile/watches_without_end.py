"""Makes watches of folders until there are none left for others: the kernel counts them per user."""
import ctypes
import errno

libc = ctypes.CDLL(None, use_errno=True)
for call in (lambda: libc.inotify_init(), lambda: libc.inotify_init1(0)):
    assert call() == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS)
