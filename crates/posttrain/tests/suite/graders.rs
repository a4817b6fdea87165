//! Graders that fail in every way, and what is made of it.

use crate::fixture::{PROGRAM, Place, base_weights, suite, winning};
use fs_err as fs;
use posttrain::grade::{Busy, GradeEnd, GradedTask, GraderCommand, Grading};
use posttrain::intake::{BaseModel, Intake, ModelStore, OutputFolder, SealedModel};
use posttrain::ledger::Scored;
use posttrain::{Fault, RefusalCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::process::Process;
use tasks::task::TaskId;
use worlds::{Part, Sizes};

/// A model and the means to grade it.
struct Bench {
    place: Place,
    model: SealedModel,
    grading: Grading,
    stopping: AtomicBool,
}

impl Bench {
    fn new(limit: Duration) -> Self {
        let place = Place::new();
        let path = place.model("step-1", &winning(0.5));
        let intake = Intake {
            output: OutputFolder::open(&place.path("output"), &[]).unwrap(),
            base: BaseModel::open(&place.path("base")).unwrap(),
            store: ModelStore::open_folder(&place.path("models")).unwrap(),
        };
        let model = intake.store.open(intake.admit(&path).unwrap().model).unwrap();
        fs::create_dir(place.path("results")).unwrap();
        let command =
            GraderCommand { line: place.grader_command(), limit, launcher: PROGRAM.into() };
        let grading = Grading {
            command,
            tasks: vec![GradedTask {
                folder: suite().join("household"),
                id: TaskId::new("household").unwrap(),
                sizes: Sizes { train: 400, dev: 60, test: 134 },
                is_mean: true,
            }],
            device: "cpu".to_owned(),
            results: place.path("results"),
        };
        Self { place, model, grading, stopping: AtomicBool::new(false) }
    }

    fn grade(&self) -> Result<Scored, GradeEnd> {
        self.grading.grade(&self.model, Part::Dev, &self.stopping)
    }

    fn fault(&self, mode: &str) -> Fault {
        self.place.grader(mode);
        match self.grade() {
            Err(GradeEnd::Fault(fault)) => fault,
            other => panic!("{mode}: {other:?}"),
        }
    }

    /// Waits until the child that a grader left is gone.
    fn child_ends(&self) {
        let pid = fs::read_to_string(self.place.path("control/child")).unwrap().parse().unwrap();
        let began = Instant::now();
        while Process::from_pid(pid).is_some() {
            assert!(began.elapsed() < Duration::from_secs(5), "its child is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn score_is_the_mean_of_the_items_and_a_content_is_graded_once() {
    let bench = Bench::new(Duration::from_secs(30));
    let scored = bench.grade().unwrap();
    assert_eq!((scored.score, scored.items, scored.attempts), (0.5, 60, 1));
    assert_eq!(bench.grade().unwrap(), scored);
    assert_eq!(bench.place.gradings("begin").len(), 1);
    let test = bench.grading.grade(&bench.model, Part::Test, &bench.stopping).unwrap();
    assert_eq!((test.score, test.items), (0.5, 134));
    assert_eq!(bench.place.gradings("done").len(), 2);
}

#[test]
fn fault_is_tried_again_once_and_is_never_a_zero() {
    let bench = Bench::new(Duration::from_secs(30));
    assert!(
        matches!(bench.fault("fail"), Fault::Ended { said, .. } if said.contains("out of memory"))
    );
    assert_eq!(bench.place.gradings("begin").len(), 2);
    bench.place.grader("fail-once");
    let scored = bench.grade().unwrap();
    assert_eq!((scored.score, scored.attempts), (0.5, 2));
}

#[test]
fn result_that_is_not_one_is_a_fault() {
    let bench = Bench::new(Duration::from_mins(1));
    for mode in ["prose", "inflate", "drop", "flood"] {
        assert!(matches!(bench.fault(mode), Fault::Output { .. }), "{mode}");
    }
    assert!(matches!(bench.fault("killed"), Fault::Ended { .. }));
    let mut missing = Bench::new(Duration::from_secs(30));
    missing.grading.command.line = vec!["/no/such/grader".to_owned()];
    assert!(
        matches!(missing.fault(""), Fault::Ended { said, .. } if said.contains("No such file"))
    );
}

#[test]
fn reported_score_counts_where_it_is_no_mean() {
    let mut bench = Bench::new(Duration::from_secs(30));
    bench.grading.tasks[0].is_mean = false;
    bench.place.grader("inflate");
    assert_eq!(bench.grade().unwrap().score, 0.6);
}

#[test]
fn grader_that_hangs_is_killed_with_its_children() {
    let bench = Bench::new(Duration::from_millis(1_500));
    let began = Instant::now();
    assert!(matches!(bench.fault("hang"), Fault::TimedOut(_)));
    assert!(began.elapsed() < Duration::from_secs(15), "two attempts, {:?}", began.elapsed());
    bench.child_ends();
}

#[test]
fn child_that_outlives_its_grader_is_killed_and_the_score_stands() {
    let bench = Bench::new(Duration::from_secs(30));
    bench.place.grader("leave");
    assert_eq!(bench.grade().unwrap().score, 0.5);
    bench.child_ends();
}

#[test]
fn refusal_and_busy_device_are_neither_scores_nor_faults() {
    let bench = Bench::new(Duration::from_secs(30));
    bench.place.grader("refuse");
    let refused = bench.grade().unwrap_err();
    assert!(matches!(refused, GradeEnd::Refused(refusal) if refusal.code == RefusalCode::Model));
    bench.place.grader("busy");
    assert!(
        matches!(bench.grade().unwrap_err(), GradeEnd::Busy(Busy(by)) if by.contains("70 GiB"))
    );
    assert_eq!(bench.place.gradings("begin").len(), 2, "neither is tried again");
}

#[test]
fn grading_ends_at_once_when_the_server_stops() {
    let bench = Bench::new(Duration::from_mins(10));
    bench.place.grader("hang");
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while bench.place.gradings("begin").is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
            bench.stopping.store(true, Ordering::SeqCst);
        });
        assert!(matches!(bench.grade(), Err(GradeEnd::Fault(Fault::Stopping))));
    });
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(bench.place.gradings("begin").len(), 1);
}

