//! From a task to its grader, whatever kind of task it is.
//!
//! Our own tasks and competitions of MLE-bench are graded natively, by [`tasks::grade`]; released
//! bundles by the script that they bring, and competitions of MLE-Dojo by the class of their metric,
//! both in a jail with the answers.

mod dojo;
mod evaluator_sandbox;
mod script;
mod script_grader;
mod verdict;

pub use script::EvaluatorFault;

use dojo::DojoGrader;
use evaluator_sandbox::EvaluatorSandbox;
use jail::exec::SandboxOptions;
use jail::semaphore::Semaphore;
use script_grader::ScriptGrader;
use std::sync::Arc;
use tasks::grade::{GradeError, Grader, MleBenchGrader, NativeGrader};
use tasks::task::{GraderSource, Task};

/// The memory of all grades in flight in this process, a permit a byte: 800 MiB, which is three
/// submissions of the largest size at once, and hundreds of the usual ones.
pub fn memory() -> &'static Semaphore {
    static MEMORY: Semaphore = Semaphore::new(800 << 20);
    &MEMORY
}

/// Opens the graders of a set of tasks. Bundles and competitions of MLE-Dojo share one sandbox for
/// their evaluators, which no agent's run ever uses; it starts when the first of them is opened. Clones share it too.
#[derive(Debug, Clone, Default)]
pub struct Graders(Arc<EvaluatorSandbox>);

impl Graders {
    /// Makes the graders of `tasks`; none is opened yet.
    pub fn new<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        let graders = Self::default();
        for task in tasks {
            match task.grader_source() {
                GraderSource::Bundle(bundle) => graders.0.add(bundle.id(), bundle.whole().clone()),
                GraderSource::Dojo(competition) => {
                    graders.0.add(competition.id(), competition.answers());
                }
                GraderSource::Ours(_) | GraderSource::Competition(_) => {}
            }
        }
        graders
    }

    /// Sets how the sandbox of evaluators is built: with the isolation layers that the operator
    /// can do without, and as many runs at a time as agents have. Default: two at a time, and the
    /// layers of [`SandboxOptions::default`]. Evaluators are then checked again on their samples.
    pub fn configure(&self, options: SandboxOptions) {
        self.0.configure(options);
    }

    /// Reads the answers of `task`, and makes sure that an evaluator works: the first time that
    /// it is opened, it has to grade its bundle's own sample submission.
    ///
    /// # Errors
    /// A [`GradeError`] that is a fault of the task, or of the caller for a bundle that is not one
    /// of the tasks given to [`Graders::new`].
    pub fn open(&self, task: &Task) -> Result<Box<dyn Grader>, GradeError> {
        Ok(match task.grader_source() {
            GraderSource::Ours(dir) => Box::new(NativeGrader::open(dir)?),
            GraderSource::Competition(competition) => {
                match NativeGrader::of_competition(competition)? {
                    Some(native) => Box::new(native),
                    None => Box::new(MleBenchGrader::open(competition)?),
                }
            }
            GraderSource::Bundle(bundle) => Box::new(ScriptGrader::open(bundle, &self.0)?),
            GraderSource::Dojo(competition) => {
                Box::new(DojoGrader::open(competition, task.public(), &self.0)?)
            }
        })
    }
}
