//! Seccomp: the allowlist of system calls, as data with reasons.
//!
//! Everything else answers EPERM; `clone3` and calls newer than this list answer ENOSYS, so that
//! C libraries fall back to what they used before. The 32-bit and x32 entry points are closed by
//! death: they have other numbers for the same calls.

use super::seccomp_program;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The filter could not be made or put up.
#[derive(Debug, thiserror::Error)]
pub enum SeccompError {
    /// The table below is not a valid filter for this processor.
    #[error("could not compile the filter ({0})")]
    Compile(String),
    /// The kernel refused it.
    #[error("the kernel refused the filter ({0})")]
    Install(#[from] seccompiler::Error),
}

/// Calls that are allowed whatever their arguments, in groups that share a reason.
pub(super) struct SyscallGroup {
    /// Why a script needs them, and why they do no harm.
    #[cfg_attr(not(test), expect(dead_code, reason = "documentation that tests check"))]
    pub(super) why: &'static str,
    pub(super) calls: &'static [i64],
}

macro_rules! calls {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}
pub(super) use calls;

const ALLOWED: &[SyscallGroup] = &[
    SyscallGroup {
        why: "read and write what is open",
        calls: calls![
            SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev
            SYS_preadv2 SYS_pwritev2 SYS_lseek SYS_close SYS_close_range SYS_dup SYS_dup3 SYS_pipe2
            SYS_fsync SYS_fdatasync SYS_ftruncate SYS_truncate SYS_fallocate
            SYS_fadvise64 SYS_readahead SYS_sendfile SYS_copy_file_range SYS_splice SYS_tee
        ],
    },
    SyscallGroup {
        why: "files and directories; mounts and Landlock decide which",
        calls: calls![
            SYS_openat SYS_openat2 SYS_faccessat SYS_faccessat2 SYS_newfstatat SYS_fstat SYS_statx
            SYS_statfs SYS_fstatfs SYS_getdents64 SYS_readlinkat SYS_mkdirat SYS_unlinkat
            SYS_renameat SYS_renameat2 SYS_linkat SYS_symlinkat SYS_fchmod SYS_fchmodat SYS_fchown
            SYS_fchownat SYS_utimensat SYS_umask SYS_getcwd SYS_chdir SYS_fchdir
            SYS_getxattr SYS_lgetxattr SYS_fgetxattr SYS_listxattr SYS_llistxattr SYS_flistxattr
        ],
    },
    SyscallGroup {
        why: "named pipes; device nodes need a capability and a mount that allows them",
        calls: calls![SYS_mknodat],
    },
    SyscallGroup {
        why: "memory of one's own, bounded by the address-space limit",
        calls: calls![
            SYS_brk SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_mincore SYS_msync
            SYS_mlock SYS_munlock SYS_membarrier
        ],
    },
    SyscallGroup {
        why: "processes and threads, bounded in number; `clone` is below, with a condition",
        calls: calls![
            SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_set_tid_address
            SYS_set_robust_list SYS_get_robust_list SYS_rseq SYS_futex SYS_gettid SYS_getpid
            SYS_getppid SYS_setsid SYS_getsid SYS_setpgid SYS_getpgid SYS_getuid SYS_geteuid
            SYS_getgid SYS_getegid SYS_getresuid SYS_getresgid SYS_getgroups SYS_capget
        ],
    },
    SyscallGroup {
        why: "signals; the pid namespace bounds whom they reach",
        calls: calls![
            SYS_kill SYS_tkill SYS_tgkill SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn
            SYS_rt_sigpending SYS_rt_sigsuspend SYS_rt_sigtimedwait SYS_rt_sigqueueinfo
            SYS_sigaltstack SYS_restart_syscall SYS_pidfd_open SYS_pidfd_send_signal
        ],
    },
    SyscallGroup {
        why: "wait for events",
        calls: calls![
            SYS_ppoll SYS_pselect6 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2
            SYS_eventfd2 SYS_signalfd4 SYS_timerfd_create SYS_timerfd_settime SYS_timerfd_gettime
        ],
    },
    SyscallGroup {
        why: "read clocks and sleep; setting a clock is not here, nor are POSIX timers, which the \
              kernel counts per user and which can send SIGCONT to a session at rest",
        calls: calls![
            SYS_clock_gettime SYS_clock_getres SYS_gettimeofday SYS_nanosleep SYS_clock_nanosleep
            SYS_getitimer SYS_setitimer SYS_times
        ],
    },
    SyscallGroup {
        why: "ask about the machine and one's own limits; limits can only be lowered",
        calls: calls![
            SYS_uname SYS_sysinfo SYS_getcpu SYS_getrandom SYS_getrusage SYS_getrlimit SYS_setrlimit
            SYS_prlimit64 SYS_getpriority SYS_setpriority SYS_sched_yield SYS_sched_getaffinity
            SYS_sched_setaffinity SYS_sched_getparam SYS_sched_getscheduler
            SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_rr_get_interval
        ],
    },
    SyscallGroup {
        why: "talk between the run's own processes; `socket` and `setsockopt` are below, with conditions",
        calls: calls![
            SYS_bind SYS_listen SYS_accept SYS_accept4 SYS_connect SYS_getsockname SYS_getpeername
            SYS_getsockopt SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg
            SYS_sendmmsg SYS_recvmmsg SYS_shutdown
        ],
    },
];

/// Calls that only older processors have: the same as some above.
#[cfg(target_arch = "x86_64")]
const ALLOWED_LEGACY: &[i64] = calls![
    SYS_open SYS_creat SYS_access SYS_stat SYS_lstat SYS_getdents SYS_readlink SYS_mkdir SYS_rmdir
    SYS_unlink SYS_rename SYS_link SYS_symlink SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes
    SYS_futimesat SYS_mknod SYS_dup2 SYS_pipe SYS_poll SYS_select SYS_epoll_create SYS_epoll_wait
    SYS_eventfd SYS_signalfd SYS_alarm SYS_pause SYS_time SYS_fork SYS_vfork
    SYS_getpgrp SYS_arch_prctl
];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_LEGACY: &[i64] = &[];

/// Calls that answer "no such call". `clone3` passes its flags through memory, where a filter
/// cannot look; C libraries then use `clone`. `flock` locks a file for every process that can open it,
/// the files that all runs share included, so that one run could tell another something or keep
/// it waiting; libraries that want a lock then use a file of their own.
const NOT_THERE: &[i64] = calls![SYS_clone3 SYS_flock];

/// The last call that this table has an opinion on (`mseal`).
const NEWEST: u32 = 462;

/// One argument must be one of these values.
pub(super) struct ArgumentRule {
    pub(super) call: i64,
    pub(super) argument: u8,
    pub(super) values: &'static [u64],
}

const CHOICES: &[ArgumentRule] = &[
    // Sockets within the run: the family of `socketpair`. No IP, netlink, packet or vsock.
    ArgumentRule { call: libc::SYS_socket, argument: 0, values: &[libc::AF_UNIX as u64] },
    ArgumentRule { call: libc::SYS_socketpair, argument: 0, values: &[libc::AF_UNIX as u64] },
    // What `isatty`, `subprocess` and pipes ask. No pushing of characters into terminals.
    ArgumentRule {
        call: libc::SYS_ioctl,
        argument: 1,
        values: &[
            libc::TCGETS,
            libc::TIOCGWINSZ,
            libc::FIONREAD,
            libc::FIONBIO,
            libc::FIOCLEX,
            libc::FIONCLEX,
        ],
    },
    // Descriptors, their flags, pipes, and locks on files that the run may write to. Not here:
    // `F_GETLK` and `F_OFD_GETLK`, which tell of other runs' locks on shared files; leases and
    // `F_NOTIFY`, which tell of their use; `F_SETSIG`, which chooses a signal such as SIGCONT for
    // them and for readiness.
    ArgumentRule {
        call: libc::SYS_fcntl,
        argument: 1,
        values: &[
            libc::F_DUPFD as u64,
            libc::F_DUPFD_CLOEXEC as u64,
            libc::F_GETFD as u64,
            libc::F_SETFD as u64,
            libc::F_GETFL as u64,
            libc::F_SETFL as u64,
            libc::F_GETPIPE_SZ as u64,
            libc::F_ADD_SEALS as u64,
            libc::F_GET_SEALS as u64,
            libc::F_SETLK as u64,
            libc::F_SETLKW as u64,
            libc::F_OFD_SETLK as u64,
            libc::F_OFD_SETLKW as u64,
        ],
    },
    ArgumentRule {
        call: libc::SYS_prctl,
        argument: 0,
        values: &[
            libc::PR_SET_NAME as u64,
            libc::PR_GET_NAME as u64,
            libc::PR_SET_PDEATHSIG as u64,
            libc::PR_GET_PDEATHSIG as u64,
            libc::PR_GET_DUMPABLE as u64,
            libc::PR_CAPBSET_READ as u64,
            libc::PR_SET_THP_DISABLE as u64,
            // Names for memory regions, as recent C libraries give.
            libc::PR_SET_VMA as u64,
        ],
    },
];

/// What a run with GPUs may ask of NVIDIA's driver besides, as a mask and what is left under it.
/// Other drivers' requests among these are of no use without their devices.
///
/// Source: `nv-ioctl-numbers.h`, `uvm_ioctl.h` and `uvm_linux_ioctl.h` of NVIDIA's open kernel
/// modules.
const GPU_REQUESTS: [(u64, u64); 4] = [
    // `nvidiactl` and the GPUs' own nodes: the second byte of a request is its type.
    (0xff00, (b'F' as u64) << 8),
    // `nvidia-uvm`: plain numbers.
    (0xffff_ff00, 0),
    // Its first and its last request, which are numbered otherwise.
    (0xffff_ffff, 0x3000_0001),
    (0xffff_ffff, 0x3000_0002),
];

/// Options of `setsockopt` that make a socket's buffers larger: memory of the kernel's that is
/// added up nowhere but in a control group.
const BUFFER_SIZES: [i32; 4] =
    [libc::SO_SNDBUF, libc::SO_RCVBUF, libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE];

/// Flags of `clone` that C libraries use to make processes and threads. Any other is refused:
/// those that make namespaces; `CLONE_PARENT`, whose child is the zygote's and not the run's;
/// `CLONE_PTRACE` and `CLONE_UNTRACED`, `CLONE_IO` and `CLONE_PIDFD`, which no C library needs.
const CLONE_FLAGS: u64 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_VFORK
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID
    | libc::CLONE_CHILD_SETTID
    | libc::CLONE_DETACHED) as u64;

