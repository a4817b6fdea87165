//! Evaluators of bundles that do not do their work, and who is to blame for it.

use crate::fixture::{
    CANARY, EVALUATOR, TemporaryFolder, config, grader, lines, options, python, suite,
};
use sandbox::env::{Action, EpisodeFault, Feedback, ScoreFeedback};
use tasks::grade::{GradeError, Grader};
use tasks::submission::Part;
use tasks::task::Task;
use tasks::thresholds::Milestone;

/// A grader of a bundle with another evaluator.
fn grader_with(evaluator: &str) -> Result<(TemporaryFolder, Box<dyn Grader>), GradeError> {
    let folder = TemporaryFolder::new();
    folder.bundle("b", 4);
    folder.write("b/prepared/public/evaluator.py", evaluator);
    let tasks = folder.open();
    let grader = grader(&tasks)?;
    Ok((folder, grader))
}

fn submission(value: &str) -> Vec<u8> {
    let rows = lines(4, |row| format!("t{row},{value}\n"));
    format!("id,y\n{rows}").into_bytes()
}

/// Breaks on values for which it was not made, each time in another way.
const BRITTLE: &str = r#"
import json, os, pathlib, signal, sys

value = pathlib.Path(sys.argv[2]).read_text().splitlines()[1].split(",")[1]
truth = pathlib.Path("answer.csv").read_text()
if value == "1":
    raise RuntimeError(truth)
if value == "2":
    sys.exit(truth)
if value == "3":
    os._exit(3)
if value == "4":
    os.kill(os.getpid(), signal.SIGKILL)
if value == "5":
    bytearray(1 << 45)
if value == "6":
    open("big", "wb").truncate(1 << 45)
if value == "7":
    print(truth)
if value == "8":
    print("x" * 200_000)
names = ("gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold")
print(json.dumps({"score": 1.0, "is_lower_better": False, **dict.fromkeys(names, 2.0)}))
"#;

#[test]
fn a_submission_that_breaks_an_evaluator_is_refused() {
    let (_folder, grader) = grader_with(BRITTLE).unwrap();
    let grade = |value: &str| grader.grade(&submission(value), Part::All);
    assert_eq!(grade("0").unwrap().score, 1.0);
    for value in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let error = grade(value).unwrap_err();
        assert!(matches!(error, GradeError::Refused(_)) && !error.is_fault(), "{value}: {error}");
        let text = error.to_string();
        assert!(text.contains("breaks on its values") && !text.contains(CANARY), "{value}: {text}");
    }
}

#[test]
fn episode_is_kept_if_its_submission_breaks_the_evaluator() {
    let folder = TemporaryFolder::new();
    folder.bundle("b", 4);
    folder.write("b/prepared/public/evaluator.py", BRITTLE);
    let tasks = folder.open();
    let suite = suite(tasks);
    let mut episode = suite.reset(&suite.tasks()[0], &config(Feedback::Full)).unwrap();
    let text = String::from_utf8(submission("1")).unwrap();
    python(&mut episode, &format!("open('submission.csv', 'w').write({text:?})"));
    let step = episode.step(&Action::Score).unwrap();
    assert_eq!(step.feedback, Some(ScoreFeedback { valid: false, tier: None }));
    assert!(step.observation.text.contains("breaks on its values"), "{:?}", step.observation);
    assert!(!step.observation.text.contains(CANARY), "{:?}", step.observation);
    let finish = episode.close().unwrap();
    assert_eq!(finish.grade, None);
    assert!(finish.refusal.unwrap().contains("breaks on its values"));
}

#[test]
fn failing_evaluator_is_a_fault_of_the_task() {
    let (folder, grader) = grader_with(EVALUATOR).unwrap();
    let grade = |value: &str| grader.grade(&submission(value), Part::All);
    assert_eq!(grade("0.2718281828").unwrap().tier, Some(Milestone::Gold));
    // A score that is no number is what the submission made of the metric.
    let error = grade("2500").unwrap_err();
    assert!(matches!(error, GradeError::NoScore) && !error.is_fault(), "{error}");
    let is_fault = |grader: &dyn Grader, value: &str, part: Part, words: &str| {
        let error = grader.grade(&submission(value), part).unwrap_err();
        assert!(error.is_fault(), "{words}: {error}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(words), "{words}: {source}");
    };
    is_fault(&*grader, "3500", Part::All, "other thresholds");
    // It used to work, and now fails on the sample as well.
    for (evaluator, words) in [
        ("import os; os._exit(3)", "exited with code 3"),
        ("print('all is well')", "printed no JSON"),
    ] {
        folder.write("b/prepared/public/evaluator.py", evaluator);
        is_fault(&*grader, "1", Part::All, words);
    }
    // It cannot do without the rows that are not asked for.
    let whole = format!("assert open('answer.csv').read().count('t') == 4\n{EVALUATOR}");
    let (_folder, grader) = grader_with(&whole).unwrap();
    grader.grade(&submission("1"), Part::All).unwrap();
    is_fault(&*grader, "1", Part::Feedback(0.3), "raised AssertionError");
}

#[test]
fn a_broken_evaluator_is_found_before_the_first_step() {
    for (evaluator, words) in [
        ("raise RuntimeError('no')", "raised RuntimeError"),
        ("print('all is well')", "printed no JSON"),
        ("import json; print(json.dumps({'error': 'no'}))", "own sample submission"),
        ("print('x' * 200_000)", "more than are read"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
    ] {
        let error = grader_with(evaluator).map(|_| ()).unwrap_err();
        assert!(error.is_fault(), "{evaluator}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(words), "{evaluator}: {source}");
    }
}

#[test]
fn a_fault_of_the_evaluator_is_a_fault_of_the_episode() {
    let folder = TemporaryFolder::new();
    folder.bundle("b", 4);
    folder.write("b/prepared/public/evaluator.py", "print('all is well')");
    let tasks = folder.open();
    let suite = suite(tasks);
    let fault = suite.reset(&suite.tasks()[0], &config(Feedback::Tier)).unwrap_err();
    assert!(matches!(fault, EpisodeFault::Answers(GradeError::Evaluator { .. })), "{fault}");
}

#[test]
fn evaluator_is_checked_once_and_again_after_a_failure() {
    let folder = TemporaryFolder::new();
    folder.bundle("b", 4);
    let evaluator = |text: &str| folder.write("b/prepared/public/evaluator.py", text);
    let tasks = folder.open();
    let suite = suite(tasks);
    let reset = |task: &Task| suite.reset(task, &config(Feedback::Tier));
    let task = &suite.tasks()[0];
    evaluator("raise RuntimeError('broken')");
    assert!(matches!(reset(task), Err(EpisodeFault::Answers(_))));
    evaluator(EVALUATOR);
    reset(task).unwrap();
    // Had it to prove itself again, for this task or its clone, it would fail.
    evaluator("raise RuntimeError('broken')");
    reset(&task.clone()).unwrap();
    let mut episode = reset(task).unwrap();
    python(
        &mut episode,
        "import shutil; shutil.copy('input/sample_submission.csv', 'submission.csv')",
    );
    let fault = episode.step(&Action::Score).unwrap_err();
    assert!(matches!(fault, EpisodeFault::Answers(_)), "{fault}");
    // What was proved in one box says nothing of another.
    suite.graders().configure(options());
    assert!(matches!(reset(task), Err(EpisodeFault::Answers(_))));
}
