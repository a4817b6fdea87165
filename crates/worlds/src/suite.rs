//! A suite on disk: tasks with their items, byte-identical from what was asked for.
//!
//! ```text
//! SUITE/suite.json                    what was asked for, and the hash of every file
//! SUITE/TASK/task.toml                the task
//! SUITE/TASK/description.md           what an agent reads
//! SUITE/TASK/public/train.jsonl       training items, and ground.json where items share something
//! SUITE/TASK/sealed/{dev,test}.jsonl  sealed items, for graders alone
//! SUITE/TASK/sealed/canary            a line that no honest run ever holds
//! SUITE/pool/SOURCE/…                 raw data for all tasks, of suites that have it
//! ```

use crate::folder::{FolderError, NewTask, TaskFolder};
use crate::generate::{GenerateError, as_text};
use crate::kind::Scale;
use crate::name::WorldName;
use crate::pool::{self, POOL, PoolSource, RawRow};
use crate::spec::{TaskSpec, TaskWorld};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::files;
use tasks::task::TaskId;

/// The version of `suite.json` that this build reads and writes.
const SUITE_VERSION: u32 = 1;
/// The file that makes a folder a suite.
const SUITE_FILE: &str = "suite.json";

/// Which tasks a suite has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteName {
    /// The generated counterparts of the tasks of Agent² RL-Bench.
    Rlbench,
    /// The generated counterparts of the tasks of FT-Dojo, with a pool of raw data.
    Ftdojo,
}

impl SuiteName {
    /// Its environments, in the order of the tables.
    pub fn worlds(self) -> &'static [WorldName] {
        match self {
            Self::Rlbench => &[
                WorldName::Arithmetic,
                WorldName::Programs,
                WorldName::Instructions,
                WorldName::Household,
                WorldName::Shop,
                WorldName::Search,
            ],
            Self::Ftdojo => &[
                WorldName::Aime,
                WorldName::Par4pc,
                WorldName::Noc4pc,
                WorldName::Pi4pc,
                WorldName::MolUnd,
                WorldName::MolEdit,
                WorldName::MolOpt,
                WorldName::Reaction,
                WorldName::Finqa,
                WorldName::TableDa,
                WorldName::TableFc,
                WorldName::TableNr,
                WorldName::TableVis,
            ],
        }
    }
}

/// What a suite is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteRequest {
    /// Which tasks.
    pub suite: SuiteName,
    /// How large.
    pub scale: Scale,
    /// The seed of all draws. Who knows it and has this crate knows the sealed items.
    pub seed: u64,
}

/// A task of a suite, as `suite.json` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteEntry {
    /// Name of the task, and of its folder.
    pub id: TaskId,
    /// Its environment.
    pub world: TaskWorld,
    /// The version of the generator.
    pub version: u32,
}

