//! The tasks of a run: one, or all of a suite for one model.

use crate::agents::Mode;
use fs_err as fs;
use std::fmt::Write as _;
use std::io;
use worlds::{FolderError, Limits, Sizes, Suite, SuiteError, TaskFolder, TaskSpec};

/// The name of all tasks of a suite together.
pub const ALL_TASKS: &str = "all";

/// The tasks of a run.
#[derive(Debug)]
pub struct TaskSet {
    tasks: Vec<TaskFolder>,
    spec: TaskSpec,
    description: String,
}

/// Why there are no such tasks.
#[derive(Debug, thiserror::Error)]
pub enum TaskSetError {
    /// The suite cannot be used, or has no such task.
    #[error("failed to open the suite")]
    Suite(#[from] SuiteError),
    /// A task cannot be used.
    #[error("failed to open the task")]
    Task(#[from] FolderError),
    /// The tasks have no common score.
    #[error("the tasks of the suite cannot share a model: {0} differs between them")]
    Mixed(&'static str),
    /// The mode and the tasks do not go together.
    #[error("`--mode multi` is for one model on all tasks: give it with `--task all`")]
    Mode,
    /// A file could not be read.
    #[error("failed to read the suite")]
    Io(#[from] io::Error),
}

impl TaskSet {
    /// The task `name` of a suite, or [`ALL_TASKS`] of it for one model.
    ///
    /// # Errors
    /// [`TaskSetError`].
    pub fn open(suite: &Suite, name: &str) -> Result<Self, TaskSetError> {
        if name != ALL_TASKS {
            let task = suite.task(name)?;
            let (spec, description) = (task.spec().clone(), task.description()?);
            return Ok(Self { tasks: vec![task], spec, description });
        }
        let mut tasks = Vec::new();
        for entry in suite.tasks() {
            tasks.push(suite.task(entry.id.as_str())?);
        }
        let spec = together(&tasks)?;
        let mut description = format!(
            "One model for {} tasks. Its score is the mean of its scores on them.\n",
            tasks.len()
        );
        for task in &tasks {
            let of_task = task.description()?;
            // Writing to a text cannot fail.
            let _ = writeln!(description, "\n# {}\n\n{}", task.spec().id, of_task.trim_end());
        }
        Ok(Self { tasks, spec, description })
    }

    /// Whether they go together with a mode.
    ///
    /// # Errors
    /// [`TaskSetError::Mode`].
    pub fn check_mode(&self, mode: Mode) -> Result<(), TaskSetError> {
        if self.is_several() == (mode == Mode::Multi) { Ok(()) } else { Err(TaskSetError::Mode) }
    }

    /// The tasks, in the order of the suite.
    pub fn tasks(&self) -> &[TaskFolder] {
        &self.tasks
    }

    /// Whether one model is graded on several tasks.
    pub fn is_several(&self) -> bool {
        self.tasks.len() > 1
    }

    /// The task, or what stands for all of them: sums of items, the largest limits.
    pub fn spec(&self) -> &TaskSpec {
        &self.spec
    }

    /// The text for the agent.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Writes what an agent gets of them into `folder`: the task without its sealed half, or a folder
    /// for each.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn write_public(&self, folder: &camino::Utf8Path) -> Result<(), TaskSetError> {
        for task in &self.tasks {
            let spec = task.spec();
            let place =
                if self.is_several() { folder.join(spec.id.as_str()) } else { folder.to_owned() };
            copy_folder(&task.public(), &place.join("public"))?;
            fs::write(place.join("task.toml"), spec.without_seed().to_toml())?;
            fs::write(place.join("description.md"), task.description()?)?;
        }
        Ok(())
    }
}

/// What stands for several tasks.
fn together(tasks: &[TaskFolder]) -> Result<TaskSpec, TaskSetError> {
    let specs: Vec<&TaskSpec> = tasks.iter().map(TaskFolder::spec).collect();
    let first = *specs.first().ok_or(TaskSetError::Mixed("the number of items"))?;
    if specs.iter().any(|spec| spec.direction != first.direction) {
        return Err(TaskSetError::Mixed("which scores are better"));
    }
    if specs.iter().any(|spec| spec.failure_score.total_cmp(&first.failure_score).is_ne()) {
        return Err(TaskSetError::Mixed("the score of a failure"));
    }
    let sum = |of: fn(&Sizes) -> usize| specs.iter().map(|spec| of(&spec.items)).sum();
    let most =
        |of: fn(&Limits) -> u32| specs.iter().map(|spec| of(&spec.limits)).max().unwrap_or(0);
    let objectives: Vec<&str> = specs.iter().map(|spec| spec.objective.as_str()).collect();
    let mut forbidden: Vec<String> = specs.iter().flat_map(|spec| spec.forbidden.clone()).collect();
    forbidden.sort();
    forbidden.dedup();
    Ok(TaskSpec {
        id: tasks::task::TaskId::new(ALL_TASKS)
            .map_err(|error| io::Error::other(error.to_string()))?,
        level: specs.iter().map(|spec| spec.level).max().unwrap_or(1),
        objective: objectives.join(" "),
        output: "what each task asks for".to_owned(),
        limits: Limits {
            turns: most(|limits| limits.turns),
            turn_tokens: most(|limits| limits.turn_tokens),
            context: most(|limits| limits.context),
        },
        metric: "mean over tasks".to_owned(),
        items: Sizes {
            train: sum(|sizes| sizes.train),
            dev: sum(|sizes| sizes.dev),
            test: sum(|sizes| sizes.test),
        },
        forbidden,
        ..first.clone()
    })
}

fn copy_folder(from: &camino::Utf8Path, to: &camino::Utf8Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir_utf8()? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
