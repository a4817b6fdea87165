//! What reads bytes that an agent wrote, on bytes that no agent would write.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use support::mutation::{FuzzTarget, fuzz};
use support::random::MetricCase;
use support::{random, tables};
use tasks::metrics::Metric;
use tasks::mlebench::frame::PandasFrame;
use tasks::mlebench::graders::{GRADERS, GradeFn};
use tasks::stream::Stream;
use tasks::submission::{Answers, Part, Submission, read_answers};

const CELLS: [&str; 28] = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-0",
    "0",
    "1",
    "-1",
    "1e-999",
    "0x10",
    "1_000",
    "\u{feff}",
    "\0",
    "\"",
    "\"\"",
    ",",
    "\r\n",
    "\r",
    "\n",
    " ",
    ";",
    "é",
    "c0",
    "c0 c0",
    "c0 1 1 1 1 1",
    "18446744073709551616",
    "1 1 1 1",
    "id,y\n",
];

fn corpus(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz")).join(name)
}

fn csv(columns: &[&str], rows: &[Vec<String>]) -> String {
    let lines =
        rows.iter().enumerate().map(|(row, cells)| format!("r{row},{}\n", random::line(cells)));
    format!("id,{}\n{}", columns.join(","), lines.collect::<String>())
}

/// The variant of an error, without its fields.
fn variant(error: &impl std::fmt::Debug) -> String {
    let text = format!("{error:?}");
    let end = text.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

/// The strict parser and our metrics, on one task of every metric and kind.
struct Submissions(Vec<(MetricCase, Answers)>);

impl Submissions {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = camino::Utf8Path::from_path(folder.path()).unwrap().join("answer.csv");
        let mut tasks = Vec::new();
        for metric in Metric::ALL {
            for (index, kind) in random::kinds(metric).into_iter().enumerate() {
                let stream = Stream::root(6).child(metric.name()).index(index as u64);
                // Some random answers have only one class, on which a metric is not defined.
                let defined =
                    |index: &u64| random::case(metric, kind, stream.index(*index)).score.is_ok();
                let index = (0..1000).find(defined).unwrap();
                let case = random::case(metric, kind, stream.index(index));
                let answers = csv(&case.prediction.answer_columns(), &case.cells(&case.truth));
                fs_err::write(&path, answers).unwrap();
                let answers = read_answers(&path, "id", &case.prediction).unwrap();
                tasks.push((case, answers));
            }
        }
        Self(tasks)
    }
}

impl FuzzTarget for Submissions {
    fn aims(&self) -> usize {
        self.0.len()
    }

    fn seed(&self, aim: usize, _: Stream) -> Vec<u8> {
        let (case, _) = &self.0[aim];
        csv(&case.prediction.columns(), &case.cells(&case.predicted)).into_bytes()
    }

    fn words(&self) -> &'static [&'static str] {
        &CELLS
    }

    fn take(&self, aim: usize, input: &[u8]) -> String {
        let (case, answers) = &self.0[aim];
        let metric = case.metric.name();
        match Submission::parse(input, answers, &case.prediction) {
            Err(error) => {
                // The message to the agent stays readable for any submission.
                assert!(error.to_string().len() < 2000, "{}", error.to_string().len());
                variant(&error)
            }
            Ok(submission) => match submission.score(answers, case.metric, Part::All) {
                Ok(score) => {
                    assert!(score.is_finite(), "{metric} is {score}");
                    format!("scored {metric}")
                }
                Err(error) => format!("{metric} {}", variant(&error)),
            },
        }
    }
}

#[test]
fn submissions_are_read_or_refused() {
    fuzz("submissions", &corpus("submissions"), &Submissions::new());
}

/// Pandas' rules and the graders of MLE-bench.
struct Competitions(Vec<(&'static str, GradeFn, PandasFrame)>);

impl Competitions {
    fn new() -> Self {
        let task = |(name, grader): (&'static str, GradeFn)| {
            let [answers, _] = tables::case(name, Stream::root(7).child(name));
            (name, grader, PandasFrame::read(answers.as_bytes()).unwrap())
        };
        Self(GRADERS.into_iter().map(task).collect())
    }
}

impl FuzzTarget for Competitions {
    fn aims(&self) -> usize {
        self.0.len()
    }

    fn seed(&self, aim: usize, _: Stream) -> Vec<u8> {
        let name = self.0[aim].0;
        let [_, submission] = tables::case(name, Stream::root(7).child(name));
        submission.into_bytes()
    }

    fn words(&self) -> &'static [&'static str] {
        &CELLS
    }

    fn take(&self, aim: usize, input: &[u8]) -> String {
        let (name, grader, answers) = &self.0[aim];
        match PandasFrame::read(input) {
            Err(error) => variant(&error),
            Ok(frame) => match grader(&frame, answers) {
                Ok(_) => format!("scored {name}"),
                Err(error) => format!("{name} {}", variant(&error)),
            },
        }
    }
}

#[test]
fn competitions_are_graded_or_refused() {
    fuzz("competitions", &corpus("competitions"), &Competitions::new());
}