/// What a child may send its parent when it ends. A child that ends by SIGCONT would wake a
/// session at rest.
const CLONE_SIGNALS: [u64; 2] = [0, libc::SIGCHLD as u64];

/// What the filters may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surroundings {
    /// Namespaces: what a script reaches by path or number is its own.
    Box,
    /// None: what it reaches may be the host's.
    Host,
    /// Namespaces with a network of their own, for one long program: `seccomp_program.rs` has what it may call besides.
    Program,
}

/// Calls that are refused on the host itself: Landlock has no word about modes and times of
/// files, sockets with a path, and other processes' priority. Messages with descriptors and
/// signals with a value are counted per user, and all runs have the same user.
const REFUSED_ON_HOST: &[i64] = calls![
    SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_socket SYS_bind SYS_listen
    SYS_accept SYS_accept4 SYS_connect SYS_setpriority SYS_sendmsg SYS_sendmmsg
    SYS_rt_sigqueueinfo
];
#[cfg(target_arch = "x86_64")]
const REFUSED_ON_HOST_LEGACY: &[i64] = calls![
    SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_ON_HOST_LEGACY: &[i64] = &[];
/// Calls whose first argument names a process, and must name the caller.
const ONLY_ITSELF: [i64; 2] = [libc::SYS_prlimit64, libc::SYS_sched_setaffinity];

/// Compiles the filters for runs with or without GPUs, once per process; a zygote does it before
/// it forks.
///
/// # Errors
/// [`SeccompError::Compile`].
pub fn prepare(
    surroundings: Surroundings,
    gpus: bool,
) -> Result<&'static [BpfProgram; 2], SeccompError> {
    static KEPT: [OnceLock<[BpfProgram; 2]>; 6] = [const { OnceLock::new() }; 6];
    let kept = &KEPT[2 * surroundings as usize + usize::from(gpus)];
    if let Some(filters) = kept.get() {
        return Ok(filters);
    }
    let filters = [allowlist(surroundings, gpus)?, by_number(surroundings)];
    Ok(kept.get_or_init(|| filters))
}

