//! Every program of `tests/hostile`, on every tier that this host can offer.

use crate::fixture::{SandboxFixture, assert_finished, policy, quick};
use crate::lifetime::zygote_at_rest;
use crate::program::Program;
use crate::tiers::{as_ordinary_user, is_open_to_others, left_out, tried};
use jail::exec::{Mode, Sandbox, SandboxOptions, StartError, WorkDirStorage};
use jail::isolation::IsolationLevel;
use jail::limits::RunLimits;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tasks::units::ByteSize;

/// Small enough to be filled.
pub(crate) fn small(tier: IsolationLevel) -> SandboxOptions {
    SandboxOptions {
        slots: 2,
        work_dir: ByteSize::mib(8),
        work_files: 100,
        best_tier: tier,
        allow_tier: tier,
        ..quick()
    }
}

/// Tries every program.
fn try_all(tier: IsolationLevel, mode: Mode) {
    try_with(small(tier), mode, &Program::chosen());
}

/// With work dirs on the host's disk.
fn on_disk(tier: IsolationLevel) -> SandboxOptions {
    SandboxOptions { work_dir_on: WorkDirStorage::Disk, ..small(tier) }
}

/// Tries the programs that have to do with files, with work dirs on the host's disk. What the others
/// try does not depend on where files are; `programs_get_nothing_with_files_on_disk` tries them too.
fn try_files_on_disk(tier: IsolationLevel, mode: Mode) {
    let mut programs = Program::chosen();
    programs.retain(Program::is_about_files);
    try_with(on_disk(tier), mode, &programs);
}

fn try_with(options: SandboxOptions, mode: Mode, programs: &[Program]) {
    let (tier, place_of_files) = (options.best_tier, options.work_dir_on);
    let Some(place) = offered(options) else { return };
    assert_eq!(place.sandbox.tier(), tier);
    try_each(&place, programs, mode);
    let kind = if mode == Mode::Session { "sessions" } else { "scripts" };
    let count = programs.len();
    tried(&format!("{count} hostile programs in {tier}, {kind}, files in {place_of_files}"));
}

/// Tries programs, two at a time, and an honest script after each.
pub(crate) fn try_each(place: &SandboxFixture, programs: &[Program], mode: Mode) {
    let tier = place.sandbox.tier();
    assert_finished("the first", &place.run("pass"));
    let zygote = zygote_at_rest(place);
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Without a box, runs share the count of processes that a program may look at.
    let at_once = if tier == IsolationLevel::T3 { 1 } else { 2 };
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(problem) = program.try_on(place, mode) {
                        failures.lock().unwrap().push(problem);
                    }
                    let run = place.run("import numpy\nprint(numpy.arange(5).sum())");
                    assert_finished(&program.name, &run);
                    assert_eq!(run.stdout.text(), "10\n", "after {}", program.name);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert_eq!(place.visitors(), 0, "somebody came to a listener outside");
    assert_eq!(zygote_at_rest(place), zygote);
}

/// A place with these options, unless this host offers less; then it says so.
pub(crate) fn offered(options: SandboxOptions) -> Option<SandboxFixture> {
    let corpus = crate::fixture::SuiteCorpus::new();
    let python = jail::python::PythonEnv::locate().unwrap();
    match Sandbox::start(&python, options.clone(), &corpus.tasks()) {
        Err(StartError::IsolationLevel { found, layer, reason, .. }) => {
            let reason = format!("this host offers {found}: {layer} is down: {reason}");
            left_out(options.best_tier.name(), &reason);
            None
        }
        other => {
            drop(other.unwrap());
            Some(SandboxFixture::with(options))
        }
    }
}

#[test]
fn run_at_its_process_limit_does_not_reduce_another_runs() {
    let place = SandboxFixture::quick();
    let many = RunLimits { processes: 40, ..policy() };
    let fork = |seconds: u32| {
        format!(
            "import os, time\nfor _ in range(35):\n  if os.fork() == 0:\n    \
             time.sleep({seconds}); os._exit(0)\nprint('made', flush=True)\n\
             for _ in range(35): os.wait()\n"
        )
    };
    let (first, second) = (place.workspace(), place.workspace());
    std::thread::scope(|scope| {
        let long = scope.spawn(|| first.run(&fork(3), &many).unwrap());
        std::thread::sleep(Duration::from_secs(1));
        let run = second.run(&fork(0), &many).unwrap();
        assert_finished("the second", &run);
        assert!(!long.is_finished(), "they were to run side by side");
        assert_finished("the first", &long.join().unwrap());
    });
}

#[test]
fn programs_get_nothing_in_tier_1() {
    try_all(IsolationLevel::T1, Mode::Script);
}

#[test]
fn programs_get_nothing_in_sessions() {
    try_all(IsolationLevel::T1, Mode::Session);
}

#[test]
fn programs_get_nothing_in_tier_2() {
    try_all(IsolationLevel::T2, Mode::Script);
}

#[test]
fn programs_get_nothing_in_tier_2_from_an_ordinary_user() {
    as_ordinary_user("hostile::programs_get_nothing_in_tier_2");
}

#[test]
fn programs_get_nothing_with_files_on_disk() {
    try_with(on_disk(IsolationLevel::T1), Mode::Script, &Program::chosen());
}

#[test]
fn programs_get_nothing_in_sessions_with_files_on_disk() {
    try_files_on_disk(IsolationLevel::T1, Mode::Session);
}

#[test]
fn programs_get_nothing_in_tier_2_with_files_on_disk() {
    try_files_on_disk(IsolationLevel::T2, Mode::Script);
}

#[test]
fn programs_get_nothing_in_tier_2_with_files_on_disk_from_an_ordinary_user() {
    as_ordinary_user("hostile::programs_get_nothing_in_tier_2_with_files_on_disk");
}

#[test]
fn programs_get_nothing_in_tier_3() {
    if !is_open_to_others("hostile::programs_get_nothing_in_tier_3") {
        return;
    }
    try_all(IsolationLevel::T3, Mode::Script);
}

#[test]
fn programs_get_nothing_in_tier_3_from_an_ordinary_user() {
    as_ordinary_user("hostile::programs_get_nothing_in_tier_3");
}

#[test]
fn there_are_140_programs_and_the_docs_list_each() {
    let programs = Program::all();
    assert!(programs.len() >= 140, "{}", programs.len());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/THREATS.md");
    let docs = fs_err::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- programs: begin -->\n", "<!-- programs: end -->");
    let start = docs.find(begin).unwrap() + begin.len();
    let stop = docs.find(end).unwrap();
    let cell = |text: &str| text.replace('|', "\\|");
    let row = |program: &Program| {
        format!("| `{}` | {} | {} |\n", program.name, cell(&program.tries), cell(&program.must()))
    };
    let rows: String = programs.iter().map(row).collect();
    let table =
        format!("| program | what it tries | what must happen |\n| --- | --- | --- |\n{rows}");
    if std::env::var_os("UPDATE_THREATS").is_some() {
        fs_err::write(path, format!("{}{table}{}", &docs[..start], &docs[stop..])).unwrap();
    } else {
        assert!(
            docs[start..stop] == table,
            "run this test with UPDATE_THREATS=1 in the environment"
        );
    }
}
