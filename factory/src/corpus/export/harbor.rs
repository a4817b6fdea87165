//! Harbor: a folder per task, with an image for the agent and another for the verifier.
//!
//! ```text
//! OUT/README.md
//! OUT/train/<task-id>/...      a data set of Harbor; `harbor_task` has its files
//! OUT/val/<task-id>/...        another, held out
//! ```

use super::canary::Canary;
use super::error::ExportError;
use super::{harbor_task, place};
use crate::package;
use crate::spec::mix::name;
use camino::Utf8Path;
use rayon::prelude::*;
use tasks::task::Corpus;

const README: &str = include_str!("harbor/readme.md");

/// Exports every task of the corpus in `dir` to `out`, a folder that does not exist or is empty,
/// and returns how many there are. The same corpus gives the same bytes, and all files have one
/// time. `out` appears when all of it is written.
///
/// # Errors
/// [`ExportError`].
pub fn harbor(dir: &Utf8Path, out: &Utf8Path) -> Result<usize, ExportError> {
    let corpus = Corpus::open(dir)?;
    let canary = Canary::of(corpus.tasks());
    place::whole(out, |work| {
        corpus.tasks().par_iter().try_for_each(|task| {
            let split = work.join(name(&task.manifest().split));
            harbor_task::write(task, &canary, &split.join(task.id().as_str()))
        })?;
        package::write(work, [("README.md", &canary.mark(README))].into_iter())?;
        Ok(())
    })?;
    Ok(corpus.tasks().len())
}
