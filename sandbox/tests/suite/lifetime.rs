//! Nothing outlives what it belongs to, and what breaks is replaced.

use crate::fixture::{
    SandboxFixture, SuiteCorpus, assert_finished, is_alone, policy, quick, script,
};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Fault, Outcome, Sandbox, SandboxOptions, StartError};
use jail::isolation::{IsolationLevel, Layer, LayerState};
use jail::limits::RunLimits;
use jail::python::PythonEnv;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use tasks::task::TaskId;
use tasks::units::{ByteSize, Span};

/// All processes below `root`, by the kernel's own list of children.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let path = format!("/proc/{root}/task/{root}/children");
    let children = fs_err::read_to_string(path).unwrap_or_default();
    let mut all = Vec::new();
    for child in children.split_whitespace().map(|pid| pid.parse().unwrap()) {
        all.push(child);
        all.extend(descendants(child));
    }
    all
}

fn is_alive(pid: u32) -> bool {
    fs_err::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
}

fn all_gone_soon(pids: &[u32]) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if !pids.iter().any(|pid| is_alive(*pid)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// The zygote, once nothing else is there below its launcher but as many spares as there should
/// be, each with its reaper.
pub(crate) fn zygote_at_rest(place: &SandboxFixture) -> u32 {
    let expected = 1 + 2 * place.spares;
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let all = descendants(place.sandbox.launcher_pid());
        if all.len() == expected {
            return all[0];
        }
        assert!(Instant::now() < deadline, "{} processes instead of {expected}", all.len());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The control groups that the process `owner` has made and those in them, wherever they are
/// mounted.
pub(crate) fn groups_of(owner: u32) -> Vec<Utf8PathBuf> {
    fn search(folder: &Utf8Path, owner: &str, inside: bool, found: &mut Vec<Utf8PathBuf>) {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name();
                let own = name.starts_with("mle-sandbox-") && name.split('-').nth(3) == Some(owner);
                if inside || own {
                    found.push(entry.path().to_owned());
                }
                search(entry.path(), owner, inside || own, found);
            }
        }
    }
    let mut found = Vec::new();
    for line in fs_err::read_to_string("/proc/self/mountinfo").unwrap().lines() {
        if line.contains(" - cgroup") {
            let point = line.split(' ').nth(4).unwrap();
            search(Utf8Path::new(point), &owner.to_string(), false, &mut found);
        }
    }
    found.sort();
    found
}

#[test]
fn a_dropped_sandbox_leaves_nothing() {
    let place = SandboxFixture::quick();
    let launcher = place.sandbox.launcher_pid();
    assert_finished("one", &place.run("pass"));
    let mut all = descendants(launcher);
    assert!(!all.is_empty());
    all.push(launcher);
    drop(place);
    assert!(all_gone_soon(&all), "{all:?}");
}

#[test]
fn between_runs_only_the_zygote_and_its_spares_are_there() {
    let place = SandboxFixture::quick();
    for _ in 0..5 {
        let code = "import os, time\nfor _ in range(5):\n  if os.fork() == 0: time.sleep(60)\n";
        assert_finished("fork", &place.run(code));
    }
    let zygote = zygote_at_rest(&place);
    let open = || fs_err::read_dir(format!("/proc/{zygote}/fd")).unwrap().count();
    let mounts =
        || fs_err::read_to_string(format!("/proc/{zygote}/mounts")).unwrap().lines().count();
    let before = (open(), mounts());
    for _ in 0..5 {
        assert_finished("run", &place.run("pass"));
    }
    // A work dir is closed without waiting for it.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(zygote_at_rest(&place), zygote);
    assert!(open() <= before.0 && mounts() <= before.1, "{before:?}, now {:?}", (open(), mounts()));
}

#[test]
fn a_killed_zygote_is_our_fault_and_is_replaced() {
    let place = SandboxFixture::quick();
    let workspace = place.workspace();
    let launcher = place.sandbox.launcher_pid();
    let fault = std::thread::scope(|scope| {
        let run = scope.spawn(|| workspace.run("import time; time.sleep(30)", &policy()));
        std::thread::sleep(Duration::from_millis(700));
        let zygote = descendants(launcher)[0].to_string();
        std::process::Command::new("kill").args(["-9", &zygote]).status().unwrap();
        run.join().unwrap().unwrap_err()
    });
    assert!(matches!(fault, Fault::ZygoteLost { .. }), "{fault}");
    assert!(matches!(workspace.run("pass", &policy()), Err(Fault::ZygoteLost { .. })));
    assert_finished("after", &place.run("pass"));
    assert_ne!(place.sandbox.launcher_pid(), launcher);
}