/// Puts the filters up for the calling process and its descendants, for good.
///
/// # Errors
/// A [`SeccompError`].
pub fn apply(surroundings: Surroundings, gpus: bool) -> Result<(), SeccompError> {
    let [allowlist, by_number] = prepare(surroundings, gpus)?;
    // Each filter must let the next one be installed, so the allowlist, which does not have the
    // call for it, goes last. Where they disagree the kernel takes the stricter answer, and
    // between two error numbers that of the filter installed last: the allowlist's rule for
    // NOT_THERE is therefore "allow".
    seccompiler::apply_filter(by_number)?;
    seccompiler::apply_filter(allowlist)?;
    Ok(())
}

fn allowlist(surroundings: Surroundings, gpus: bool) -> Result<BpfProgram, SeccompError> {
    let compile = |error: seccompiler::BackendError| SeccompError::Compile(error.to_string());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let groups = ALLOWED.iter().flat_map(|group| group.calls);
    for call in groups.chain(ALLOWED_LEGACY).chain(NOT_THERE) {
        rules.insert(*call, Vec::new());
    }
    // Later than the table: let the other filter answer.
    for call in i64::from(NEWEST) + 1..i64::from(NEWEST) + 64 {
        rules.insert(call, Vec::new());
    }
    for ArgumentRule { call, argument, values } in CHOICES {
        let mut alternatives = Vec::new();
        for value in *values {
            let equal =
                SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *value);
            alternatives.push(SeccompRule::new(vec![equal.map_err(compile)?]).map_err(compile)?);
        }
        rules.insert(*call, alternatives);
    }
    let ends_by = |signal| {
        let flags = SeccompCmpOp::MaskedEq(!CLONE_FLAGS);
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, flags, signal)
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    let clones: Result<Vec<_>, _> = CLONE_SIGNALS.into_iter().map(ends_by).collect();
    rules.insert(libc::SYS_clone, clones.map_err(compile)?);
    let other = |option: i32| {
        let option = u64::from(option.unsigned_abs());
        SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, option)
    };
    let others: Result<Vec<_>, _> = BUFFER_SIZES.into_iter().map(other).collect();
    let others = SeccompRule::new(others.map_err(compile)?).map_err(compile)?;
    rules.insert(libc::SYS_setsockopt, vec![others]);

    if surroundings == Surroundings::Program {
        for call in seccomp_program::ALLOWED.iter().flat_map(|group| group.calls) {
            rules.insert(*call, Vec::new());
        }
        for ArgumentRule { call, argument, values } in seccomp_program::CHOICES {
            let alternatives = rules.entry(*call).or_default();
            for value in *values {
                let equal = SeccompCmpOp::Eq;
                let equal =
                    SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, equal, *value);
                alternatives
                    .push(SeccompRule::new(vec![equal.map_err(compile)?]).map_err(compile)?);
            }
        }
        // Huge pages would be counted nowhere.
        let small = SeccompCmpOp::MaskedEq(u64::from(libc::MFD_HUGETLB));
        let small = SeccompCondition::new(1, SeccompCmpArgLen::Dword, small, 0);
        let small = SeccompRule::new(vec![small.map_err(compile)?]).map_err(compile)?;
        rules.insert(libc::SYS_memfd_create, vec![small]);
    }

    if surroundings == Surroundings::Host {
        for call in REFUSED_ON_HOST.iter().chain(REFUSED_ON_HOST_LEGACY) {
            rules.remove(call);
        }
        let argument = |number, operator, value| {
            SeccompCondition::new(number, SeccompCmpArgLen::Dword, operator, value)
        };
        for call in ONLY_ITSELF {
            let itself = argument(0, SeccompCmpOp::Eq, 0).map_err(compile)?;
            rules.insert(call, vec![SeccompRule::new(vec![itself]).map_err(compile)?]);
        }
        // Ends that are connected for good: a datagram's could be sent to a path.
        let family = argument(0, SeccompCmpOp::Eq, u64::from(libc::AF_UNIX.unsigned_abs()));
        let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
        let kind = argument(1, SeccompCmpOp::MaskedEq(0xf), stream);
        let pair = vec![family.map_err(compile)?, kind.map_err(compile)?];
        rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(pair).map_err(compile)?]);
    }

    if gpus {
        let masked = |mask, value| {
            let equal = SeccompCmpOp::MaskedEq(mask);
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, equal, value)
                .and_then(|condition| SeccompRule::new(vec![condition]))
                .map_err(compile)
        };
        for (mask, value) in GPU_REQUESTS {
            rules.entry(libc::SYS_ioctl).or_default().push(masked(mask, value)?);
        }
        // CUDA does not begin without such a file. Huge pages would be counted nowhere.
        rules.insert(libc::SYS_memfd_create, vec![masked(u64::from(libc::MFD_HUGETLB), 0)?]);
    }

    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(compile)?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)
        .and_then(BpfProgram::try_from)
        .map_err(compile)
}

