//! The tasks of a benchmark, and which of them are there.

use super::summary::BenchField;
use camino::{Utf8Path, Utf8PathBuf};
use std::fmt;
use tasks::task::{Collection, DataSource, Opening, Split, Task, TaskError};
use tasks::text::with_causes;

/// A benchmark by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchName {
    /// The 22 competitions of low complexity of MLE-bench.
    MlebenchLite,
    /// The held-out tasks of a corpus of `factory`.
    Synthetic,
}

impl fmt::Display for BenchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MlebenchLite => "mlebench-lite",
            Self::Synthetic => "synthetic",
        })
    }
}

/// Whether a competition can be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompetitionCheck {
    /// Its name.
    pub id: String,
    /// What it is, or why it cannot be played.
    pub state: CompetitionState,
}

/// What is found of a competition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompetitionState {
    /// Nothing.
    Missing,
    /// Something, and it cannot be played.
    Broken {
        /// Why not.
        why: String,
    },
    /// All that is needed.
    Ready {
        /// Whether its data is real.
        data: DataSource,
        /// Bytes of its public files.
        bytes: u64,
    },
}

/// Looks for the 22 competitions of MLE-bench-lite below `data`, in MLE-bench's layout.
pub fn check_lite(data: &Utf8Path, opening: &Opening) -> Vec<CompetitionCheck> {
    let competitions = BenchField::lite().competitions.into_iter();
    competitions.map(|id| CompetitionCheck { state: state(&data.join(&id), opening), id }).collect()
}

fn state(folder: &Utf8Path, opening: &Opening) -> CompetitionState {
    if !folder.is_dir() {
        return CompetitionState::Missing;
    }
    let broken = |error: &(dyn std::error::Error + 'static)| CompetitionState::Broken {
        why: with_causes(error),
    };
    let task = match Task::open(folder, opening) {
        Ok(task) => task,
        Err(error) => return broken(&error),
    };
    if let Err(error) = task.description() {
        return broken(&error);
    }
    match bytes(task.public().path()) {
        Ok(bytes) => CompetitionState::Ready { data: task.data_source(), bytes },
        Err(error) => broken(&error),
    }
}

/// Bytes of all files below a folder; links are not followed.
fn bytes(folder: &Utf8Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in folder.read_dir_utf8()? {
        let entry = entry?;
        let found = entry.metadata()?;
        sum += if found.is_dir() { bytes(entry.path())? } else { found.len() };
    }
    Ok(sum)
}

/// Why a benchmark cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum BenchTasksError {
    /// The tasks cannot be used.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Some competitions are missing or broken.
    #[error(
        "{} of {all} competitions of mlebench-lite are not prepared in `{data}`: {}",
        missing.len(),
        missing.join(", ")
    )]
    NotPrepared {
        /// The folder.
        data: Utf8PathBuf,
        /// Those that are missing or broken.
        missing: Vec<String>,
        /// How many there should be.
        all: usize,
    },
    /// Names that are not in the benchmark.
    #[error("`{0}` is not one of the benchmark's tasks")]
    Unknown(String),
    /// A corpus without held-out tasks.
    #[error("`{0}` has no held-out tasks; `factory generate` makes both kinds")]
    NothingHeldOut(Utf8PathBuf),
}

/// Which tasks of a benchmark are played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All; if one is missing, none is played.
    All,
    /// Those that are there.
    Prepared,
    /// These.
    Only(Vec<String>),
}

/// The tasks that are played, and the benchmark that they are of.
///
/// # Errors
/// [`BenchTasksError`].
pub fn open(
    bench: BenchName,
    data: &Utf8Path,
    opening: &Opening,
    selection: &Selection,
) -> Result<(BenchField, Collection), BenchTasksError> {
    match bench {
        BenchName::MlebenchLite => {
            let field = BenchField::lite();
            let wanted = match selection {
                Selection::Only(names) => {
                    if let Some(unknown) =
                        names.iter().find(|name| !field.competitions.contains(name))
                    {
                        return Err(BenchTasksError::Unknown(unknown.clone()));
                    }
                    names.clone()
                }
                Selection::All | Selection::Prepared => field.competitions.clone(),
            };
            let (ready, missing): (Vec<_>, Vec<_>) = check_lite(data, opening)
                .into_iter()
                .filter(|check| wanted.contains(&check.id))
                .partition(|check| matches!(check.state, CompetitionState::Ready { .. }));
            let forgiving = *selection == Selection::Prepared && !ready.is_empty();
            if !missing.is_empty() && !forgiving {
                let missing = missing.into_iter().map(|check| check.id).collect();
                let all = field.competitions.len();
                return Err(BenchTasksError::NotPrepared { data: data.to_owned(), missing, all });
            }
            let tasks = ready.iter().map(|check| Task::open(&data.join(&check.id), opening));
            let tasks = Collection::from_tasks(data, tasks.collect::<Result<_, _>>()?)?;
            Ok((field, tasks))
        }
        BenchName::Synthetic => {
            let all = Collection::open(data, opening)?;
            let held_out: Vec<Task> = all.split(Split::Val).into_iter().cloned().collect();
            if held_out.is_empty() {
                return Err(BenchTasksError::NothingHeldOut(data.to_owned()));
            }
            let competitions = held_out.iter().map(|task| task.id().to_string()).collect();
            let field = BenchField { name: bench.to_string(), competitions };
            let played = match selection {
                Selection::All | Selection::Prepared => held_out,
                Selection::Only(names) => {
                    if let Some(unknown) =
                        names.iter().find(|name| !field.competitions.contains(name))
                    {
                        return Err(BenchTasksError::Unknown(unknown.clone()));
                    }
                    let wanted = |task: &Task| names.iter().any(|name| name == task.id().as_str());
                    held_out.into_iter().filter(wanted).collect()
                }
            };
            Ok((field, Collection::from_tasks(data, played)?))
        }
    }
}
