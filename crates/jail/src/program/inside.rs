//! The launcher: a process of its own that builds the box, from outside to inside.
//!
//! It has a single thread, and finds a packet socket to the caller at standard input, the pipe for the
//! program's output at standard output, and a log at standard error. Steps, in order:
//!
//! 1. a session of its own: a Ctrl-C at the caller's terminal is the caller's to handle;
//! 2. mount, network, IPC and host-name namespaces; the loopback of the new network, and listeners on
//!    it, which the caller gets;
//! 3. the root, with `/tmp` and `/dev/shm` of a fixed size;
//! 4. root's identity given up;
//! 5. a pid namespace, whose first process is the [keeper](super::keeper).
//!
//! The keeper starts the program's process, which then
//! 1. joins the control group;
//! 2. gets its limits, and first place in the out-of-memory killer's queue;
//! 3. enters a user namespace in which nothing of the above can be undone, and gives up all capabilities;
//! 4. Landlock;
//! 5. keeps standard input (empty), output and error, and nothing else;
//! 6. seccomp, and becomes the program.
//!
//! Without a box there are only the session, the keeper and the control group.

use super::keeper;
use super::launched::{Launch, Order, Told};
use crate::exec::{Fault, wire};
use crate::isolation::enter::AGENT;
use crate::isolation::landlock::{self, LandlockError};
use crate::isolation::launcher::{Identity, UNPRIVILEGED, become_unprivileged, unshare_outer};
use crate::isolation::layer::Missing;
use crate::isolation::mounts::{self, Rules};
use crate::isolation::process::{self, Fork};
use crate::isolation::root::{self, Bind, Contents, HostProc, WorkDirs};
use crate::isolation::seccomp::{self, Surroundings};
use crate::isolation::{Layer, capabilities, namespaces, rlimits};
use fs_err as fs;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use std::fmt::Display;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

/// The first argument of a program that is to be the launcher of a box.
pub const LAUNCH: &str = "__launch-program";

/// Time for the caller's first packets.
const PATIENCE: Duration = Duration::from_mins(1);
/// The exit code of a program that could not be started, as shells have it.
const NOT_STARTED: i32 = 127;

/// A step that failed, and the layer that is missing for it.
type Step<T> = Result<T, Missing>;

/// For `map_err`: the layer that is missing.
fn without<E: Display>(layer: Layer) -> impl Fn(E) -> Missing {
    move |error| Missing { layer, reason: error.to_string() }
}

/// Builds a box and stays until everything in it is gone. The exit code of the process.
pub fn launch() -> i32 {
    let stdin = std::io::stdin();
    // Not at standard input, which the program finds empty.
    let Ok(control) = rustix::io::fcntl_dupfd_cloexec(stdin.as_fd(), 3) else { return 1 };
    match build(&control) {
        Ok(()) => 0,
        Err(missing) => {
            tell(control.as_fd(), &Told::Failed(missing));
            1
        }
    }
}

pub(super) fn tell(control: BorrowedFd<'_>, told: &Told) {
    // If that fails, the caller is gone, and the keeper finds that out.
    let _ = wire::send(control, told, &[]);
}

fn build(control: &OwnedFd) -> Step<()> {
    let broken = |fault: Fault| without(Layer::PidNamespace)(fault);
    rustix::process::setsid().map_err(without(Layer::PidNamespace))?;
    let (launch, _): (Launch, _) = wire::receive(control.as_fd(), PATIENCE).map_err(broken)?;
    let mut groups = Vec::new();
    for _ in 0..launch.group_fds {
        let (_, group): (Order, _) = wire::receive(control.as_fd(), PATIENCE).map_err(broken)?;
        groups.extend(group);
    }
    if !launch.boxed {
        // Whoever loses its parent becomes a child of this process.
        let own = Some(rustix::process::getpid());
        rustix::process::set_child_subreaper(own).map_err(without(Layer::PidNamespace))?;
        let program = start(control, &launch, &groups)?;
        drop(groups);
        keeper::keep(control.as_fd(), program, false);
        return Ok(());
    }

    let who = unshare_outer().map_err(|error| without(error.layer())(error))?;
    process::raise_loopback().map_err(without(Layer::NetworkNamespace))?;
    for port in &launch.ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port));
        let listener = listener.map_err(without(Layer::NetworkNamespace))?;
        wire::send(control.as_fd(), &Told::Listening(*port), &[listener.as_fd()])
            .map_err(broken)?;
    }
    build_root(&launch, who)?;
    if matches!(who, Identity::Root) {
        become_unprivileged(UNPRIVILEGED).map_err(without(Layer::UserNamespace))?;
        let own = namespaces::unshare_user_and_mounts();
        own.map_err(without(Layer::UserNamespace))?;
        let mapped = namespaces::map_identity(0, UNPRIVILEGED, UNPRIVILEGED);
        mapped.map_err(without(Layer::UserNamespace))?;
    }
    namespaces::unshare(Layer::PidNamespace).map_err(without(Layer::PidNamespace))?;
    match process::fork().map_err(without(Layer::PidNamespace))? {
        Fork::Parent(keeper) => wait_for(keeper),
        Fork::Child => {
            set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(without(Layer::PidNamespace))?;
            mounts::proc("/proc", "").map_err(without(Layer::PrivateMounts))?;
            // The program has this user too: it must not even list the keeper's descriptors.
            set_dumpable_behavior(DumpableBehavior::NotDumpable)
                .map_err(without(Layer::PidNamespace))?;
            let program = start(control, &launch, &groups)?;
            drop(groups);
            keeper::keep(control.as_fd(), program, true);
        }
    }
    Ok(())
}