/// Answers by number alone: death for x32 calls, "no such call" for what is not there.
fn by_number(surroundings: Surroundings) -> BpfProgram {
    /// Set in the number of every x32 call.
    const X32: u32 = 0x4000_0000;
    // Operations of the filter machine, as `linux/bpf_common.h` composes them.
    /// Load a word at an absolute place.
    const LOAD: u16 = 0x20;
    /// Jump if the loaded word is at least the operand.
    const AT_LEAST: u16 = 0x35;
    /// Jump if it equals the operand.
    const EQUAL: u16 = 0x15;
    /// End with the operand as the answer.
    const RETURN: u16 = 0x06;
    let step = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let end = |action| step(RETURN, action, 0, 0);
    let not_there = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();

    // The call's number is the first word of what a filter sees.
    let mut program = vec![
        step(LOAD, 0, 0, 0),
        step(AT_LEAST, X32, 0, 1),
        end(libc::SECCOMP_RET_KILL_PROCESS),
        step(AT_LEAST, NEWEST + 1, 0, 1),
        end(not_there),
    ];
    // Nobody shares a program's files with it.
    let locks = |call: &&i64| surroundings == Surroundings::Program && **call == libc::SYS_flock;
    for call in NOT_THERE.iter().filter(|call| !locks(call)) {
        program.push(step(EQUAL, u32::try_from(*call).unwrap_or(u32::MAX), 0, 1));
        program.push(end(not_there));
    }
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_table_compiles_and_has_reasons() {
        let length = |surroundings, gpus| allowlist(surroundings, gpus).unwrap().len();
        for gpus in [false, true] {
            let lengths = [Surroundings::Box, Surroundings::Host].map(|s| length(s, gpus));
            assert!(lengths[1] > 300 && lengths[0] > lengths[1], "{lengths:?}");
        }
        assert!(length(Surroundings::Box, true) > length(Surroundings::Box, false));
        let groups = ALLOWED.iter().chain(seccomp_program::ALLOWED);
        assert!(groups.clone().all(|group| !group.why.is_empty()));
        assert!(length(Surroundings::Program, false) > length(Surroundings::Box, false));
    }

    #[test]
    fn program_gets_no_call_that_reaches_other_processes_or_the_kernels_settings() {
        let dangerous: &[i64] = calls![
            SYS_mount SYS_umount2 SYS_move_mount SYS_open_tree SYS_fsopen SYS_mount_setattr
            SYS_pivot_root SYS_chroot SYS_setns SYS_unshare SYS_ptrace SYS_process_vm_readv
            SYS_process_vm_writev SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_io_uring_setup
            SYS_keyctl SYS_add_key SYS_request_key SYS_open_by_handle_at SYS_init_module
            SYS_kexec_load SYS_reboot SYS_swapon SYS_clock_settime SYS_settimeofday SYS_syslog
            SYS_quotactl SYS_acct SYS_pidfd_getfd SYS_kcmp SYS_shmget SYS_msgget SYS_semget
            SYS_personality SYS_fanotify_init SYS_setuid SYS_setresuid SYS_setgroups
        ];
        let more = seccomp_program::ALLOWED.iter().flat_map(|group| group.calls);
        let allowed: Vec<i64> = ALLOWED.iter().flat_map(|g| g.calls).chain(more).copied().collect();
        for call in dangerous {
            assert!(!allowed.contains(call), "{call}");
        }
    }

    #[test]
    fn filter_allows_no_call_that_escapes_the_jail() {
        let dangerous: &[i64] = calls![
            SYS_mount SYS_umount2 SYS_move_mount SYS_open_tree SYS_fsopen SYS_mount_setattr
            SYS_pivot_root SYS_chroot SYS_setns SYS_unshare SYS_ptrace SYS_process_vm_readv
            SYS_process_vm_writev SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_io_uring_setup
            SYS_keyctl SYS_add_key SYS_request_key SYS_open_by_handle_at SYS_init_module
            SYS_kexec_load SYS_reboot SYS_swapon SYS_clock_settime SYS_settimeofday SYS_syslog
            SYS_quotactl SYS_acct SYS_pidfd_getfd SYS_kcmp SYS_memfd_create SYS_shmget SYS_msgget
            SYS_semget SYS_personality SYS_seccomp SYS_fanotify_init SYS_timer_create
            SYS_inotify_init1 SYS_inotify_add_watch SYS_flock SYS_fcntl
        ];
        let allowed: Vec<i64> =
            ALLOWED.iter().flat_map(|group| group.calls).chain(ALLOWED_LEGACY).copied().collect();
        for call in dangerous {
            assert!(!allowed.contains(call), "{call}");
        }
        let mut once = allowed.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), allowed.len(), "a call is listed twice");
    }
}
