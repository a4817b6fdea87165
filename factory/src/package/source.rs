//! What a task is built from, as its folder keeps it.

use crate::generator::{GeneratedRows, RowsError};
use crate::page::Prose;
use crate::spec::blueprint::{BLUEPRINT_VERSION, Blueprint};
use fs_err as fs;
use std::io;
use tasks::task::TaskDir;

/// The file of the blueprint.
pub(super) const BLUEPRINT: &str = "source/blueprint.json";
/// The file that keeps the prose of a chat model, if one wrote the page.
pub(super) const PROSE: &str = "source/prose.json";
/// The file that keeps the rows of a generator, if one drew them.
pub(super) const ROWS: &str = "source/generated.bin";
/// The file of the standalone evaluator.
pub(super) const EVALUATOR: &str = "source/evaluator.py";
/// The code of a generator, which the blueprint holds, too.
pub(super) const GENERATOR: &str = "source/generate_task_env.py";

/// What a task is built from. A rebuild needs no role, no model and no Python.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSource {
    /// The blueprint, with the story if it is not an embedded one.
    pub blueprint: Blueprint,
    /// The rows that a generator drew; `None` where the blueprint has rules.
    pub generated: Option<GeneratedRows>,
    /// The prose of a chat model; `None` for a built-in page.
    pub prose: Option<Prose>,
    /// The evaluator of a chat model; `None` for the built-in one.
    pub evaluator: Option<String>,
}

/// Why the source of a task cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file is not JSON of its form.
    #[error("`{0}` is malformed")]
    Json(&'static str, #[source] serde_json::Error),
    /// The file of rows is malformed.
    #[error("`{ROWS}` is malformed")]
    Rows(#[from] RowsError),
    /// The blueprint is one of another version.
    #[error("the blueprint has version {found}, and this build reads {BLUEPRINT_VERSION}")]
    OtherVersion {
        /// Its version.
        found: u32,
    },
}

impl From<Blueprint> for TaskSource {
    /// The source of a task whose blueprint is all there is.
    fn from(blueprint: Blueprint) -> Self {
        Self { blueprint, generated: None, prose: None, evaluator: None }
    }
}

impl TaskSource {
    /// Reads the folder `source` of a task.
    ///
    /// # Errors
    /// [`SourceError`].
    pub fn read(dir: &TaskDir) -> Result<Self, SourceError> {
        let bytes = fs::read(dir.path().join(BLUEPRINT))?;
        let blueprint: Blueprint =
            serde_json::from_slice(&bytes).map_err(|error| SourceError::Json(BLUEPRINT, error))?;
        if blueprint.version != BLUEPRINT_VERSION {
            return Err(SourceError::OtherVersion { found: blueprint.version });
        }
        let generated = if_there(dir, ROWS)?.map(|bytes| GeneratedRows::from_bytes(&bytes));
        let prose = if_there(dir, PROSE)?.map(|bytes| serde_json::from_slice(&bytes));
        let is_builtin = dir.manifest().provenance["roles"]["authors"]["operator"].is_null();
        let evaluator = || fs::read_to_string(dir.path().join(EVALUATOR));
        Ok(Self {
            blueprint,
            generated: generated.transpose()?,
            prose: prose.transpose().map_err(|error| SourceError::Json(PROSE, error))?,
            evaluator: if is_builtin { None } else { Some(evaluator()?) },
        })
    }
}

/// The bytes of a file that a task need not have.
fn if_there(dir: &TaskDir, path: &str) -> io::Result<Option<Vec<u8>>> {
    match fs::read(dir.path().join(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}
