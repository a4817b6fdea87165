//! A user's task as a suite on disk: its items split and sealed, its raw data beside them.

use super::row::CustomRow;
use super::scorer::has_aggregate;
use super::world::{CustomItem, Shared};
use super::{AGGREGATE, NAME};
use crate::folder::{GROUND, NewTask, PUBLIC};
use crate::generate::as_text;
use crate::grams::{self, GRAM, unescaped};
use crate::kind::Sizes;
use crate::name::item_lines;
use crate::part::Part;
use crate::pool::POOL;
use crate::spec::{Direction, Limits, Sampling, Source, TaskKind, TaskSpec, TaskWorld};
use crate::suite::{Suite, SuiteEntry, SuiteError, SuiteFiles};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::{BTreeMap, HashSet};
use tasks::files::files_below;
use tasks::json::sorted;
use tasks::task::{TaskError, TaskId};

/// Sealed items of a part, at least: fewer tell nothing.
const LEAST: usize = 5;
/// Places that are named.
const NAMED: usize = 5;

/// A task of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomTask {
    /// Its name.
    pub id: TaskId,
    /// What the model is to do, as its system message and as the page that agents read.
    pub objective: String,
    /// The source of the scorer.
    pub scorer: String,
    /// The items. Those with an answer are public; the others are split into two sealed parts.
    pub rows: Vec<CustomRow>,
    /// The folder of raw data, whose folders are its sources; `None` without.
    pub pool: Option<Utf8PathBuf>,
    /// Tokens of a conversation and of an answer.
    pub limits: Limits,
    /// Items of either sealed part, at most.
    pub most: usize,
    /// The seed of the split.
    pub seed: u64,
}

