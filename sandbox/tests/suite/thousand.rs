//! A thousand runs, honest and hostile, side by side: nothing is left, and nobody is disturbed.

use crate::fixture::{SandboxFixture, assert_finished, is_alone, policy, quick, script, within};
use crate::lifetime::{groups_of, zygote_at_rest};
use crate::program::Program;
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Mode, SandboxOptions};
use jail::limits::RunLimits;
use rand::RngExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tasks::stream::Stream;
use tasks::units::ByteSize;

const RUNS: usize = 1000;
const SEED: u64 = 20_251;

/// Rude, and over soon.
const BAD: [&str; 10] = [
    "import os\nwhile True: os.fork()",
    "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    "x = []\nwhile True: x.append(bytearray(10 << 20))",
    "while True: print('x' * 100_000)",
    "import ctypes; ctypes.string_at(0)",
    "import os, time\nif os.fork() == 0:\n  os.setsid(); time.sleep(60)",
    "import numpy; numpy.random.seed = None; raise KeyError",
    "open('big', 'wb').write(bytes(1 << 29))",
    "import os, signal; os.kill(0, signal.SIGKILL)",
    "import threading\nwhile True: threading.Thread(target=threading.Event().wait).start()",
];

/// All that a script can see of the interpreter that it was forked from.
const FINGERPRINT: &str = r"
import builtins, gc, os, resource, signal, sys, threading, numpy
print(sorted(sys.modules), sorted(vars(builtins)), len(vars(numpy)), sorted(os.environ.items()))
print(sys.path, sys.getrecursionlimit(), os.getcwd(), os.umask(0), sorted(os.listdir('.')))
print([signal.getsignal(n) for n in range(1, 32)], threading.active_count(), gc.get_freeze_count())
print([resource.getrlimit(n) for n in range(2, 16) if n != resource.RLIMIT_DATA], len(os.listdir('/proc/self/fd')))
print(os.listdir('/tmp'), os.listdir('/dev/shm'), [n for n in os.listdir('/proc') if n.isdigit()])
";

/// What must be the same afterwards.
#[derive(Debug, PartialEq, Eq)]
struct HostTrace {
    /// With nothing below it but spares.
    zygote: u32,
    zygote_descriptors: usize,
    zygote_mounts: usize,
    own_descriptors: usize,
    own_mounts: usize,
    groups: Vec<Utf8PathBuf>,
    corpus: Vec<(Utf8PathBuf, u64, std::time::SystemTime)>,
    /// Too many to be shown.
    libraries: blake3::Hash,
    interpreter: String,
}

impl HostTrace {
    fn take(place: &SandboxFixture) -> Self {
        let run = place.run(FINGERPRINT);
        assert_finished("fingerprint", &run);
        // A work dir is closed without waiting for it.
        std::thread::sleep(Duration::from_millis(500));
        let zygote = zygote_at_rest(place);
        let count = |path: String| fs_err::read_dir(path).unwrap().count();
        let lines = |path: String| fs_err::read_to_string(path).unwrap().lines().count();
        let python = jail::python::PythonEnv::locate().unwrap();
        let environment = python.interpreter().parent().unwrap().parent().unwrap();
        let folders = environment.join("lib").read_dir_utf8().unwrap();
        let libraries: Vec<_> = folders
            .map(|folder| folder.unwrap().path().join("site-packages/numpy"))
            .filter(|folder| folder.is_dir())
            .flat_map(|folder| files(&folder))
            .collect();
        assert!(!libraries.is_empty(), "the libraries lie elsewhere");
        let libraries = blake3::hash(format!("{libraries:?}").as_bytes());
        Self {
            zygote_descriptors: count(format!("/proc/{zygote}/fd")),
            zygote_mounts: lines(format!("/proc/{zygote}/mounts")),
            own_descriptors: count("/proc/self/fd".to_owned()),
            own_mounts: lines("/proc/self/mounts".to_owned()),
            groups: groups_of(std::process::id()),
            corpus: files(place.corpus.path()),
            libraries,
            interpreter: run.stdout.text(),
            zygote,
        }
    }
}

/// Every file below `folder`, with size and time of last change.
fn files(folder: &Utf8Path) -> Vec<(Utf8PathBuf, u64, std::time::SystemTime)> {
    let mut all = Vec::new();
    for entry in folder.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        let about = entry.metadata().unwrap();
        if about.is_dir() {
            all.extend(files(entry.path()));
        } else {
            all.push((entry.path().to_owned(), about.len(), about.modified().unwrap()));
        }
    }
    all.sort();
    all
}

