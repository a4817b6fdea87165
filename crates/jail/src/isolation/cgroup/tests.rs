//! Bounds in both versions' words, on folders laid out like groups, and on real ones.

use super::*;
use std::os::unix::process::ExitStatusExt as _;

/// A folder with the files that the kernel would show in a group.
fn laid_out(files: &[(&str, &str)]) -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap().to_owned();
    for (name, text) in files {
        fs::write(path.join(name), text).unwrap();
    }
    (folder, path)
}

fn place(version: Version, folder: &Utf8Path) -> CgroupFolder {
    CgroupFolder { version, controllers: Controller::ALL.to_vec(), folder: folder.to_owned() }
}

fn group(version: Version, folder: &Utf8Path) -> Cgroup {
    let folders = Folders { places: Vec::new(), freezer: None, made: AtomicU64::new(0) };
    let places = vec![place(version, folder)];
    Cgroup {
        name: String::new(),
        places,
        join_fds: Vec::new(),
        freezer: None,
        folders: Arc::new(folders),
    }
}

const BOUNDS: Bounds = Bounds { memory: 1 << 20, processes: 7, cpus: NonZeroU32::new(2) };

#[test]
fn version_2_gets_bounds_in_its_own_format() {
    let files = ["memory.max", "memory.swap.max", "pids.max", "cpu.max"].map(|name| (name, ""));
    let (_kept, path) = laid_out(&files);
    let group = std::mem::ManuallyDrop::new(group(Version::V2, &path));
    group.bound(&BOUNDS).unwrap();
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(files.map(|(name, _)| read(name)), ["1048576", "0", "7", "200000 100000"]);
    fs::write(path.join("cpu.max"), "").unwrap();
    group.bound(&Bounds { cpus: None, ..BOUNDS }).unwrap();
    assert_eq!(read("cpu.max"), "max 100000");
}

#[test]
fn a_bound_that_cannot_be_set_is_named() {
    let (_kept, path) = laid_out(&[("memory.max", "")]);
    let group = std::mem::ManuallyDrop::new(group(Version::V2, &path));
    let error = group.bound(&BOUNDS).unwrap_err().to_string();
    assert!(error.contains("pids.max"), "{error}");
}

#[test]
fn deaths_for_memory_are_read_from_both_versions() {
    let events = "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 1\n";
    let control = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n";
    let (_kept, path) = laid_out(&[("memory.events", events), ("memory.oom_control", control)]);
    for (version, count) in [(Version::V2, 3), (Version::V1, 5)] {
        let group = std::mem::ManuallyDrop::new(group(version, &path));
        assert_eq!(group.killed_for_memory().unwrap(), count);
    }
    fs::write(path.join("memory.events"), "oom 4\n").unwrap();
    let group = std::mem::ManuallyDrop::new(group(Version::V2, &path));
    assert!(group.killed_for_memory().unwrap_err().to_string().contains("memory.events"));
}

#[test]
fn only_controllers_that_are_not_passed_on_yet_are() {
    let file = "cgroup.subtree_control";
    let (_kept, path) = laid_out(&[(file, "memory io\n")]);
    pass_on(&place(Version::V2, &path), &path).unwrap();
    // The kernel takes this as an order; in a plain file it stands over what was there.
    assert_eq!(fs::read_to_string(path.join(file)).unwrap(), "+pids +cpu");
    fs::write(path.join(file), "cpu memory pids\n").unwrap();
    pass_on(&place(Version::V2, &path), &path).unwrap();
    assert_eq!(fs::read_to_string(path.join(file)).unwrap(), "cpu memory pids\n");
}

#[test]
fn a_process_that_moved_into_a_leaf_makes_its_groups_beside_it() {
    let at = |path: &str| base(&place(Version::V2, Utf8Path::new(path)));
    assert_eq!(at("/cg/run.scope/mle-supervisor"), "/cg/run.scope");
    assert_eq!(at("/cg/run.scope"), "/cg/run.scope");
}

#[test]
fn folders_of_ended_supervisors_are_removed() {
    let (_kept, path) = laid_out(&[]);
    let own = Owner::this().unwrap();
    let dead = own.to_string().replacen(&std::process::id().to_string(), "4000000000", 1);
    for name in [own.to_string(), format!("{dead}/0"), "somebody-else".to_owned()] {
        fs::create_dir_all(path.join(name)).unwrap();
    }
    sweep(&path, &own);
    let left = path.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, [own.to_string(), "somebody-else".to_owned()]);
}

#[test]
fn group_over_its_memory_limit_is_killed_and_removed() {
    let groups = match Groups::make(1) {
        Ok(groups) => groups,
        // An ordinary user gets an error that says what to do; nothing else can be checked then.
        Err(error @ (CgroupError::Make { .. } | CgroupError::Delegate { .. })) => {
            return assert!(error.to_string().contains("Delegate=yes"), "{error}");
        }
        Err(error) => return eprintln!("no control groups here: {error}"),
    };
    let group = groups.group().unwrap();
    let folders: Vec<Utf8PathBuf> = group.places.iter().map(|place| place.folder.clone()).collect();
    let take = |bytes: u64| {
        group.bound(&Bounds { memory: 64 << 20, processes: 10, cpus: None }).unwrap();
        let join = "for group; do echo 0 > $group/cgroup.procs; done; ";
        // What has no line end, `tail` keeps in memory to its end.
        let command = format!("{join} exec tail -n 1 /dev/stdin > /dev/null");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command, "sh"]).args(&folders).stdin(std::process::Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut input = shell.stdin.take().unwrap();
        for _ in 0..bytes >> 20 {
            // A reader that was killed takes no more.
            if input.write_all(&vec![0; 1 << 20]).is_err() {
                break;
            }
        }
        drop(input);
        shell.wait().unwrap()
    };
    assert!(take(16 << 20).success());
    assert_eq!(group.killed_for_memory().unwrap(), 0);
    assert_eq!(take(200 << 20).signal(), Some(libc::SIGKILL));
    assert_eq!(group.killed_for_memory().unwrap(), 1);
    let parents: Vec<_> = groups.0.places.iter().map(|place| place.folder.clone()).collect();
    drop(groups);
    assert!(parents.iter().all(|folder| folder.exists()), "the group is still used");
    drop(group);
    assert!(!folders.iter().chain(&parents).any(|folder| folder.exists()));
}
