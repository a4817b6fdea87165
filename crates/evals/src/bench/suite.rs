//! The tasks of a benchmark, and which of them are there.

use super::summary::BenchField;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::SandboxOptions;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::{env, fmt};
use tasks::task::{Collection, DOJO_ANSWERS, DataSource, Opening, Split, Task, TaskError};
use tasks::text::with_causes;

/// A benchmark by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenchName {
    /// The 22 competitions of low complexity of MLE-bench.
    MlebenchLite,
    /// Competitions in MLE-bench's form, those that a folder has: of the 22, and with rules of their
    /// own ([`CompetitionRules`](tasks::task::CompetitionRules)).
    Mlebench,
    /// Competitions of MLE-Dojo, those that a folder has.
    MleDojo,
    /// The held-out tasks of a corpus of `factory`.
    Synthetic,
}

impl fmt::Display for BenchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MlebenchLite => "mlebench-lite",
            Self::Mlebench => "mlebench",
            Self::MleDojo => "mle-dojo",
            Self::Synthetic => "synthetic",
        })
    }
}

impl BenchName {
    /// The sandbox that its scripts need: competitions have large files, and work dirs on disk.
    pub fn sandbox(self) -> SandboxOptions {
        match self {
            Self::MlebenchLite | Self::Mlebench | Self::MleDojo => SandboxOptions::benchmark(),
            Self::Synthetic => SandboxOptions::default(),
        }
    }
}

/// A name that is none of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no benchmark `{0}`; there are mlebench-lite, mlebench, mle-dojo and synthetic")]
pub struct NoSuchBench(String);

impl FromStr for BenchName {
    type Err = NoSuchBench;

    fn from_str(name: &str) -> Result<Self, NoSuchBench> {
        let all = [Self::MlebenchLite, Self::Mlebench, Self::MleDojo, Self::Synthetic];
        let found = all.into_iter().find(|bench| bench.to_string() == name);
        found.ok_or_else(|| NoSuchBench(name.to_owned()))
    }
}

/// The folder with a benchmark's data: the one given, else, of MLE-bench, `MLE_BENCH_DATA`, else
/// its own folder in the user's cache.
///
/// # Errors
/// [`BenchTasksError::NoFolder`] if there is no such default.
pub fn data_folder(
    bench: BenchName,
    given: Option<&Utf8Path>,
) -> Result<Utf8PathBuf, BenchTasksError> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    if bench == BenchName::MlebenchLite {
        if let Ok(folder) = env::var("MLE_BENCH_DATA") {
            return Ok(folder.into());
        }
        let cache = env::var("XDG_CACHE_HOME").map(Utf8PathBuf::from);
        let home = env::var("HOME").map(|home| Utf8PathBuf::from(home).join(".cache"));
        if let Ok(cache) = cache.or(home) {
            return Ok(cache.join("mle-bench/data"));
        }
    }
    Err(BenchTasksError::NoFolder { bench })
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

/// Looks for the competitions of a benchmark below `data`: the 22 of MLE-bench-lite, or those of
/// MLE-Dojo that are there.
///
/// # Errors
/// [`BenchTasksError::NoCheck`] for a corpus, and those of reading the folder.
pub fn check(
    bench: BenchName,
    data: &Utf8Path,
    opening: &Opening,
) -> Result<Vec<CompetitionCheck>, BenchTasksError> {
    match bench {
        BenchName::MlebenchLite => Ok(check_lite(data, opening)),
        BenchName::Mlebench | BenchName::MleDojo => {
            let mut names: Vec<String> = folders(bench, data)?;
            names.sort();
            let check =
                |id: String| CompetitionCheck { state: state(&data.join(&id), opening), id };
            Ok(names.into_iter().map(check).collect())
        }
        BenchName::Synthetic => Err(BenchTasksError::NoCheck),
    }
}

