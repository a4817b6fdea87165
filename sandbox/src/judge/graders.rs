//! From a task to its grader, whatever kind of task it is.

use super::evaluator::Evaluator;
use super::evaluators::Evaluators;
use jail::exec::Options;
use jail::semaphore::Semaphore;
use std::sync::Arc;
use tasks::grade::{CompetitionGrader, GradeError, Grader, Judge};
use tasks::task::{Task, Truth};

/// The memory of all grades in flight in this process, a permit a byte: 800 MiB, which is three
/// submissions of the largest size at once, and hundreds of the usual ones.
pub fn memory() -> &'static Semaphore {
    static MEMORY: Semaphore = Semaphore::new(800 << 20);
    &MEMORY
}

/// Opens the graders of a set of tasks. Bundles share one sandbox for their evaluators, which no
/// agent's run ever uses; it starts when the first of them is opened. Clones share it too.
#[derive(Debug, Clone, Default)]
pub struct Graders(Arc<Evaluators>);

impl Graders {
    /// For these tasks.
    pub fn new<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        let graders = Self::default();
        for task in tasks {
            if let Truth::Bundle(bundle) = task.truth() {
                graders.0.add(bundle);
            }
        }
        graders
    }

    /// Sets how the sandbox of evaluators is built: with the isolation layers that the operator
    /// can do without, and as many runs at a time as agents have. Default: two at a time, and the
    /// layers of [`Options::default`]. Evaluators are then checked again on their samples.
    pub fn configure(&self, options: Options) {
        self.0.configure(options);
    }

    /// Reads the answers of `task`, and makes sure that an evaluator works: the first time that
    /// it is opened, it has to grade its bundle's own sample submission.
    ///
    /// # Errors
    /// A [`GradeError`] that is a fault of the task, or of the caller for a bundle that is not one
    /// of the tasks given to [`Graders::new`].
    pub fn open(&self, task: &Task) -> Result<Box<dyn Judge>, GradeError> {
        Ok(match task.truth() {
            Truth::Ours(dir) => Box::new(Grader::open(dir)?),
            Truth::Competition(competition) => Box::new(CompetitionGrader::open(competition)?),
            Truth::Bundle(bundle) => Box::new(Evaluator::open(bundle, &self.0)?),
        })
    }
}
