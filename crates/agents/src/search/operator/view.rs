//! What an operator shows to a player.

use crate::run::agent::TaskView;
use crate::run::node::Decision;

/// What the search knows when a script is asked for.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The task.
    pub task: &'a TaskView,
    /// What was decided.
    pub decision: &'a Decision,
    /// The decision's parents, in their order.
    pub parents: Vec<ParentView>,
    /// Failed scripts before the parent, the oldest first.
    pub failed: Vec<ParentView>,
    /// Earlier scripts, the oldest first.
    pub memory: Vec<MemoryEntry>,
    /// Whether an improvement is shown the data and the parent's output.
    pub rich_improve: bool,
    /// Steps in all.
    pub steps: u32,
    /// Steps that are left, this one included.
    pub steps_left: u32,
    /// Active seconds that are left.
    pub seconds_left: f64,
}

/// A script that a decision builds on.
#[derive(Debug, Clone, PartialEq)]
pub struct ParentView {
    /// The script.
    pub code: String,
    /// What it printed.
    pub output: String,
    /// Its validation score, if it has one.
    pub metric: Option<f64>,
}

/// An earlier script, in short.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryEntry {
    /// Its plan.
    pub plan: String,
    /// What came of it: a judge's summary, or how it failed.
    pub result: String,
    /// Its validation score, if it is good.
    pub metric: Option<f64>,
}

/// How much is left out of a question that does not fit into a model's context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shortening {
    /// Nothing.
    #[default]
    Nothing,
    /// Earlier scripts.
    Memory,
    /// Also outputs, but for their ends.
    Outputs,
    /// Also the data.
    Overview,
}

impl Shortening {
    /// The next step; `None` if nothing more can be left out.
    pub fn more(self) -> Option<Self> {
        match self {
            Self::Nothing => Some(Self::Memory),
            Self::Memory => Some(Self::Outputs),
            Self::Outputs => Some(Self::Overview),
            Self::Overview => None,
        }
    }

    /// What is left out, in words for the journal.
    pub fn names(self) -> Vec<String> {
        let parts =
            [(Self::Memory, "memory"), (Self::Outputs, "output"), (Self::Overview, "overview")];
        let left_out = parts.iter().filter(|(part, _)| *part <= self);
        left_out.map(|(_, name)| (*name).to_owned()).collect()
    }
}
