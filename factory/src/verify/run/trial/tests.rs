//! Plants faults in sound tasks and sees the trials catch them. The sandbox's launcher must have
//! been built (`cargo build -p sandbox`).

use super::*;
use crate::corpus::pipeline::{self, Progress};
use crate::roles::Builtin;
use crate::spec::config::{Options as Request, Preset};
use crate::spec::limits::RoleLimits;
use crate::spec::plan::Slot;
use crate::spec::role_settings::RoleSettings;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use tasks::task::Corpus;
use tasks::units::Span;

struct Quiet;

impl Progress for Quiet {
    fn planned(&self, _: usize, _: usize, _: &[String]) {}
    fn finished(&self, _: &Slot, _: bool) {}
}

/// A corpus of small tasks, a number and a class among the targets.
fn corpus(dir: &Utf8Path) -> Corpus {
    let request = Request {
        seeds: "mlebench".to_owned(),
        count: 2,
        val_count: Some(0),
        out: dir.to_owned(),
        seed: 0,
        jobs: 1,
        concurrency: 1,
        carry_on: false,
        modalities: vec!["tabular".to_owned()],
        formulations: vec!["regression".to_owned(), "multiclass".to_owned()],
        shares: vec!["tabular/regression=0.5".to_owned()],
        preset: Preset::Paper,
        levels: Vec::new(),
        limits: RoleLimits::default(),
        roles: RoleSettings::default(),
        shard: None,
    };
    pipeline::generate(&request, &Builtin, &Quiet, &AtomicBool::new(false)).unwrap();
    Corpus::open(dir).unwrap()
}

fn started(tasks: &[&TaskDir]) -> Sandbox {
    let python = PythonEnv::locate().unwrap();
    let visible: Vec<_> = tasks.iter().map(|task| (task.id().clone(), task.public())).collect();
    Sandbox::start(
        &python,
        SandboxOptions { warm_up: false, ..SandboxOptions::default() },
        &visible,
    )
    .unwrap()
}

fn code_of(result: Result<(), Failure>) -> (&'static str, String) {
    match result.unwrap_err() {
        Failure::Refused(refusal) => (refusal.code(), refusal.to_string()),
        Failure::Fault(fault) => panic!("{fault}"),
    }
}

fn hasty(seconds: u64) -> RunLimits {
    RunLimits { time_limit: Span::seconds(seconds), ..RunLimits::default() }
}

#[test]
fn sound_tasks_pass_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(Utf8Path::from_path(folder.path()).unwrap());
    let tasks: Vec<&TaskDir> = corpus.tasks().iter().collect();
    // What processors take in a debug build on a busy machine is not what is tested here.
    let settings = TrialSettings { budget: Duration::from_secs(80), ..TrialSettings::default() };
    let trials = run(&tasks, &settings, || (), &AtomicBool::new(false)).unwrap();
    assert!(trials.clean(), "{trials}");
    assert_eq!((trials.whole.tasks, trials.whole.valid, trials.cells.len()), (2, 2, 2));
    assert!(trials.whole.processor.0 > 0.0);
    assert!(trials.whole.tiers[0] < 2, "the reference scripts earn nothing: {trials}");
    assert!(trials.to_string().ends_with("2 of 2 tasks pass their trial"));

    let stopped = run(&tasks, &settings, || (), &AtomicBool::new(true)).unwrap();
    assert_eq!((stopped.unreached, stopped.whole.tasks, stopped.clean()), (2, 0, false));
}

#[test]
fn evaluators_that_disagree_are_caught() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(Utf8Path::from_path(folder.path()).unwrap());
    let tasks: Vec<&TaskDir> = corpus.tasks().iter().collect();
    let sandbox = started(&tasks);
    let task = tasks
        .iter()
        .find(|task| task.manifest().formulation == tasks::task::Formulation::Regression)
        .unwrap();
    let path: Utf8PathBuf = task.path().join("source/evaluator.py");
    let sound = fs::read_to_string(&path).unwrap();
    let with = |from: &str, to: &str| {
        assert!(sound.contains(from), "the evaluator has no `{from}`");
        fs::write(&path, sound.replace(from, to)).unwrap();
        code_of(agreement::check(&sandbox, task, &hasty(20)))
    };
    let measure = format!("REGRESSION[\"{0}\" if metric == \"mcrmse\" else metric]", "rmse");
    let (code, text) = with(&measure, "(lambda y, p: np.median(np.abs(y - p)))");
    assert!(code == "evaluator_disagrees" && text.contains("it says"), "{text}");
    let marker = "    result[\"is_lower_better\"]";
    let (code, text) =
        with(marker, &format!("    result[\"bronze_threshold\"] *= 1.001\n{marker}"));
    assert!(code == "evaluator_disagrees" && text.contains("it awards"), "{text}");
    let (code, text) = with(marker, &format!("    raise RuntimeError(\"boom\")\n{marker}"));
    assert!(code == "evaluator_disagrees" && text.contains("RuntimeError: boom"), "{text}");
    let (code, text) = with(marker, &format!("    print(chr(27) * 999)\n{marker}"));
    assert!(code == "evaluator_disagrees" && !text.contains('\x1b'), "{text:?}");
    assert!(text.contains("no verdict but `\\x1b") && text.len() < 400, "{text:?}");
    let (code, text) = with("value = float(word)", "value = float(word.replace('nan', '0') or 0)");
    assert!(code == "evaluator_disagrees" && text.contains("the grader refuses it"), "{text}");

    fs::write(&path, sound.replace(marker, &format!("    while True: pass\n{marker}"))).unwrap();
    let (code, text) = code_of(agreement::check(&sandbox, task, &hasty(5)));
    assert!(code == "evaluator_disagrees" && text.contains("the sample it timed out"), "{text}");
}

#[test]
fn scripts_that_take_too_long_or_submit_nothing_are_caught() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(Utf8Path::from_path(folder.path()).unwrap());
    let task = &corpus.tasks()[0];
    let sandbox = started(&[task]);
    let tried = |code: &str, budget: f64| {
        let budget = Duration::from_secs_f64(budget);
        let settings = TrialSettings { budget, policy: hasty(5), jobs: 1 };
        reference::attempt(&sandbox, task, code, &settings).map(|_| ())
    };
    let sample = "import shutil\n\
                  shutil.copy('input/sample_submission.csv', 'submission.csv')\n";
    let busy = format!("{sample}import time\nwhile time.process_time() < 0.5: pass\n");
    assert!(tried(&busy, 60.0).is_ok());
    assert_eq!(code_of(tried(&busy, 0.2)).0, "over_budget");
    assert_eq!(code_of(tried("import time\ntime.sleep(60)\n", 60.0)).0, "over_budget");
    let (code, text) = code_of(tried("1 / 0\n", 60.0));
    assert!(code == "no_submission" && text.contains("ZeroDivisionError"), "{text}");
    assert_eq!(code_of(tried("pass\n", 60.0)).0, "no_submission");
    let empty = "open('submission.csv', 'w').write('id\\n')\n";
    assert_eq!(code_of(tried(empty, 60.0)).0, "no_submission");
}