/// Names of the folders below `data` that hold a competition of MLE-Dojo, or one in MLE-bench's form.
fn folders(bench: BenchName, data: &Utf8Path) -> Result<Vec<String>, BenchTasksError> {
    let mut names = Vec::new();
    let entries = data
        .read_dir_utf8()
        .map_err(|source| BenchTasksError::Folder { data: data.to_owned(), source })?;
    for entry in entries {
        let entry =
            entry.map_err(|source| BenchTasksError::Folder { data: data.to_owned(), source })?;
        let holds = match bench {
            BenchName::MleDojo => entry.path().join("data/private").join(DOJO_ANSWERS).is_file(),
            _ => entry.path().join("prepared/private").is_dir(),
        };
        if holds {
            names.push(entry.file_name().to_owned());
        }
    }
    if names.is_empty() {
        let data = data.to_owned();
        return Err(match bench {
            BenchName::MleDojo => BenchTasksError::NoDojo(data),
            _ => BenchTasksError::NoCompetition(data),
        });
    }
    Ok(names)
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
        /// Those that could be played.
        ready: usize,
        /// How many there should be.
        all: usize,
    },
    /// A folder cannot be read.
    #[error("failed to look for competitions in `{data}`")]
    Folder {
        /// The folder.
        data: Utf8PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A folder without competitions of MLE-Dojo.
    #[error(
        "`{0}` holds no competition of MLE-Dojo: expected `ID/data/private/test_answer.csv`; \
         MLE-Dojo's own `prepare` makes it from a Kaggle account"
    )]
    NoDojo(Utf8PathBuf),
    /// A folder without competitions in MLE-bench's form.
    #[error(
        "`{0}` holds no competition: expected `ID/prepared/public` and `ID/prepared/private`, and \
         `ID/grading.json` of one that is not MLE-bench's"
    )]
    NoCompetition(Utf8PathBuf),
    /// A corpus has nothing to prepare.
    #[error(
        "`factory inspect` and `factory verify` look after corpora; check a benchmark of competitions"
    )]
    NoCheck,
    /// Nothing says where the data is.
    #[error("name the folder with the data of {bench}: `--data DIR`")]
    NoFolder {
        /// The benchmark.
        bench: BenchName,
    },
    /// Names that are not in the benchmark.
    #[error("`{0}` is not one of the benchmark's tasks")]
    Unknown(String),
    /// A corpus without held-out tasks.
    #[error("`{0}` has no held-out tasks; `factory generate` makes both kinds")]
    NothingHeldOut(Utf8PathBuf),
}

impl BenchTasksError {
    /// What to do about it, a sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NotPrepared { data, ready, all, .. } => hints(data, *ready, *all),
            Self::NoFolder { bench: BenchName::Synthetic } => {
                vec!["`factory generate --out DIR` makes a corpus".to_owned()]
            }
            _ => Vec::new(),
        }
    }
}

/// What to do about competitions that are not prepared in `data`, where `ready` of `all` are.
pub fn hints(data: &Utf8Path, ready: usize, all: usize) -> Vec<String> {
    let mut hints = vec![
        format!(
            "with a Kaggle account: accept each competition's rules on its page, put the key into \
             ~/.kaggle/kaggle.json, then `mlebench prepare --lite --data-dir {data}` (about 158 \
             GB); some competitions no longer accept new entrants"
        ),
        "without: `factory standin --out DIR` makes small invented stand-ins; they test this \
         program, not a model"
            .to_owned(),
    ];
    if ready > 0 {
        hints.push(format!(
            "`--only prepared` plays the {ready} that are there; the report will say {ready} of \
             {all}"
        ));
    }
    hints
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

impl Selection {
    /// From the values of `--only`: `prepared`, a file of names, or names; all without any.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn from_names(names: Option<&[String]>) -> std::io::Result<Self> {
        Ok(match names {
            None => Self::All,
            Some([one]) if one == "prepared" => Self::Prepared,
            Some([one]) if Utf8Path::new(one).is_file() => {
                Self::Only(fs::read_to_string(one)?.split_whitespace().map(str::to_owned).collect())
            }
            Some(names) => Self::Only(names.to_vec()),
        })
    }
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
                // Of a selection, those that are there say nothing about `--only prepared`.
                let ready = if *selection == Selection::All { ready.len() } else { 0 };
                let data = data.to_owned();
                return Err(BenchTasksError::NotPrepared { data, missing, ready, all });
            }
            let tasks = ready.iter().map(|check| Task::open(&data.join(&check.id), opening));
            let tasks = Collection::from_tasks(data, tasks.collect::<Result<_, _>>()?)?;
            Ok((field, tasks))
        }
        BenchName::Mlebench | BenchName::MleDojo => {
            let mut folders = folders(bench, data)?;
            folders.sort();
            if let Selection::Only(names) = selection {
                if let Some(unknown) = names.iter().find(|name| !folders.contains(name)) {
                    return Err(BenchTasksError::Unknown(unknown.clone()));
                }
                folders.retain(|folder| names.contains(folder));
            }
            let tasks = folders.iter().map(|name| Task::open(&data.join(name), opening));
            let mut tasks: Vec<Result<Task, TaskError>> = tasks.collect();
            if *selection == Selection::Prepared {
                tasks.retain(Result::is_ok);
            }
            let tasks = tasks.into_iter().collect::<Result<_, _>>()?;
            let tasks = Collection::from_tasks(data, tasks)?;
            // MLE-Dojo's 62 are not published, so the list of a report is what was played.
            let competitions = tasks.tasks().iter().map(|task| task.id().to_string()).collect();
            Ok((BenchField { name: bench.to_string(), competitions }, tasks))
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
