//! A suite of tasks, and episodes on them.

pub(crate) use support::folders::{CANARY, EVALUATOR, TemporaryFolder, lines};

use jail::exec::SandboxOptions;
use sandbox::env::{Action, Episode, EpisodeConfig, Feedback, TaskSuite};
use sandbox::graders::Graders;
use tasks::grade::{GradeError, Grader};
use tasks::task::Collection;

pub(crate) fn options() -> SandboxOptions {
    let modules = vec!["numpy".to_owned(), "pandas".to_owned()];
    SandboxOptions { slots: 2, warm_up: false, modules, ..SandboxOptions::default() }
}

pub(crate) fn suite(tasks: Collection) -> TaskSuite {
    TaskSuite::start(tasks, options()).unwrap()
}

/// Opens the grader of the first task.
pub(crate) fn grader(tasks: &Collection) -> Result<Box<dyn Grader>, GradeError> {
    let graders = Graders::new(tasks.tasks());
    graders.configure(options());
    graders.open(&tasks.tasks()[0])
}

pub(crate) fn config(feedback: Feedback) -> EpisodeConfig {
    EpisodeConfig { feedback, ..EpisodeConfig::default() }
}

/// Runs a script in an episode and returns what is said of it.
pub(crate) fn python(episode: &mut Episode, code: &str) -> String {
    episode.step(&Action::Python { code: code.to_owned() }).unwrap().observation.text
}