/// The box's root, with memory for temporary files.
fn build_root(launch: &Launch, who: Identity) -> Step<()> {
    let host_proc = match who {
        Identity::Root => HostProc::Fresh,
        Identity::Ordinary => HostProc::Inherited,
    };
    let trees: [(Rules, &[Bind]); 4] = [
        (Rules::Programs, &launch.programs),
        (Rules::Data, &launch.data),
        (Rules::WorkDirs, &launch.writable),
        (Rules::Device, &launch.devices),
    ];
    let contents = Contents { trees: &trees, places: &[], work_dirs: WorkDirs::None };
    root::build(&contents, host_proc).map_err(without(Layer::PivotedRoot))?;
    let files = (launch.scratch / 4096).clamp(64, 1 << 20);
    let options = format!("mode=1777,size={},nr_inodes={files}", launch.scratch);
    for path in ["/tmp", "/dev/shm"] {
        mounts::tmpfs(path, &options).map_err(without(Layer::PrivateMounts))?;
    }
    Ok(())
}

/// Waits for the keeper, which is not gone before everybody else in its namespace is.
fn wait_for(keeper: Pid) {
    while let Err(rustix::io::Errno::INTR) =
        rustix::process::waitpid(Some(keeper), WaitOptions::empty())
    {}
}

/// Starts the program's process; its number. In the child it comes back only with an error, of which
/// the caller has been told.
fn start(control: &OwnedFd, launch: &Launch, groups: &[OwnedFd]) -> Step<Pid> {
    match process::fork().map_err(without(Layer::PidNamespace))? {
        Fork::Parent(program) => Ok(program),
        Fork::Child => {
            let entered = enter(control, launch, groups);
            if let Err(missing) = entered {
                tell(control.as_fd(), &Told::Failed(missing));
                give_up();
            }
            let program = launch.start.first().map_or("", String::as_str);
            let error = Command::new(program)
                .args(launch.start.iter().skip(1))
                .env_clear()
                .envs(launch.environment.iter().cloned())
                .exec();
            // The caller sees it in the program's output.
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("{program} could not be started: {error}\n").as_bytes(),
            );
            give_up()
        }
    }
}

#[expect(clippy::exit, reason = "the forked process must not go on as its parent would")]
fn give_up() -> ! {
    std::process::exit(NOT_STARTED)
}

/// The program's process on its way into the box.
fn enter(control: &OwnedFd, launch: &Launch, groups: &[OwnedFd]) -> Step<()> {
    let mut missing = Vec::new();
    // Its own entries in /proc are root's until then.
    set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(without(Layer::PidNamespace))?;
    rustix::process::setsid().map_err(without(Layer::PidNamespace))?;
    for group in groups {
        // 0 stands for the process that writes it.
        rustix::io::write(group, b"0").map_err(without(Layer::Cgroup))?;
    }
    if launch.boxed {
        rlimits::apply(&launch.limits).map_err(without(Layer::ResourceLimits))?;
        // If the machine itself runs out of memory, the kernel kills these first.
        fs::write("/proc/self/oom_score_adj", "1000").map_err(without(Layer::ResourceLimits))?;
        let user = without(Layer::UserNamespace);
        namespaces::unshare(Layer::UserNamespace).map_err(without(Layer::UserNamespace))?;
        namespaces::map_identity(AGENT, 0, 0).map_err(without(Layer::UserNamespace))?;
        rlimits::apply_to_processes(&launch.limits).map_err(without(Layer::ResourceLimits))?;
        fs::write("/proc/sys/user/max_user_namespaces", "0").map_err(user)?;
        capabilities::forbid_new_privileges().map_err(without(Layer::NoNewPrivileges))?;
        capabilities::drop_all().map_err(without(Layer::Capabilities))?;
        let targets = |binds: &'_ [Bind]| -> Vec<String> {
            binds.iter().map(|bind| bind.target.clone()).collect()
        };
        let (writable, devices) = (targets(&launch.writable), targets(&launch.devices));
        let writable: Vec<&str> = writable.iter().map(String::as_str).collect();
        let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
        match landlock::apply_to_program(&writable, &devices) {
            Err(error @ LandlockError::Unsupported) => {
                missing.push(Missing { layer: Layer::Landlock, reason: error.to_string() });
            }
            other => other.map_err(without(Layer::Landlock))?,
        }
    }
    let streams = without(Layer::PrivateMounts);
    let null = fs::File::open("/dev/null").map_err(&streams)?;
    rustix::stdio::dup2_stdin(&null).map_err(without(Layer::PrivateMounts))?;
    rustix::stdio::dup2_stderr(std::io::stdout()).map_err(without(Layer::PrivateMounts))?;
    rustix::process::chdir(&*launch.directory).map_err(without(Layer::PrivateMounts))?;
    process::close_on_exec(3).map_err(&streams)?;
    if launch.boxed {
        seccomp::apply(Surroundings::Program, launch.gpus).map_err(without(Layer::Seccomp))?;
    }
    tell(control.as_fd(), &Told::Standing(missing));
    Ok(())
}
