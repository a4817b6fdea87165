//! Published benchmarks as suites, from files that a user has. Nothing is fetched.
//!
//! `FROM/gsm8k/{train,test}.jsonl, FROM/human-eval/HumanEval.jsonl -> rows -> task folders -> suite`
//!
//! Test items are those of the published test, all of them, so that final scores can be compared with
//! published ones. Dev items, which are scored during a run, are taken out of the published training
//! items, so that no model is selected on the test items.

mod gsm8k;
mod human_eval;

use crate::folder::NewTask;
use crate::kind::{Outline, Scale, Sizes};
use crate::name::{WorldName, item_lines};
use crate::part::Part;
use crate::spec::{Source, TaskSpec, TaskWorld};
use crate::suite::{Suite, SuiteEntry, SuiteError, SuiteFiles};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, HashSet};
use tasks::task::{TaskError, TaskId};

/// A benchmark that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Benchmark {
    /// Word problems, answered with a number.
    Gsm8k,
    /// Functions in Python, judged by tests.
    HumanEval,
}

impl Benchmark {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Gsm8k, Self::HumanEval];

    /// The name of its task, and of the folder with its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gsm8k => "gsm8k",
            Self::HumanEval => "human-eval",
        }
    }

    /// The files that it is released as.
    pub fn files(self) -> &'static [ReleasedFile] {
        match self {
            Self::Gsm8k => &gsm8k::FILES,
            Self::HumanEval => &human_eval::FILES,
        }
    }
}

/// A file as its benchmark was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleasedFile {
    /// Its name in the folder of its benchmark.
    pub name: &'static str,
    /// The number of its lines, one item each.
    pub rows: usize,
    /// The hash of its bytes (BLAKE3, hexadecimal).
    pub hash: &'static str,
    /// Where it is to be had.
    pub source: &'static str,
}

/// What is to be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The folder that has a folder for each benchmark.
    pub from: Utf8PathBuf,
    /// The benchmarks to import, each with a folder there.
    pub benchmarks: Vec<Benchmark>,
    /// Whether files that differ from the released ones are taken.
    pub any_files: bool,
    /// The seed of the dev items, as secret as these.
    pub seed: u64,
}

