//! Nothing outlives what it belongs to, and what breaks is replaced.

use crate::fixture::{Corpus, Place, assert_finished, policy, quick, within};
use sandbox::exec::{Fault, Options, Sandbox, StartError};
use sandbox::jail::Layer;
use sandbox::policy::{ByteSize, Policy};
use sandbox::python::PythonEnv;
use sandbox::task::TaskId;
use std::time::{Duration, Instant};

/// All processes below `root`, by the kernel's own list of children.
fn descendants(root: u32) -> Vec<u32> {
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

#[test]
fn a_dropped_sandbox_leaves_nothing() {
    let place = Place::quick();
    let launcher = place.sandbox.launcher_pid();
    assert_finished("one", &place.run("pass"));
    let mut all = descendants(launcher);
    assert!(!all.is_empty());
    all.push(launcher);
    drop(place);
    assert!(all_gone_soon(&all), "{all:?}");
}

#[test]
fn between_runs_only_the_zygote_is_there() {
    let place = Place::quick();
    for _ in 0..5 {
        let code = "import os, time\nfor _ in range(5):\n  if os.fork() == 0: time.sleep(60)\n";
        assert_finished("fork", &place.run(code));
    }
    assert_eq!(descendants(place.sandbox.launcher_pid()).len(), 1);
    let zygote = descendants(place.sandbox.launcher_pid())[0];
    let open = || fs_err::read_dir(format!("/proc/{zygote}/fd")).unwrap().count();
    let mounts =
        || fs_err::read_to_string(format!("/proc/{zygote}/mounts")).unwrap().lines().count();
    let before = (open(), mounts());
    for _ in 0..5 {
        assert_finished("run", &place.run("pass"));
    }
    // A work dir is closed without waiting for it.
    std::thread::sleep(Duration::from_millis(300));
    assert!(open() <= before.0 && mounts() <= before.1, "{before:?}, now {:?}", (open(), mounts()));
}

#[test]
fn a_killed_zygote_is_our_fault_and_is_replaced() {
    let place = Place::quick();
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

#[test]
fn a_sandbox_says_which_layers_are_up_and_refuses_to_go_without_the_core() {
    let place = Place::quick();
    let protection = place.sandbox.protection();
    for layer in Layer::ALL {
        // Whether Landlock is there is the kernel's affair.
        let expected = !matches!(layer, Layer::Cgroup | Layer::Landlock);
        assert!(protection.is_up(layer) == expected || layer == Layer::Landlock, "{layer}");
    }
    let python = PythonEnv::locate().unwrap();
    let start = |allow_missing| {
        let options = Options { allow_missing, ..quick() };
        Sandbox::start(&python, options, &place.corpus.tasks()).unwrap_err()
    };
    let error = start(vec![Layer::PivotedRoot]);
    assert!(matches!(error, StartError::Indispensable { layer: Layer::PivotedRoot }));
    let error = start(vec![]);
    assert!(matches!(error, StartError::Layer { layer: Layer::Cgroup, .. }), "{error}");
    let unknown = TaskId::new("gamma").unwrap();
    assert!(matches!(place.sandbox.workspace(&unknown), Err(Fault::UnknownTask(_))));
}

#[test]
fn a_killed_supervisor_leaves_nothing() {
    let corpus = Corpus::new();
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
fn hundreds_of_mixed_runs_leave_nothing_and_disturb_nobody() {
    let place = Place::quick();
    let launcher = place.sandbox.launcher_pid();
    let zygote = descendants(launcher)[0];
    let open = || fs_err::read_dir(format!("/proc/{zygote}/fd")).unwrap().count();
    let mounts =
        || fs_err::read_to_string(format!("/proc/{zygote}/mounts")).unwrap().lines().count();
    let resident = || {
        let statm = fs_err::read_to_string(format!("/proc/{zygote}/statm")).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let own = || fs_err::read_dir("/proc/self/fd").unwrap().count();
    let before = (open(), mounts(), resident(), own());
    let bad = [
        "import os\nwhile True: os.fork()",
        "x = []\nwhile True: x.append(bytearray(10 << 20))",
        "while True: print('x' * 100_000)",
        "import ctypes; ctypes.string_at(0)",
        "import os, time\nif os.fork() == 0:\n  os.setsid(); time.sleep(60)",
        "import numpy; numpy.random.seed = None; raise KeyError",
        "open('big', 'wb').write(bytes(1 << 29))",
        "import os, signal; os.kill(0, signal.SIGKILL)",
    ];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let place = &place;
            scope.spawn(move || {
                let tight = Policy {
                    memory: ByteSize::mib(200),
                    output_limit: ByteSize::mib(1),
                    ..within(Duration::from_millis(300))
                };
                for step in 0..50 {
                    let workspace = place.workspace();
                    if step % 2 == 0 {
                        workspace.run(bad[(thread + step / 2) % bad.len()], &tight).unwrap();
                    }
                    let code = format!("import numpy\nprint(numpy.arange({step} + 1).sum())");
                    let run = workspace.run(&code, &policy()).unwrap();
                    assert_finished("honest", &run);
                    assert_eq!(run.stdout.text().trim(), (step * (step + 1) / 2).to_string());
                }
            });
        }
    });
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(descendants(launcher), [zygote]);
    assert!(open() <= before.0 && mounts() <= before.1 && own() <= before.3, "{before:?}");
    assert!(resident() < before.2 + (16 << 20), "{} after {}", resident(), before.2);
}

#[test]
fn data_that_scripts_could_not_read_is_refused_at_the_start() {
    use std::os::unix::fs::PermissionsExt as _;
    let corpus = Corpus::new();
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
