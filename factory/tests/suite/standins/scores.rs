//! What samples, answers and reference scripts come to.

use super::all;
use camino::{Utf8Path, Utf8PathBuf};
use factory::standin::competitions;
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::{Action, EpisodeConfig, Feedback, TaskSuite};
use std::io::Read;
use support::folders::TemporaryFolder;
use tasks::metrics::Direction;
use tasks::mlebench::grading::{GradingOutcome, answers_path, board, grade};
use tasks::task::{DataSource, Opening, Task};
use tasks::thresholds::Milestone;

fn graded(id: &str, submission: &Utf8Path) -> GradingOutcome {
    let answers = answers_path(&all(), id, None).unwrap();
    let board = board(id, None).unwrap();
    grade(id, board, &answers, submission, "2031-01-01T00:00:00".to_owned()).unwrap()
}

/// The sample, out of its archive where it has one.
fn sample(id: &str, desk: &TemporaryFolder) -> Utf8PathBuf {
    let public = all().join(id).join("prepared/public");
    let entries = public.read_dir_utf8().unwrap().map(|entry| entry.unwrap().into_path());
    let path = entries
        .filter(|path| path.file_name().unwrap().contains("ample"))
        .find(|path| path.file_name().unwrap().to_lowercase().contains("submission"))
        .unwrap();
    if path.extension() == Some("csv") {
        return path;
    }
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let mut text = String::new();
    archive.by_index(0).unwrap().read_to_string(&mut text).unwrap();
    desk.write(&format!("{id}.csv"), &text)
}

#[test]
fn samples_are_valid_and_answers_get_gold() {
    let desk = TemporaryFolder::new();
    for id in competitions() {
        let task = Task::open(&all().join(id), &Opening::default()).unwrap();
        assert_eq!(task.data_source(), DataSource::StandIn, "{id}");
        let outcome = graded(id, &sample(id, &desk));
        assert!(outcome.report.score.is_some(), "{id}: {:?}", outcome.refusal);
        let perfect = graded(id, &answers_path(&all(), id, None).unwrap());
        assert_eq!(perfect.report.medal(), Some(Milestone::Gold), "{id}: {perfect:?}");
    }
}

/// Rows of a table of one line each: the header, then the others.
fn rows(path: &Utf8Path) -> (String, Vec<String>) {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    (lines.next().unwrap(), lines.collect())
}

#[test]
fn truncated_submissions_are_refused_and_permuted_ones_are_not() {
    let desk = TemporaryFolder::new();
    // Keys with line breaks are left out here.
    for id in competitions().filter(|id| *id != "detecting-insults-in-social-commentary") {
        let answers = answers_path(&all(), id, None).unwrap();
        let (header, mut lines) = rows(&answers);
        let save =
            |lines: &[String]| desk.write("s.csv", &format!("{header}\n{}\n", lines.join("\n")));
        lines.reverse();
        let permuted = graded(id, &save(&lines)).report.score;
        // Only there are rows matched by position.
        let by_position = id == "nomad2018-predict-transparent-conductors";
        assert_eq!(permuted == graded(id, &answers).report.score, !by_position, "{id}");
        lines.pop();
        assert_eq!(graded(id, &save(&lines)).report.score, None, "{id}");
    }
}

#[test]
fn missing_predictions_are_refused_but_for_tokens() {
    let desk = TemporaryFolder::new();
    for id in competitions().filter(|id| *id != "detecting-insults-in-social-commentary") {
        let (header, lines) = rows(&answers_path(&all(), id, None).unwrap());
        let emptied = lines.iter().map(|line| format!("{},", line.rsplit_once(',').unwrap().0));
        let table = format!("{header}\n{}\n", emptied.collect::<Vec<_>>().join("\n"));
        let score = graded(id, &desk.write("s.csv", &table)).report.score;
        // A missing token is the text `nan`, which some tokens are.
        assert_eq!(score.is_some(), id.starts_with("text-normalization"), "{id}: {score:?}");
    }
}

#[test]
fn references_are_better_than_samples() {
    let desk = TemporaryFolder::new();
    let suite = TaskSuite::open(&all(), &Opening::default(), SandboxOptions::default()).unwrap();
    let scripts = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/agents/reference");
    let config = EpisodeConfig { feedback: Feedback::Validate, ..EpisodeConfig::default() };
    let mut faults = Vec::new();
    for task in suite.tasks() {
        let id = task.id().as_str();
        let code = fs::read_to_string(scripts.join(format!("{id}.py"))).unwrap();
        let mut episode = suite.reset(task, &config).unwrap();
        let step = episode.step(&Action::Python { code }).unwrap();
        let said = format!("{:?}", step.observation);
        let result = episode.close().unwrap();
        let base = graded(id, &sample(id, &desk)).report.score.unwrap();
        let Some(grade) = result.grade else {
            faults.push(format!("{id}: {:?} {said}", result.refusal));
            continue;
        };
        let gain = match board(id, None).unwrap().direction {
            Direction::HigherIsBetter => grade.score - base,
            Direction::LowerIsBetter => base - grade.score,
        };
        println!("{id}: sample {base}, reference {}, {:?}", grade.score, step.wall);
        // A margin that chance does not give: a tenth of what the sample leaves to gain.
        let left = match board(id, None).unwrap().direction {
            Direction::HigherIsBetter => 1.0 - base,
            Direction::LowerIsBetter => base,
        };
        if gain < 0.1 * left || !said.contains("Validation score: ") {
            faults.push(format!("{id}: {base} to {}: {said}", grade.score));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