/// A control group of version 1 whose processes stand still and cannot even be killed.
struct FrozenCgroup(&'static Utf8Path);

impl FrozenCgroup {
    /// None where that version's freezer is not mounted, or this user may not use it.
    fn make() -> Option<Self> {
        let folder = Utf8Path::new("/sys/fs/cgroup/freezer/mle-sandbox-test");
        fs_err::create_dir_all(folder).ok()?;
        fs_err::write(folder.join("freezer.state"), "FROZEN").ok()?;
        Some(Self(folder))
    }

    fn take(&self, process: u32) {
        fs_err::write(self.0.join("cgroup.procs"), process.to_string()).unwrap();
    }
}

impl Drop for FrozenCgroup {
    fn drop(&mut self) {
        let _ = fs_err::write(self.0.join("freezer.state"), "THAWED");
        for _ in 0..100 {
            if fs_err::remove_dir(self.0).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn unkillable_run_frees_its_slot_without_a_fault() {
    // One place, which the next run needs.
    let place = SandboxFixture::with(SandboxOptions { slots: 1, spares: 0, ..quick() });
    let Some(stuck) = FrozenCgroup::make() else { return };
    let (workspace, launcher) = (place.workspace(), place.sandbox.launcher_pid());
    let limit = RunLimits { time_limit: Span::seconds(2), ..policy() };
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| workspace.run("import time; time.sleep(60)", &limit).unwrap());
        std::thread::sleep(Duration::from_millis(700));
        // The worker is the last of launcher, zygote, reaper and worker.
        stuck.take(*descendants(launcher).iter().max().unwrap());
        run.join().unwrap()
    });
    assert_eq!(run.outcome, Outcome::TimedOut);
    assert!(run.wall < Duration::from_secs(10), "{:?}", run.wall);
    assert_finished("the next", &place.run("pass"));
    assert_ne!(place.sandbox.launcher_pid(), launcher, "it got a new zygote");
    // What could not be ended before ends now, and the old zygote with its last work dir.
    let old = descendants(launcher);
    drop(stuck);
    drop(workspace);
    assert!(all_gone_soon(&old), "{old:?}");
}

#[test]
fn an_abandoned_sandbox_ends_its_runs_at_once_and_begins_no_more() {
    let place = SandboxFixture::quick();
    let (workspace, other) = (place.workspace(), place.workspace());
    let launcher = place.sandbox.launcher_pid();
    let mut all = descendants(launcher);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| workspace.run("import time; time.sleep(60)", &policy()));
        std::thread::sleep(Duration::from_millis(700));
        all.extend(descendants(launcher));
        let began = Instant::now();
        place.sandbox.abandon();
        assert!(matches!(run.join().unwrap(), Err(Fault::ZygoteLost { .. })));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    });
    assert!(other.run("pass", &policy()).is_err());
    assert!(matches!(place.sandbox.empty_workspace(), Err(Fault::Abandoned)));
    assert!(all_gone_soon(&all), "{all:?}");
}

#[test]
fn sandbox_reports_its_tier_and_refuses_a_weaker_one() {
    let options = SandboxOptions { best_tier: IsolationLevel::T2, ..quick() };
    let place = SandboxFixture::with(options.clone());
    assert_eq!(place.sandbox.tier(), IsolationLevel::T2);
    assert_eq!(place.run("pass").tier, IsolationLevel::T2);
    for (layer, state) in place.sandbox.protection().iter() {
        // Whether Landlock is there is the kernel's affair.
        let expected = layer != Layer::Cgroup;
        assert!((*state == LayerState::Up) == expected || layer == Layer::Landlock, "{layer}");
    }
    let bounded = RunLimits { cpus: NonZeroU32::new(1), ..policy() };
    let fault = place.workspace().run("pass", &bounded).unwrap_err();
    assert!(matches!(fault, Fault::NeedsGroups(IsolationLevel::T2)), "{fault}");
    let unknown = TaskId::new("gamma").unwrap();
    assert!(matches!(place.sandbox.workspace(&unknown), Err(Fault::UnknownTask(_))));

    let options = SandboxOptions { allow_tier: IsolationLevel::T1, ..options };
    let python = PythonEnv::locate().unwrap();
    let error = Sandbox::start(&python, options, &place.corpus.tasks()).unwrap_err();
    assert!(matches!(error, StartError::IsolationLevel { layer: Layer::Cgroup, .. }), "{error}");
    assert!(error.to_string().contains("--allow-tier t2"), "{error}");
}

#[test]
fn control_groups_limit_cpu_time_and_are_removed_with_the_sandbox() {
    if !is_alone("lifetime::control_groups_limit_cpu_time_and_are_removed_with_the_sandbox") {
        return;
    }
    let place = SandboxFixture::quick();
    if place.sandbox.tier() != IsolationLevel::T1 {
        return eprintln!("this host offers no control groups: {:?}", place.sandbox.protection());
    }
    let spin = &script(
        r"
        import os, time
        end = time.monotonic() + 1
        for _ in range(2):
            if os.fork() == 0:
                while time.monotonic() < end: pass
                os._exit(0)
        for _ in range(2): os.wait()
        print(open('/proc/self/cgroup').read())
        ",
    );
    let bounded = RunLimits { cpus: NonZeroU32::new(1), ..policy() };
    let workspace = place.workspace();
    let run = workspace.run(spin, &bounded).unwrap();
    assert_finished("spin", &run);
    assert!(run.cpu < Duration::from_millis(1600), "{:?} of processor time", run.cpu);
    let folders = groups_of(std::process::id());
    assert!(!folders.is_empty());
    drop((workspace, place));
    assert_eq!(groups_of(std::process::id()), Vec::<Utf8PathBuf>::new());
}

