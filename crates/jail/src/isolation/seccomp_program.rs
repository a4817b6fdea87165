//! What a long program may call beyond what scripts may: it has a box to itself, with a loopback of its
//! own, so that sockets and locks reach nobody else.

use super::seccomp::{ArgumentRule, SyscallGroup, calls};

pub(super) const ALLOWED: &[SyscallGroup] = &[
    SyscallGroup {
        why: "sockets with the sizes that libraries ask for; memory of buffers is charged to the box's \
              control group",
        calls: calls![SYS_setsockopt],
    },
    SyscallGroup {
        why: "locks, watches and timers, as compilers, package tools and runtimes use; the kernel counts \
              them for the box's own user namespace",
        calls: calls![
            SYS_flock SYS_inotify_init1 SYS_inotify_add_watch SYS_inotify_rm_watch SYS_timer_create
            SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun SYS_timer_delete
        ],
    },
    SyscallGroup {
        why: "give up rights: the toolbox may run scripts in a jail of its own, which can only be stricter",
        calls: calls![
            SYS_seccomp SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_landlock_restrict_self
            SYS_capset
        ],
    },
    SyscallGroup {
        why: "ask about one's own processes and memory",
        calls: calls![
            SYS_sched_getattr SYS_ioprio_get SYS_get_mempolicy SYS_rt_tgsigqueueinfo SYS_futex_waitv
            SYS_sync_file_range
        ],
    },
];

pub(super) const CHOICES: &[ArgumentRule] = &[
    // The box's network has a loopback and nothing else.
    ArgumentRule {
        call: libc::SYS_socket,
        argument: 0,
        values: &[libc::AF_INET as u64, libc::AF_INET6 as u64],
    },
    // Nobody else has files open that the box may lock.
    ArgumentRule {
        call: libc::SYS_fcntl,
        argument: 1,
        values: &[libc::F_GETLK as u64, libc::F_OFD_GETLK as u64],
    },
    ArgumentRule {
        call: libc::SYS_prctl,
        argument: 0,
        values: &[
            libc::PR_SET_NO_NEW_PRIVS as u64,
            libc::PR_GET_NO_NEW_PRIVS as u64,
            libc::PR_SET_SECCOMP as u64,
            libc::PR_GET_SECCOMP as u64,
            libc::PR_SET_CHILD_SUBREAPER as u64,
            libc::PR_GET_CHILD_SUBREAPER as u64,
            libc::PR_SET_DUMPABLE as u64,
            libc::PR_CAP_AMBIENT as u64,
        ],
    },
];
