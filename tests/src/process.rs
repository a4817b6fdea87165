//! Processes as the kernel shows them: who is below whom, and what they hold.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    parent: u32,
    session: u32,
    /// In clock ticks since boot: numbers are used again.
    started: u64,
}

impl Process {
    /// None if it is gone, be it only waited for.
    pub fn from_pid(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is a name that may contain anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(Self { pid, parent, session, started })
    }

    pub fn is_there(&self) -> bool {
        Self::from_pid(self.pid).is_some_and(|now| now.started == self.started)
    }

    fn all() -> Vec<Self> {
        let entries = Utf8Path::new("/proc").read_dir_utf8().into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::from_pid(entry.file_name().parse().ok()?)).collect()
    }

    /// The process `root` and all below it.
    pub fn tree(root: u32) -> Vec<Self> {
        let all = Self::all();
        let mut found: Vec<Self> =
            all.iter().filter(|process| process.pid == root).copied().collect();
        let mut next = 0;
        while let Some(parent) = found.get(next).map(|process| process.pid) {
            found.extend(all.iter().filter(|process| process.parent == parent));
            next += 1;
        }
        found
    }

    /// Who is left of a session, whoever their parent is by now.
    pub fn of_session(leader: u32) -> Vec<Self> {
        Self::all().into_iter().filter(|process| process.session == leader).collect()
    }
}

/// Bytes of a process's proportional set: what it shares with n others counts for an n-th.
pub fn proportional_memory(pid: u32) -> Option<u64> {
    kibibytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// Bytes of memory without a file, whoever it is shared with: other than the proportional set, it
/// does not depend on how many forks there are just now.
pub fn anonymous_memory(pid: u32) -> Option<u64> {
    kibibytes(&format!("/proc/{pid}/status"), "RssAnon:")
}

fn kibibytes(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

pub fn descriptors(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

/// Mounts that a process sees, work dirs among them.
pub fn mounts(pid: u32) -> Option<usize> {
    Some(fs::read_to_string(format!("/proc/{pid}/mounts")).ok()?.lines().count())
}

/// What bears the name of a supervisor: its control groups with those in them, wherever they are
/// mounted, and its folder among temporary files, which it has where there is no box.
pub fn named_after(supervisor: &Process) -> Vec<Utf8PathBuf> {
    let mark = format!("-{}-{}-", supervisor.pid, supervisor.started);
    let mut found = Vec::new();
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    for line in mountinfo.lines().filter(|line| line.contains(" - cgroup")) {
        if let Some(point) = line.split(' ').nth(4) {
            search(Utf8Path::new(point), &mark, &mut found);
        }
    }
    if let Some(folder) = Utf8Path::from_path(&std::env::temp_dir()) {
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.path().to_owned());
        found.extend(names.filter(|path| is_named(path, &mark)));
    }
    found
}

/// Names like those that `jail::isolation::owner` gives.
fn is_named(path: &Utf8Path, mark: &str) -> bool {
    path.file_name().is_some_and(|name| name.starts_with("mle-sandbox-") && name.contains(mark))
}

fn search(folder: &Utf8Path, mark: &str, found: &mut Vec<Utf8PathBuf>) {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.path().ancestors().any(|path| is_named(path, mark)) {
                found.push(entry.path().to_owned());
            }
            search(entry.path(), mark, found);
        }
    }
}