#[test]
fn run_killed_by_the_kernel_is_out_of_memory_and_the_zygote_survives() {
    let place = SandboxFixture::quick();
    if place.sandbox.tier() != IsolationLevel::T1 {
        return eprintln!("this host offers no control groups: {:?}", place.sandbox.protection());
    }
    // Bytes in sockets are no process's, so that nobody but the kernel can add them up.
    let code = fs_err::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/hostile/memory_of_sockets_over_children.py"
    ));
    let little = RunLimits {
        memory: ByteSize::mib(100),
        scratch: ByteSize::mib(4),
        processes: 40,
        ..policy()
    };
    let zygote = zygote_at_rest(&place);
    let workspace = place.workspace();
    let run = workspace.run(&code.unwrap(), &little).unwrap();
    assert_eq!(run.outcome, Outcome::OutOfMemory, "{}", run.stderr.text());
    assert_finished("the next", &workspace.run("pass", &little).unwrap());
    assert_eq!(zygote_at_rest(&place), zygote);
}

#[test]
fn groups_of_a_killed_supervisor_are_swept_by_the_next() {
    let corpus = SuiteCorpus::new();
    let code = corpus.path().join("sleep.py");
    fs_err::write(&code, "import time; time.sleep(60)").unwrap();
    let run = |code: &Utf8Path| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sandbox"));
        command.args(["run", corpus.path().join("alpha").as_str(), code.as_str()]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut supervisor = run(&code);
    let deadline = Instant::now() + Duration::from_mins(1);
    while descendants(supervisor.id()).len() < 4 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    let left = groups_of(supervisor.id());
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    // Without control groups there is nothing to sweep, and nothing to be seen here.
    if !left.is_empty() {
        assert_eq!(groups_of(supervisor.id()), left, "nobody was there to remove them");
        fs_err::write(&code, "pass").unwrap();
        assert!(run(&code).wait().unwrap().success());
        assert_eq!(groups_of(supervisor.id()), Vec::<Utf8PathBuf>::new());
    }
}

#[test]
fn a_killed_supervisor_leaves_nothing() {
    let corpus = SuiteCorpus::new();
    let code = corpus.path().join("sleep.py");
    fs_err::write(&code, "import time; time.sleep(60)").unwrap();
    let mut supervisor = std::process::Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .args(["run", corpus.path().join("alpha").as_str(), code.as_str()])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Launcher, zygote, reaper and worker: the script runs.
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut below = Vec::new();
    while below.len() < 4 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
        below = descendants(supervisor.id());
    }
    assert!(below.len() >= 4, "{below:?}");
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert!(all_gone_soon(&below), "{below:?}");
}

#[test]
fn without_a_box_a_killed_supervisor_leaves_no_process_and_the_next_no_folder() {
    let corpus = SuiteCorpus::new();
    let code = corpus.path().join("sleep.py");
    let folder = corpus.path().join("temporary");
    fs_err::create_dir(&folder).unwrap();
    let run = |text: &str| {
        fs_err::write(&code, text).unwrap();
        let barred = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        std::process::Command::new("unshare")
            .args(["-Ur", "sh", "-c", barred, env!("CARGO_BIN_EXE_sandbox"), "run"])
            .args([corpus.path().join("alpha").as_str(), code.as_str(), "--allow-tier", "t3"])
            .env("TMPDIR", &folder)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let daemons = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  os.fork()\ntime.sleep(60)";
    let mut supervisor = run(daemons);
    // Launcher, zygote, keeper, worker and its two daemons.
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut below = Vec::new();
    while below.len() < 6 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
        below = descendants(supervisor.id());
    }
    assert!(below.len() >= 6, "{below:?}");
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert!(all_gone_soon(&below), "{below:?}");
    let left = || folder.read_dir_utf8().unwrap().count();
    assert_eq!(left(), 1, "nobody was there to remove it");
    assert!(run("pass").wait().unwrap().success());
    assert_eq!(left(), 0);
}

#[test]
fn data_that_scripts_could_not_read_is_refused_at_the_start() {
    use std::os::unix::fs::PermissionsExt as _;
    let corpus = SuiteCorpus::new();
    let file = corpus.path().join("beta/prepared/public/train.csv");
    fs_err::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let result = Sandbox::start(&PythonEnv::locate().unwrap(), quick(), &corpus.tasks());
    if rustix::process::geteuid().is_root() {
        // Scripts run as another user then.
        let error = result.unwrap_err().to_string();
        assert!(error.contains("/tasks/beta/train.csv") && error.contains("chmod"), "{error}");
    } else {
        result.unwrap();
    }
}