impl SuiteEntry {
    /// The entry of a task that this program writes.
    pub(crate) fn of(spec: &TaskSpec) -> Self {
        Self { id: spec.id.clone(), world: spec.world, version: spec.world.version() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    version: u32,
    /// None of tasks from files of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<SuiteRequest>,
    tasks: Vec<SuiteEntry>,
    hashes: BTreeMap<Utf8PathBuf, String>,
}

/// What a suite is to consist of.
#[derive(Debug)]
pub(crate) struct SuiteFiles {
    pub(crate) request: Option<SuiteRequest>,
    pub(crate) tasks: Vec<SuiteEntry>,
    /// What is in its files, by path.
    pub(crate) bytes: BTreeMap<Utf8PathBuf, Vec<u8>>,
    /// Files that are copied, by path.
    pub(crate) copies: BTreeMap<Utf8PathBuf, Utf8PathBuf>,
}

/// A suite on disk.
#[derive(Debug)]
pub struct Suite {
    path: Utf8PathBuf,
    file: SuiteFile,
}

/// Why a suite could not be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file could not be read or written.
    #[error("failed to read or write the suite")]
    Io(#[from] std::io::Error),
    /// There is something in the way.
    #[error("`{0}` exists already; remove it, or name another folder")]
    Exists(Utf8PathBuf),
    /// Items could not be drawn.
    #[error("failed to draw the items")]
    Generate(#[from] GenerateError),
    /// `suite.json` cannot be read.
    #[error("`{path}` is not the record of a suite of version {SUITE_VERSION}")]
    Record {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// A suite of another version.
    #[error(
        "`{path}` has version {found} and this program reads {SUITE_VERSION}; make the suite anew"
    )]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// Its version.
        found: u64,
    },
    /// A file is not what it was when the suite was made.
    #[error("`{0}` is missing or was changed since the suite was made; make the suite anew")]
    Damaged(Utf8PathBuf),
    /// There is no such task.
    #[error("the suite has no task `{0}`; it has {1}")]
    UnknownTask(String, String),
    /// A task's folder cannot be opened.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl SuiteRequest {
    /// The bytes of every file of the suite, by path. They depend on the request alone.
    ///
    /// # Errors
    /// [`SuiteError::Generate`].
    pub fn render(&self) -> Result<BTreeMap<Utf8PathBuf, Vec<u8>>, SuiteError> {
        let files = self.files()?;
        let record = files.record(files.hashes(None)?);
        let mut bytes = files.bytes;
        bytes.insert(SUITE_FILE.into(), record);
        Ok(bytes)
    }

    fn files(&self) -> Result<SuiteFiles, GenerateError> {
        let mut bytes = BTreeMap::new();
        let mut tasks = Vec::new();
        let mut raw: BTreeMap<PoolSource, Vec<RawRow>> = BTreeMap::new();
        for &world in self.suite.worlds() {
            let spec = world.spec(self.scale, self.seed)?;
            let lines = world.lines(&spec, self.seed)?;
            if let Some(source) = world.pool_source() {
                raw.entry(source).or_default().extend(lines.raw);
            }
            tasks.push(SuiteEntry::of(&spec));
            let (page, ground, parts) = (world.describe(self.scale), lines.ground, lines.parts);
            bytes.extend(NewTask { spec, page, ground, parts }.files(self.seed));
        }
        if !raw.is_empty() {
            bytes.extend(pool::render(raw, self.scale, self.seed));
        }
        Ok(SuiteFiles { request: Some(*self), tasks, bytes, copies: BTreeMap::new() })
    }

    /// Makes the suite in the folder `out`, which appears when it is complete.
    ///
    /// # Errors
    /// [`SuiteError`]; [`SuiteError::Exists`] if `out` is there already.
    pub fn make(&self, out: &Utf8Path) -> Result<Suite, SuiteError> {
        if out.exists() {
            return Err(SuiteError::Exists(out.to_owned()));
        }
        self.files()?.write(out)
    }
}

impl SuiteFiles {
    /// The hash of every file, by path: of what is copied as it is in the folder `copied`, or if there
    /// is none, as it is where it comes from.
    fn hashes(&self, copied: Option<&Utf8Path>) -> std::io::Result<BTreeMap<Utf8PathBuf, String>> {
        let written = self
            .bytes
            .iter()
            .map(|(path, bytes)| (path.clone(), blake3::hash(bytes).to_hex().to_string()));
        let mut hashes: BTreeMap<Utf8PathBuf, String> = written.collect();
        for (path, from) in &self.copies {
            let place = copied.map_or_else(|| from.clone(), |folder| folder.join(path));
            hashes.insert(path.clone(), hash_of(&place)?);
        }
        Ok(hashes)
    }

    /// The record that makes a folder with these files a suite.
    fn record(&self, hashes: BTreeMap<Utf8PathBuf, String>) -> Vec<u8> {
        let (request, tasks) = (self.request, self.tasks.clone());
        let file = SuiteFile { version: SUITE_VERSION, request, tasks, hashes };
        (as_text(&file) + "\n").into_bytes()
    }

