//! Which tiers this run of the suite has tried, as whom, and which it had to leave out.
//!
//! Every try and every omission becomes a line of a file in `target/tmp/tiers`, which
//! `scripts/tiers.sh` prints. Where `CI` is set, an omission fails the test: a machine that
//! cannot try a tier is no place to say that it holds.

use crate::fixture::reachable_paths;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Nobody's numbers on any host, and not those that root's sandboxes use.
const ORDINARY: &str = "61234";
/// In the environment of a test that runs where others can reach what they need.
const OPENED: &str = "MLE_SUITE_OPENED";

/// Writes down that something was tried.
pub(crate) fn tried(what: &str) {
    let user = if rustix::process::geteuid().is_root() { "root" } else { "an ordinary user" };
    record(&format!("tried: {what}, as {user}"));
}

/// Writes down that something was left out.
///
/// # Panics
/// Where nothing may be left out.
pub(crate) fn left_out(what: &str, reason: &str) {
    record(&format!("left out: {what}: {}", reason.replace('\n', " ")));
    let strict = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
    assert!(!strict, "{what} was not tried, and CI must try everything: {reason}");
}

/// A line of its own file, or for whoever runs this test as somebody else.
#[expect(clippy::print_stdout, reason = "read by the test that started this one")]
fn record(line: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tiers");
    let name = format!("{}-{}", std::process::id(), blake3::hash(line.as_bytes()).to_hex());
    let written = fs_err::create_dir_all(&folder)
        .and_then(|()| fs_err::File::create(folder.join(name)))
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if written.is_err() {
        println!("\n{line}");
    }
}

/// Records what another process of this program has said of its own.
fn pass_on(said: &str) {
    let lines =
        said.lines().filter(|line| line.starts_with("tried: ") || line.starts_with("left out: "));
    lines.for_each(record);
}

/// Whether other users can reach Python and this program. If not, and if this is root, the
/// calling test, `name`, has by the time of the answer been run in a mount namespace where they
/// can, and must have passed there.
pub(crate) fn is_open_to_others(name: &str) -> bool {
    let closed = closed();
    if closed.is_empty() || std::env::var_os(OPENED).is_some() || !is_root() {
        return true;
    }
    run_again(&mut opened(&closed), name);
    false
}

/// Runs another test of this program as somebody who is not root. If this is nobody special
/// already, the other test says it all.
pub(crate) fn as_ordinary_user(test: &str) {
    if !is_root() {
        return;
    }
    let closed = closed();
    let mut command = if closed.is_empty() { Command::new("env") } else { opened(&closed) };
    command.arg("setpriv").arg(format!("--reuid={ORDINARY}")).arg(format!("--regid={ORDINARY}"));
    run_again(command.arg("--clear-groups"), test);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the test `name` by `command`, which starts a program; it must pass.
fn run_again(command: &mut Command, name: &str) {
    let program = std::env::current_exe().unwrap();
    let answer = command
        .env(OPENED, "1")
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&answer.stdout);
    pass_on(&said);
    assert!(
        answer.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&answer.stderr)
    );
}

/// The folders on the way to what everybody needs that others may not pass through.
fn closed() -> Vec<PathBuf> {
    let passes = |folder: &Path| {
        fs_err::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
    };
    let mut closed: Vec<PathBuf> = reachable_paths()
        .iter()
        .flat_map(|path| path.ancestors())
        .filter(|folder| !passes(folder))
        .map(Path::to_owned)
        .collect();
    closed.sort();
    closed.dedup();
    // What lies below one of them is covered with it.
    let all = closed.clone();
    closed.retain(|folder| !all.iter().any(|other| other != folder && folder.starts_with(other)));
    closed
}

/// A program that starts another in a mount namespace of its own, in which empty folders that
/// everybody may pass through cover the `closed` ones, with what is needed back in its place.
fn opened(closed: &[PathBuf]) -> Command {
    let quoted = |path: &Path| format!("'{}'", path.to_str().unwrap().replace('\'', r"'\''"));
    let mut script = "stage=$(mktemp -d); mount -t tmpfs tmpfs $stage; ".to_owned();
    let covered = |path: &&PathBuf| closed.iter().any(|folder| path.starts_with(folder));
    let paths: Vec<PathBuf> = reachable_paths().iter().filter(covered).cloned().collect();
    for (number, path) in paths.iter().enumerate() {
        let _ = write!(
            script,
            "mkdir $stage/{number}; mount --bind {} $stage/{number}; ",
            quoted(path)
        );
    }
    for folder in closed {
        let _ = write!(script, "mount -t tmpfs -o mode=755 tmpfs {}; ", quoted(folder));
    }
    for (number, path) in paths.iter().enumerate() {
        let path = quoted(path);
        let _ = write!(script, "mkdir -p {path}; mount --bind $stage/{number} {path}; ");
    }
    script.push_str("umount -l $stage; rmdir $stage; exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-ec", &script, "sh"]);
    command
}
