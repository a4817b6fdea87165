//! The three parts of a task's items, and the names of items.

use serde::{Deserialize, Serialize};
use std::fmt;
use tasks::task::{TaskError, TaskId};

/// A part of the items of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Given to the agent.
    Train,
    /// Sealed; its scores may be told while a run lasts.
    Dev,
    /// Sealed; scored once, after the end.
    Test,
}

impl Part {
    /// All parts, in the order in which they are generated.
    pub const ALL: [Self; 3] = [Self::Train, Self::Dev, Self::Test];

    /// The name as in files and ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Dev => "dev",
            Self::Test => "test",
        }
    }

    /// The one part that may have items with these parameters, whatever the task and the seed: of
    /// ten, eight belong to training, and one to each sealed part.
    pub fn of_parameters(parameters: &str) -> Self {
        let hash = blake3::hash(parameters.as_bytes());
        let (first, _) = hash.as_bytes().split_first_chunk::<4>().expect("a hash has 32 bytes");
        match u32::from_le_bytes(*first) % 10 {
            0 => Self::Dev,
            1 => Self::Test,
            _ => Self::Train,
        }
    }

    /// Whether only graders may read its items.
    pub fn is_sealed(self) -> bool {
        self != Self::Train
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The id of the item with this number, from 0: `household-train-00003`. An item is what rollouts
/// call a task, so its id is a [`TaskId`].
///
/// # Errors
/// [`TaskError::BadId`] if the task's id leaves no room for the rest.
pub fn item_id(task: &TaskId, part: Part, number: usize) -> Result<TaskId, TaskError> {
    TaskId::new(&format!("{task}-{part}-{number:05}"))
}