/// Why a benchmark could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file is not there.
    #[error("`{path}` is missing; it is {origin}")]
    Missing {
        /// Where it is looked for.
        path: Utf8PathBuf,
        /// Where it is to be had.
        origin: &'static str,
    },
    /// A file differs from the released one.
    #[error(
        "`{path}` is not the released file: it has {found} lines and hash {hash}, and the released one \
         {rows} lines and hash {released}; scores on other items cannot be compared with published ones"
    )]
    Changed {
        /// The file.
        path: Utf8PathBuf,
        /// Lines in it.
        found: usize,
        /// Its hash.
        hash: String,
        /// Lines of the released one.
        rows: usize,
        /// The hash of the released one.
        released: &'static str,
    },
    /// A line cannot be read.
    #[error("line {line} of `{path}` is no item: {why}")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// There are too few items for three parts.
    #[error("`{0}` has too few items to be split into train, dev and test")]
    TooFew(&'static str),
    /// The same is asked in two parts.
    #[error("{count} items of `{benchmark}` are among its test items and among the others")]
    Shared {
        /// The benchmark.
        benchmark: &'static str,
        /// How many.
        count: usize,
    },
    /// A file could not be read.
    #[error("failed to read the files")]
    Io(#[from] std::io::Error),
    /// The name of a benchmark leaves no room for those of items.
    #[error("the name of the benchmark is too long for the names of its items")]
    Id(#[from] TaskError),
    /// The suite could not be written.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

impl Import {
    /// Makes a suite in the folder `out`, which appears when it is complete.
    ///
    /// # Errors
    /// [`ImportError`].
    pub fn make(&self, out: &Utf8Path) -> Result<Suite, ImportError> {
        let (mut tasks, mut bytes) = (Vec::new(), BTreeMap::new());
        for &benchmark in &self.benchmarks {
            let task = self.task(benchmark)?;
            tasks.push(SuiteEntry::of(&task.spec));
            bytes.extend(task.files(self.seed));
        }
        let files = SuiteFiles { request: None, tasks, bytes, copies: BTreeMap::new() };
        Ok(files.write(out)?)
    }

    fn task(&self, benchmark: Benchmark) -> Result<NewTask, ImportError> {
        let files = benchmark.files().iter().map(|file| self.read(benchmark, file));
        let files: Vec<SourceFile> = files.collect::<Result<_, _>>()?;
        match benchmark {
            Benchmark::Gsm8k => gsm8k::task(&files, self.seed),
            Benchmark::HumanEval => human_eval::task(&files, self.seed),
        }
    }

    fn read(&self, benchmark: Benchmark, file: &ReleasedFile) -> Result<SourceFile, ImportError> {
        let path = self.from.join(benchmark.name()).join(file.name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ImportError::Missing { path, origin: file.source });
            }
            Err(error) => return Err(error.into()),
        };
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        if hash != file.hash && !self.any_files {
            let found = text.lines().count();
            let (rows, released) = (file.rows, file.hash);
            return Err(ImportError::Changed { path, found, hash, rows, released });
        }
        Ok(SourceFile { name: file.name, path, text, hash })
    }
}

/// A file that was read.
#[derive(Debug)]
struct SourceFile {
    name: &'static str,
    path: Utf8PathBuf,
    text: String,
    hash: String,
}

impl SourceFile {
    /// What its lines are, each made from a row.
    fn items<R: DeserializeOwned, I>(
        &self,
        item: impl Fn(R) -> Result<I, &'static str>,
    ) -> Result<Vec<I>, ImportError> {
        let lines = self.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(place, line): (usize, &str)| {
            let bad = |why| ImportError::Line { path: self.path.clone(), line: place + 1, why };
            let row = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
            item(row).map_err(|why| bad(why.to_owned()))
        };
        lines.map(read).collect()
    }
}

/// The task with these items for training, dev and test, and the limits of its generated counterpart.
fn new_task<I: Serialize>(
    benchmark: Benchmark,
    files: &[SourceFile],
    [train, dev, test]: [Vec<I>; 3],
    page: fn(&TaskSpec) -> String,
) -> Result<NewTask, ImportError> {
    let (world, counterpart) = match benchmark {
        Benchmark::Gsm8k => (WorldName::Arithmetic.into(), WorldName::Arithmetic),
        Benchmark::HumanEval => (TaskWorld::HumanEval, WorldName::Programs),
    };
    let sizes = Sizes { train: train.len(), dev: dev.len(), test: test.len() };
    let outline = Outline { sizes, ..counterpart.outline(Scale::Full) };
    let hashes = files.iter().map(|file| (file.name.to_owned(), file.hash.clone())).collect();
    let id = TaskId::new(benchmark.name())?;
    let spec = TaskSpec::of_outline(id, world, &outline, Source::Folder { hashes });
    let parts = BTreeMap::from([(Part::Train, train), (Part::Dev, dev), (Part::Test, test)]);
    let parts = item_lines(&spec.id, parts)?;
    Ok(NewTask { page: page(&spec), spec, ground: None, parts })
}

/// The items for training, in their order, and `dev` others, at most a quarter of all. Which they are
/// follows from the seed and from what each item is, in any order of them.
fn without_dev<I>(
    benchmark: Benchmark,
    items: Vec<I>,
    dev: usize,
    seed: u64,
    text: fn(&I) -> &str,
) -> Result<(Vec<I>, Vec<I>), ImportError> {
    let key = format!("worlds import {} {seed}", benchmark.name());
    let key = *blake3::hash(key.as_bytes()).as_bytes();
    let hash = |item: &I| *blake3::keyed_hash(&key, text(item).as_bytes()).as_bytes();
    let mut hashes: Vec<[u8; 32]> = items.iter().map(hash).collect();
    hashes.sort_unstable();
    let Some(&first) = hashes.get(dev.min(items.len() / 4)) else {
        return Err(ImportError::TooFew(benchmark.name()));
    };
    let (dev, train): (Vec<I>, Vec<I>) = items.into_iter().partition(|item| hash(item) < first);
    if dev.is_empty() {
        return Err(ImportError::TooFew(benchmark.name()));
    }
    Ok((train, dev))
}

/// Refuses test items that are asked elsewhere too.
fn check_apart<'a>(
    benchmark: Benchmark,
    others: impl Iterator<Item = &'a str>,
    test: impl Iterator<Item = &'a str>,
) -> Result<(), ImportError> {
    let others: HashSet<&str> = others.collect();
    let count = test.filter(|asked| others.contains(asked)).count();
    if count > 0 {
        return Err(ImportError::Shared { benchmark: benchmark.name(), count });
    }
    Ok(())
}