#[test]
fn results_that_were_changed_are_not_used() {
    let bench = Bench::new(Duration::from_secs(30));
    bench.grade().unwrap();
    let path = bench.place.path("results").read_dir_utf8().unwrap().next().unwrap().unwrap();
    fs::write(path.path(), "{}").unwrap();
    assert!(matches!(bench.fault(""), Fault::Results(_)));
}

#[test]
fn grader_gets_no_more_of_the_environment_than_it_needs() {
    let mut bench = Bench::new(Duration::from_secs(30));
    // The tests' own environment has cargo's variables.
    assert!(std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("CARGO")));
    let code = "import os, sys, json; sys.exit(' '.join(sorted(os.environ)))";
    bench.grading.command.line = vec!["python3".into(), "-c".into(), code.into()];
    let Fault::Ended { said, .. } = bench.fault("") else { panic!("it ends with a failure") };
    assert!(said.contains("PATH") && !said.contains("CARGO") && !said.contains("TOKEN"), "{said}");
}

#[test]
fn base_is_graded_in_the_form_of_every_submission() {
    let place = Place::new();
    let copy = place.model("copy", &base_weights());
    let intake = Intake {
        output: OutputFolder::open(&place.path("output"), &[]).unwrap(),
        base: BaseModel::open(&place.path("base")).unwrap(),
        store: ModelStore::open_folder(&place.path("models")).unwrap(),
    };
    assert_eq!(intake.admit(&copy).unwrap().model, intake.admit_base().unwrap().model);
}
