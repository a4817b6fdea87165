//! Functions of HumanEval, judged by the tests that were released with them.
//!
//! `prompt -> text -> its calls, run in the sandbox -> results -> the tests on these results, run in
//! another -> verdict`
//!
//! In the release a program and the tests run in one process, where a program can reach the tests. Here
//! the calls that the tests make are recorded with the released solution, the program is run on them
//! alone, and the tests are then given its results. A program that knows of this can do no more than
//! find the results.

mod judge;
mod world;

pub use world::HumanEvalWorld;

use serde::{Deserialize, Serialize};

/// The name in `task.toml`.
pub(crate) const NAME: &str = "human_eval";
/// Rises with every change of what items are written as.
pub(crate) const VERSION: u32 = 1;

/// One function, as a line of the released file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionItem {
    /// `HumanEval/0` and so on.
    pub task_id: String,
    /// What comes before the function's body: imports, helpers, signature and docstring.
    pub prompt: String,
    /// Name of the function.
    pub entry_point: String,
    /// The body of a right function, indented.
    pub canonical_solution: String,
    /// The definition of `check(candidate)`, which raises an exception if the candidate is wrong.
    pub test: String,
    /// Of sealed items: a window of words of the prompt that no public item has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

impl FunctionItem {
    /// The released function as a whole, which passes the tests.
    pub fn solution(&self) -> String {
        format!("{}{}", self.prompt, self.canonical_solution)
    }
}
