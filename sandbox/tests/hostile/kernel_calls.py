"""Makes system calls that have been the way out of jails before."""
import ctypes
import errno
import platform

libc = ctypes.CDLL(None, use_errno=True)
if platform.machine() == "x86_64":
    calls = {
        "ptrace": 101, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "pivot_root": 155,
        "chroot": 161, "init_module": 175, "delete_module": 176, "quotactl": 179, "syslog": 103,
        "acct": 163, "settimeofday": 164, "personality": 135, "add_key": 248, "request_key": 249,
        "keyctl": 250, "unshare": 272, "setns": 308, "perf_event_open": 298, "fanotify_init": 300,
        "open_by_handle_at": 304, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
        "finit_module": 313, "seccomp": 317, "memfd_create": 319, "kexec_file_load": 320,
        "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "pidfd_getfd": 438, "mount_setattr": 442, "landlock_create_ruleset": 444,
        "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240, "ioperm": 173, "iopl": 172,
        "modify_ldt": 154, "name_to_handle_at": 303, "setxattr": 188, "memfd_secret": 447,
    }
    for name, number in calls.items():
        ctypes.set_errno(0)
        answer = libc.syscall(number, 0, 0, 0, 0, 0, 0)
        assert answer == -1 and ctypes.get_errno() == errno.EPERM, (name, answer, ctypes.get_errno())
    # Of these the C library must believe that they do not exist.
    for name, number in {"clone3": 435, "a call of the future": 480}.items():
        assert libc.syscall(number, 0, 0) == -1 and ctypes.get_errno() == errno.ENOSYS, name
