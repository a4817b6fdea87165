//! Ctrl-C and SIGTERM: a prompt end, and nothing left.

use crate::fixture::{TaskFolder, program};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// All processes below `root`, by the kernel's own lists of children.
fn descendants(root: u32) -> Vec<u32> {
    let tasks = fs_err::read_dir(format!("/proc/{root}/task")).into_iter().flatten().flatten();
    let lists: String = tasks
        .map(|task| fs_err::read_to_string(task.path().join("children")).unwrap_or_default())
        .collect();
    let children = lists.split_whitespace().map(|pid| pid.parse().unwrap());
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

fn is_alive(pid: u32) -> bool {
    fs_err::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").starts_with(" Z"))
}

/// The control groups that the process `owner` has made.
fn groups_of(owner: u32) -> Vec<Utf8PathBuf> {
    fn search(folder: &Utf8Path, owner: &str, found: &mut Vec<Utf8PathBuf>) {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name();
                if name.starts_with("mle-sandbox-") && name.split('-').nth(3) == Some(owner) {
                    found.push(entry.path().to_owned());
                }
                search(entry.path(), owner, found);
            }
        }
    }
    let mut found = Vec::new();
    for line in fs_err::read_to_string("/proc/self/mountinfo").unwrap().lines() {
        if line.contains(" - cgroup") {
            search(Utf8Path::new(line.split(' ').nth(4).unwrap()), &owner.to_string(), &mut found);
        }
    }
    found
}

/// Waits until `condition` holds.
fn soon(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_mins(1);
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Signals a running program, and makes sure of its code and of how soon it ends.
fn interrupt(mut child: Child, signal: Signal, code: i32) {
    let mut below = descendants(child.id());
    let groups = groups_of(child.id());
    let began = Instant::now();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let status = child.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(code));
    assert!(soon(|| {
        below.retain(|pid| is_alive(*pid));
        below.is_empty()
    }));
    assert_eq!(groups_of(child.id()), Vec::<Utf8PathBuf>::new(), "of {groups:?}");
}

#[test]
fn an_interrupted_run_ends_promptly_and_leaves_nothing() {
    let folder = TaskFolder::new();
    let temporary = folder.path().join("temporary");
    fs_err::create_dir(&temporary).unwrap();
    let script = folder.write("sleep.py", "import os, time\nos.fork()\ntime.sleep(60)");
    for (tier, signal, code) in
        [("t2", Signal::INT, 130), ("t2", Signal::TERM, 143), ("t3", Signal::INT, 130)]
    {
        // Without user namespaces there is no box, and folders are the host's.
        let barred = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"";
        let mut command = match tier {
            "t3" => std::process::Command::new("unshare"),
            _ => program(),
        };
        if tier == "t3" {
            command.args(["-Ur", "sh", "-c", barred, env!("CARGO_BIN_EXE_sandbox")]);
        }
        let child = command
            .args(["run", folder.task().as_str(), &script, &script, "--jobs", "2"])
            .args(["--allow-tier", tier])
            .env("TMPDIR", &temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Launcher, zygote, and of each run two processes and who looks after them.
        assert!(soon(|| descendants(child.id()).len() >= 8), "{:?}", descendants(child.id()));
        interrupt(child, signal, code);
        assert_eq!(temporary.read_dir_utf8().unwrap().count(), 0, "{tier}");
    }
}

#[test]
fn starting_program_can_be_interrupted() {
    let folder = TaskFolder::new();
    let script = folder.write("script.py", "import sklearn");
    let child = program()
        .args(["run", folder.task().as_str(), &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(soon(|| !descendants(child.id()).is_empty()));
    interrupt(child, Signal::INT, 130);
}