/// Why a task cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CustomTaskError {
    /// A text is blank.
    #[error("the {0} is blank")]
    Blank(&'static str),
    /// No item has an answer.
    #[error(
        "no item has an `answer`: give one that earns full marks to some items, which then show what \
         answers look like and are not scored on"
    )]
    NoExample,
    /// There are too few items.
    #[error(
        "{found} items without an `answer` are there to score on, and {} are needed at least",
        2 * LEAST
    )]
    TooFew {
        /// How many there are.
        found: usize,
    },
    /// Items are in the raw data.
    #[error(
        "{count} of the items to score on are in the raw data word for word, such as in {}; take them \
         out of one of both, or models learn the answers by heart",
        .places.join(", ")
    )]
    InPool {
        /// How many.
        count: usize,
        /// The first files with such an item.
        places: Vec<String>,
    },
    /// The name leaves no room for those of items.
    #[error("the name of the task is too long for the names of its items")]
    Id(#[from] TaskError),
    /// A file could not be read.
    #[error("failed to read the raw data")]
    Io(#[from] std::io::Error),
    /// The suite could not be written.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

impl CustomTask {
    /// Makes a suite with this task alone in the folder `out`, which appears when it is complete.
    ///
    /// # Errors
    /// [`CustomTaskError`].
    pub fn make(&self, out: &Utf8Path) -> Result<Suite, CustomTaskError> {
        Ok(self.files()?.write(out)?)
    }

    /// Whether the suite was made from the same files and settings.
    ///
    /// # Errors
    /// [`CustomTaskError`].
    pub fn is_of(&self, suite: &Suite) -> Result<bool, CustomTaskError> {
        Ok(self.files()?.are_of(suite)?)
    }

    fn files(&self) -> Result<SuiteFiles, CustomTaskError> {
        let objective = self.objective.trim();
        for (name, text) in [("objective", objective), ("scorer", &self.scorer)] {
            if text.trim().is_empty() {
                return Err(CustomTaskError::Blank(name));
            }
        }
        let shared = Shared { system: objective.to_owned(), scorer: self.scorer.clone() };
        let copies = self.copies()?;
        let parts = self.split()?;
        let sizes = Sizes {
            train: parts[&Part::Train].len(),
            dev: parts[&Part::Dev].len(),
            test: parts[&Part::Test].len(),
        };
        let parts = item_lines(&self.id, with_evidence(parts, &copies)?)?;
        let ground = as_text(&shared) + "\n";
        let hash = blake3::hash(ground.as_bytes()).to_hex().to_string();
        let spec = self.spec(sizes, BTreeMap::from([(format!("{PUBLIC}/{GROUND}"), hash)]));
        let tasks = vec![SuiteEntry::of(&spec)];
        let task = NewTask { spec, page: format!("{objective}\n"), ground: Some(ground), parts };
        Ok(SuiteFiles { request: None, tasks, bytes: task.files(self.seed), copies })
    }

    fn spec(&self, items: Sizes, hashes: BTreeMap<String, String>) -> TaskSpec {
        TaskSpec {
            id: self.id.clone(),
            level: 1,
            world: TaskWorld::Custom,
            kind: TaskKind::Static,
            direction: Direction::Higher,
            failure_score: 0.0,
            objective: self.objective.trim().to_owned(),
            output: "as in the examples".to_owned(),
            limits: self.limits,
            sampling: Sampling { temperature: 0.0 },
            metric: if has_aggregate(&self.scorer) {
                AGGREGATE.to_owned()
            } else {
                format!("mean of the {NAME} scorer")
            },
            threshold: 0.0,
            items,
            forbidden: vec!["sealed".to_owned()],
            source: Source::Folder { hashes },
        }
    }

    /// The files of the raw data, by their paths in the suite.
    fn copies(&self) -> Result<BTreeMap<Utf8PathBuf, Utf8PathBuf>, CustomTaskError> {
        let Some(pool) = &self.pool else { return Ok(BTreeMap::new()) };
        let mut copies = BTreeMap::new();
        for entry in pool.read_dir_utf8()? {
            let folder = entry?.into_path();
            if !folder.is_dir() {
                continue;
            }
            for path in files_below(&folder)? {
                let place = path.strip_prefix(pool).unwrap_or(&path);
                copies.insert(Utf8Path::new(POOL).join(place), path.clone());
            }
        }
        Ok(copies)
    }

    /// The items of each part. Sealed ones are ordered by a keyed hash, so that which part one is in
    /// depends neither on the order of the file nor on how many more there are.
    fn split(&self) -> Result<BTreeMap<Part, Vec<CustomItem>>, CustomTaskError> {
        let is_example = |row: &&CustomRow| row.answer.is_some();
        let (examples, mut sealed): (Vec<_>, Vec<_>) = self.rows.iter().partition(is_example);
        if examples.is_empty() {
            return Err(CustomTaskError::NoExample);
        }
        if sealed.len() < 2 * LEAST {
            return Err(CustomTaskError::TooFew { found: sealed.len() });
        }
        let key = *blake3::hash(format!("worlds {NAME} {}", self.seed).as_bytes()).as_bytes();
        sealed.sort_by_cached_key(|row| {
            let row = serde_json::to_value(row).map(sorted).unwrap_or_default();
            *blake3::keyed_hash(&key, row.to_string().as_bytes()).as_bytes()
        });
        let count = (sealed.len() / 2).min(self.most.max(LEAST));
        let item = |row: &CustomRow| CustomItem {
            prompt: row.prompt.clone(),
            truth: row.truth.clone(),
            answer: row.answer.clone(),
            system: row.system.clone(),
            evidence: None,
        };
        let of = |rows: &[&CustomRow]| rows.iter().copied().map(item).collect::<Vec<_>>();
        Ok(BTreeMap::from([
            (Part::Train, of(&examples)),
            (Part::Dev, of(&sealed[..count])),
            (Part::Test, of(&sealed[count..2 * count])),
        ]))
    }
}

/// The words of a text of JSON or of a prompt, by windows.
fn windows(text: &str) -> HashSet<[u8; 16]> {
    grams::grams(&unescaped(text))
}

/// The words of a prompt.
fn words(item: &CustomItem) -> Vec<String> {
    grams::words(&unescaped(&item.prompt))
}

/// Gives sealed items a window of words by which a copy of them is found: one that neither the raw data
/// nor an example has. Short prompts are common words, and have none.
///
/// # Errors
/// [`CustomTaskError::InPool`] if the raw data has all windows of some.
fn with_evidence(
    mut parts: BTreeMap<Part, Vec<CustomItem>>,
    copies: &BTreeMap<Utf8PathBuf, Utf8PathBuf>,
) -> Result<BTreeMap<Part, Vec<CustomItem>>, CustomTaskError> {
    let sealed: Vec<&CustomItem> = parts
        .iter()
        .filter(|(part, _)| part.is_sealed())
        .flat_map(|(_, items)| items)
        .filter(|item| words(item).len() >= GRAM)
        .collect();
    let wanted: HashSet<[u8; 16]> = sealed.iter().flat_map(|item| windows(&item.prompt)).collect();
    let mut found: BTreeMap<&Utf8Path, HashSet<[u8; 16]>> = BTreeMap::new();
    for (place, path) in copies {
        // What is no text has no words.
        let Ok(text) = String::from_utf8(fs::read(path)?) else { continue };
        let all = text.lines().flat_map(windows);
        found.insert(place, all.filter(|window| wanted.contains(window)).collect());
    }
    let is_in = |item: &CustomItem, found: &HashSet<_>| windows(&item.prompt).is_subset(found);
    let count = sealed.iter().filter(|item| found.values().any(|found| is_in(item, found))).count();
    if count > 0 {
        let has_one = |found: &HashSet<_>| sealed.iter().any(|item| is_in(item, found));
        let with = found.iter().filter(|(_, found)| has_one(found)).take(NAMED);
        let places = with.map(|(place, _)| format!("`{place}`")).collect();
        return Err(CustomTaskError::InPool { count, places });
    }
    let mut public: HashSet<[u8; 16]> = found.into_values().flatten().collect();
    for example in &parts[&Part::Train] {
        public.extend(windows(&format!("{}\n{}", example.prompt, example.truth)));
    }
    let sealed = parts.iter_mut().filter(|(part, _)| part.is_sealed());
    for item in sealed.flat_map(|(_, items)| items) {
        item.evidence = grams::own_window(&unescaped(&item.prompt), &public);
    }
    Ok(parts)
}