    /// Whether the suite was made of the same.
    pub(crate) fn are_of(&self, suite: &Suite) -> Result<bool, SuiteError> {
        Ok(self.tasks == suite.file.tasks && self.hashes(None)? == suite.file.hashes)
    }

    /// Writes the suite into the folder `out`, which appears when it is complete.
    pub(crate) fn write(&self, out: &Utf8Path) -> Result<Suite, SuiteError> {
        if out.exists() {
            return Err(SuiteError::Exists(out.to_owned()));
        }
        let building = files::temporary_neighbour(out);
        let write = || -> std::io::Result<()> {
            for (path, bytes) in &self.bytes {
                files::write_atomic(&with_folder(&building, path)?, bytes)?;
            }
            for (path, from) in &self.copies {
                fs::copy(from, with_folder(&building, path)?)?;
            }
            let record = self.record(self.hashes(Some(&building))?);
            files::write_atomic(&building.join(SUITE_FILE), &record)?;
            fs::rename(&building, out)
        };
        if let Err(error) = write() {
            // The first error is the one worth reporting.
            let _ = fs::remove_dir_all(&building);
            return Err(error.into());
        }
        Suite::open(out)
    }
}

/// The place of a file in a folder, whose folder is made.
fn with_folder(folder: &Utf8Path, path: &Utf8Path) -> std::io::Result<Utf8PathBuf> {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    Ok(path)
}

/// The hash of a file.
fn hash_of(path: &Utf8Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut fs::File::open(path)?, &mut hasher)?;
    Ok(hasher.finalize().to_hex().to_string())
}

impl Suite {
    /// Opens the suite in `path`.
    ///
    /// # Errors
    /// [`SuiteError`].
    pub fn open(path: &Utf8Path) -> Result<Self, SuiteError> {
        let record = path.join(SUITE_FILE);
        let text = fs::read(&record)?;
        let parse = |source| SuiteError::Record { path: record.clone(), source };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(parse)?;
        let found = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if found != u64::from(SUITE_VERSION) {
            return Err(SuiteError::Version { path: record, found });
        }
        let file = serde_json::from_value(value).map_err(parse)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// What the suite was made from; `None` of tasks from files of a user.
    pub fn request(&self) -> Option<&SuiteRequest> {
        self.file.request.as_ref()
    }

    /// Its tasks.
    pub fn tasks(&self) -> &[SuiteEntry] {
        &self.file.tasks
    }

    /// The folder of raw data that all tasks share; `None` of suites without one.
    pub fn pool(&self) -> Option<Utf8PathBuf> {
        let has_pool = self.file.hashes.keys().any(|path| path.starts_with(POOL));
        has_pool.then(|| self.path.join(POOL))
    }

    /// The files of the pool by their paths in it, such as `mathematics/problems.jsonl`, in order;
    /// READMEs included. Empty of suites without a pool.
    pub fn pool_files(&self) -> Vec<&Utf8Path> {
        self.file.hashes.keys().filter_map(|path| path.strip_prefix(POOL).ok()).collect()
    }

    /// Opens the folder of a task.
    ///
    /// # Errors
    /// [`SuiteError::UnknownTask`] and [`SuiteError::Folder`].
    pub fn task(&self, id: &str) -> Result<TaskFolder, SuiteError> {
        let names: Vec<&str> = self.tasks().iter().map(|task| task.id.as_str()).collect();
        if !names.contains(&id) {
            return Err(SuiteError::UnknownTask(id.to_owned(), names.join(", ")));
        }
        Ok(TaskFolder::open(&self.path.join(id))?)
    }

    /// Compares every file with its hash.
    ///
    /// # Errors
    /// [`SuiteError::Damaged`] naming the first file that is missing or differs.
    pub fn check_files(&self) -> Result<(), SuiteError> {
        for (path, expected) in &self.file.hashes {
            let is_same = hash_of(&self.path.join(path)).is_ok_and(|found| found == *expected);
            if !is_same {
                return Err(SuiteError::Damaged(path.clone()));
            }
        }
        Ok(())
    }
}
