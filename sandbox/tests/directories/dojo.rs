//! Competitions of MLE-Dojo: their metrics run in a jail, and agree with ours.

use crate::fixture::{config, options, python, suite};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rand::RngExt as _;
use sandbox::env::{Action, Feedback, TaskSuite};
use std::fmt::Write as _;
use support::dojo::{DOJO, DOJO_ROWS, DojoFixture, write};
use tasks::grade::GradeError;
use tasks::metrics::{Direction, Metric, classification, regression};
use tasks::stream::Stream;
use tasks::submission::Part;
use tasks::task::{Collection, Opening, Task};

struct DojoFolder {
    folder: tempfile::TempDir,
}

impl DojoFolder {
    fn new(fixtures: &[DojoFixture]) -> Self {
        let found = Self { folder: tempfile::tempdir().unwrap() };
        for fixture in fixtures {
            write(fixture, &found.path("data"), &found.path("checkout"));
        }
        found
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).unwrap().join(name)
    }

    fn suite(&self) -> TaskSuite {
        let opening = Opening { mledojo: Some(self.path("checkout")), ..Opening::default() };
        let suite = suite(Collection::open(&self.path("data"), &opening).unwrap());
        suite.graders().configure(options());
        suite
    }
}

fn submission(value: impl Fn(u32) -> String) -> Vec<u8> {
    let rows = (0..DOJO_ROWS).fold("id,y\n".to_owned(), |mut text, row| {
        let _ = writeln!(text, "r{row},{}", value(row));
        text
    });
    rows.into_bytes()
}

#[test]
fn metric_of_a_checkout_agrees_with_ours() {
    let folder = DojoFolder::new(&DOJO);
    let suite = folder.suite();
    let mut draws = Stream::root(5).child("dojo").rng();
    for (fixture, metric) in DOJO.iter().zip([Metric::Rmse, Metric::Accuracy, Metric::RocAuc]) {
        let id = fixture.name.to_lowercase();
        let task = suite.tasks().iter().find(|task| task.id().as_str() == id).unwrap();
        let grader = suite.grader(task).unwrap();
        let higher = grader.direction() == Direction::HigherIsBetter;
        assert_eq!(higher, fixture.higher_is_better);
        for _ in 0..3 {
            let draw = |_| match metric {
                Metric::Accuracy => f64::from(draws.random_range(0..3_u32)),
                _ => draws.random::<f64>(),
            };
            let predictions: Vec<f64> = (0..DOJO_ROWS).map(draw).collect();
            let csv = submission(|row| predictions[row as usize].to_string());
            let found = grader.grade(&csv, Part::All).unwrap();
            let answers: Vec<f64> = (0..DOJO_ROWS).map(fixture.answer).collect();
            let classes = |values: &[f64]| -> Vec<usize> {
                values.iter().map(|v| usize::from(*v > 0.5) + usize::from(*v > 1.5)).collect()
            };
            let ours = match metric {
                Metric::Rmse => regression::rmse(&answers, &predictions),
                Metric::Accuracy => {
                    classification::accuracy(&classes(&answers), &classes(&predictions))
                }
                _ => classification::roc_auc(&classes(&answers), &predictions).unwrap(),
            };
            assert!((found.score - ours).abs() < 1e-9, "{id}: {} and {ours}", found.score);
            assert_eq!(found.tier, None);
        }
    }
}

#[test]
fn submissions_that_are_wrong_are_refused_and_broken_metrics_are_faults() {
    let folder = DojoFolder::new(&DOJO[..1]);
    let suite = folder.suite();
    let task = &suite.tasks()[0];
    let grader = suite.grader(task).unwrap();
    let refused = |csv: &[u8]| match grader.grade(csv, Part::All) {
        Err(error) if !error.is_fault() => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(b"id,y\nr0,1\n"), "invalid submission: expected 40 rows");
    assert!(refused(b"").contains("no CSV table"));
    assert!(refused(b"\xff\xfe\x00,\x81").contains("no CSV table"));
    let columns = String::from_utf8(submission(|_| "1".to_owned())).unwrap();
    let other = columns.replacen("id,y", "id,z", 1);
    assert_eq!(refused(other.as_bytes()), "invalid submission: wrong columns");
    // Not foreseen by the metric, which grades the sample submission.
    let words = submission(|_| "many".to_owned());
    assert!(refused(&words).contains("the competition's metric breaks on its values"));
    let nothing = submission(|_| String::new());
    assert!(matches!(grader.grade(&nothing, Part::All), Err(GradeError::NoScore)));
    let large = vec![b'1'; 129 << 20];
    assert!(refused(&large).contains("is given 128MiB at most"));

    // The metric of another checkout breaks on every submission.
    let metric = folder.path("checkout/mledojo/competitions/house-prices/utils/metric.py");
    let text = fs::read_to_string(&metric).unwrap();
    fs::write(&metric, text.replace("return float(", "return missing(")).unwrap();
    let suite = folder.suite();
    let grader = suite.grader(&suite.tasks()[0]).unwrap();
    let error = grader.grade(&submission(|_| "1".to_owned()), Part::All).unwrap_err();
    assert!(error.is_fault(), "{error}");
    // One that defines no metric cannot be opened.
    fs::write(&metric, "x = 1\n").unwrap();
    let suite = folder.suite();
    let error = suite.grader(&suite.tasks()[0]).unwrap_err();
    let text = tasks::text::with_causes(&error);
    assert!(text.contains("the file defines 0 metrics"), "{text}");
}

#[test]
fn answers_and_leaderboards_cannot_be_read_and_scores_are_told_where_that_is_asked_for() {
    let folder = DojoFolder::new(&DOJO[1..2]);
    let suite = folder.suite();
    let task = &suite.tasks()[0];
    let mut episode = suite.reset(task, &config(Feedback::Exposed)).unwrap();
    let secret = folder.path("data/Night-Shifts/data/private/test_answer.csv");
    let look = format!(
        "import os\nfound = [os.path.join(a, f) for a, _, fs in os.walk('/') for f in fs \
         if f.startswith('test_answer') or 'leaderboard.csv' in f]\nprint(found)\n\
         print(os.path.exists({:?}))\nprint(sorted(os.listdir('input')))\n",
        secret.as_str()
    );
    let said = python(&mut episode, &look);
    assert!(
        said.contains("[]\nFalse\n['description.txt', 'sample_submission.csv', 'train.csv']"),
        "{said}"
    );
    python(
        &mut episode,
        "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')",
    );
    let step = episode.step(&Action::Score).unwrap();
    let share = (0..DOJO_ROWS).filter(|row| (DOJO[1].answer)(*row) == 1.0).count() as f64
        / f64::from(DOJO_ROWS);
    let expected = format!("valid submission; score: {share:.5} (higher is better)");
    assert_eq!(step.observation.text, expected);
    let whole_only = suite.reset(task, &config(Feedback::Tier));
    assert!(whole_only.is_err());
    assert!(Task::open(&folder.path("data/Night-Shifts"), &Opening::default()).is_err());
}