/// Bytes of writable memory that a script may have: with those that the zygote has itself, and so
/// with the stacks of the reapers that were there at the fork.
fn room(place: &SandboxFixture) -> u64 {
    let run = place.run("import resource\nprint(resource.getrlimit(resource.RLIMIT_DATA)[0])");
    run.stdout.text().trim().parse().unwrap()
}

fn resident(process: u32) -> u64 {
    let statm = fs_err::read_to_string(format!("/proc/{process}/statm")).unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// An honest script with the answer that it must print.
fn honest(kind: usize, number: u64) -> (String, String) {
    match kind {
        0 => (
            format!("import numpy\nprint(numpy.arange({number} + 1).sum())"),
            (number * (number + 1) / 2).to_string(),
        ),
        1 => (
            format!("open('kept', 'w').write('{number}')\nprint(open('kept').read())"),
            number.to_string(),
        ),
        2 => (
            format!(
                "import subprocess\nprint(subprocess.run(['echo', '{number}'], capture_output=True, text=True).stdout)"
            ),
            number.to_string(),
        ),
        3 => (
            script(
                r"
                import csv, multiprocessing
                rows = list(csv.DictReader(open('input/train.csv')))
                with multiprocessing.get_context('fork').Pool(2) as pool:
                    print(sum(pool.map(float, [row['x'] for row in rows])))
                ",
            ),
            "0.6".to_owned(),
        ),
        _ => (
            format!(
                "import numpy, random\nrandom.seed({number}); numpy.random.seed(7)\nprint(sorted([3, {number}, 1])[0], len(numpy.random.permutation(50)))"
            ),
            format!("{} 50", number.min(1)),
        ),
    }
}

#[test]
fn thousand_mixed_runs_leave_no_trace_on_the_host() {
    if !is_alone("thousand::thousand_mixed_runs_leave_no_trace_on_the_host") {
        return;
    }
    let place = SandboxFixture::with(SandboxOptions {
        slots: 4,
        work_dir: ByteSize::mib(8),
        work_files: 100,
        ..quick()
    });
    let programs: Vec<Program> = Program::all().into_iter().filter(Program::is_brief).collect();
    assert!(programs.len() >= 60, "{}", programs.len());
    assert_finished("the first", &place.run("import csv, multiprocessing, subprocess"));
    let before = HostTrace::take(&place);
    let (heavy, large) = (resident(before.zygote), room(&place));
    let tight = RunLimits {
        memory: ByteSize::mib(200),
        processes: 30,
        output_limit: ByteSize::mib(1),
        ..within(Duration::from_millis(300))
    };
    let (next, honest_runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stream = Stream::root(SEED);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= RUNS {
                        break;
                    }
                    let mut chance = stream.child(&number.to_string()).rng();
                    match chance.random_range(0..4) {
                        0 => {
                            let program = &programs[chance.random_range(0..programs.len())];
                            if let Err(problem) = program.try_on(&place, Mode::Script) {
                                panic!("run {number}: {problem}");
                            }
                        }
                        1 => {
                            let code = BAD[chance.random_range(0..BAD.len())];
                            place.workspace().run(code, &tight).unwrap();
                        }
                        _ => {
                            let value = chance.random_range(0..10_000);
                            let (code, answer) = honest(chance.random_range(0..5), value);
                            let run = place.workspace().run(&code, &policy()).unwrap();
                            assert_finished(&format!("run {number}: {code}"), &run);
                            assert_eq!(run.stdout.text().trim(), answer, "run {number}: {code}");
                            honest_runs.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    assert!(honest_runs.into_inner() > 400);
    assert_eq!(place.visitors(), 0);
    assert_eq!(HostTrace::take(&place), before);
    let now = resident(before.zygote);
    assert!(now < heavy + (16 << 20), "the zygote grew from {heavy} to {now} bytes");
    let grown = room(&place).abs_diff(large);
    // Python takes memory for small objects by the mebibyte.
    assert!(grown < 4 << 20, "the writable memory of the zygote changed by {grown} bytes");
    drop(place);
    assert_eq!(groups_of(std::process::id()), Vec::<Utf8PathBuf>::new());
}
