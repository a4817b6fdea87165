//! Folders that cannot be opened, and what is said of them.

use crate::fixture::TemporaryFolder;
use tasks::task::{Collection, Corpus, Opening, TaskDir, TaskError};

#[test]
fn folder_without_a_task_gives_an_error_that_says_why() {
    let folder = TemporaryFolder::new();
    folder.write("empty/readme.txt", "");
    let message = folder.refused("empty").to_string();
    for word in ["task.json", "prepared/private", "evaluator.py"] {
        assert!(message.contains(word), "{message}");
    }
    let missing = folder.refused("nowhere");
    assert!(matches!(missing, TaskError::NoTask(_)), "{missing}");
}

#[test]
fn incomplete_task_gives_an_error_that_names_the_missing_part() {
    let folder = TemporaryFolder::new();
    folder.write("a/prepared/private/answers.csv", "");
    folder.write("b/prepared/public/evaluator.py", "");
    folder.write("c/prepared/public/answer.csv", "");
    folder.write("d/prepared/public/train.csv", "");
    folder.write("e/prepared/public/answer.csv", "");
    folder.write("e/prepared/public/evaluator.py", "");
    for (name, missing) in [
        ("a", "prepared/public`"),
        ("b", "prepared/public/answer.csv"),
        ("c", "prepared/public/evaluator.py"),
        ("d", "prepared/private"),
        ("e", "prepared/public/sample_submission.csv"),
    ] {
        let message = folder.refused(name).to_string();
        assert!(message.contains("is no complete task") && message.contains(missing), "{message}");
    }
}

#[test]
fn a_competition_without_a_grader_is_refused_by_name() {
    let folder = TemporaryFolder::new();
    for name in ["leaf-clasification", "AI4Code"] {
        folder.write(&format!("{name}/prepared/public/train.csv"), "");
        folder.write(&format!("{name}/prepared/private/answers.csv"), "");
    }
    let reason = |name: &str| {
        let error = folder.refused(name);
        std::error::Error::source(&error).unwrap().to_string()
    };
    assert!(reason("leaf-clasification").contains("did you mean leaf-classification"));
    assert!(reason("AI4Code").contains("not built in"));
}

#[test]
fn command_for_our_tasks_refuses_other_kinds_by_name() {
    let folder = TemporaryFolder::new();
    assert!(matches!(Corpus::open(folder.path()), Err(TaskError::EmptyCorpus(_))));
    folder.competition();
    folder.bundle("b", 2);
    let error = TaskDir::open(&folder.path().join("b")).unwrap_err().to_string();
    assert!(error.contains("bundle with its own evaluator"), "{error}");
    let error = Corpus::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("only competitions or bundles"), "{error}");
    let tasks = folder.open();
    let names: Vec<&str> = tasks.tasks().iter().map(|task| task.id().as_str()).collect();
    assert_eq!(names, ["b", "spooky-author-identification"]);
}

#[test]
fn two_folders_with_the_same_id_are_refused() {
    let folder = TemporaryFolder::new();
    folder.bundle("B_1", 2);
    folder.bundle("b-1", 2);
    let error = Collection::open(folder.path(), &Opening::default()).unwrap_err();
    assert!(matches!(error, TaskError::SameName { .. }), "{error}");
}
