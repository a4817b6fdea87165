//! Sealed items in what is trained on: texts are searched for windows of 13 words of dev and test items
//! that no public file has.
//!
//! A window is the evidence of an item (`worlds::Environment::evidence`): it names its parameters and not
//! only its template, and neither the public half of its task nor the pool of its suite has it. Finding
//! one does not say how it came there: somebody who draws from the same template may draw it again.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Read as _};
use tasks::files;
use tasks::task::TaskId;
use worlds::grams::{GramIndex, unescaped};
use worlds::{FolderError, TaskFolder};

/// Bytes of a file that are read.
const FILE: u64 = 256 << 20;
/// Bytes that are read in all.
const TOTAL: u64 = 1 << 30;
/// Bytes in which a file of another kind than text shows that it is.
const HEAD: usize = 8 << 10;
/// The file in the sealed folder of a run.
const SCAN: &str = "contamination.json";
/// Findings that are told.
const MOST: usize = 1_000;

/// The sealed items of tasks, by what betrays them.
#[derive(Debug)]
pub struct SealedTexts(GramIndex<TaskId>);

/// A sealed item in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contamination {
    /// The file.
    pub file: Utf8PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// The item.
    pub item: TaskId,
}

impl fmt::Display for Contamination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, item } = self;
        write!(f, "{file}:{line}: has the sealed item `{item}`")
    }
}

/// What a search came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContaminationScan {
    /// Files that were read.
    pub files: usize,
    /// What was found, by file and line; at most 1,000.
    pub found: Vec<Contamination>,
    /// Files that were not read because they are too large.
    pub left_out: Vec<Utf8PathBuf>,
}

impl ContaminationScan {
    /// What a run came to, from its sealed folder; none if its texts were not searched.
    ///
    /// # Errors
    /// An I/O error naming the file, also of another form.
    pub fn read(sealed: &Utf8Path) -> io::Result<Option<Self>> {
        let path = sealed.join(SCAN);
        if !path.is_file() {
            return Ok(None);
        }
        let scan = serde_json::from_slice(&fs::read(&path)?);
        scan.map(Some).map_err(|error| io::Error::other(format!("`{path}`: {error}")))
    }

    /// Keeps it in the sealed folder of a run.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn write(&self, sealed: &Utf8Path) -> io::Result<()> {
        files::write_json(&sealed.join(SCAN), self)
    }
}

impl SealedTexts {
    /// The dev and test items of tasks, by what their public halves have not.
    ///
    /// # Errors
    /// [`FolderError`] if a half cannot be read.
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a TaskFolder>) -> Result<Self, FolderError> {
        let mut index = GramIndex::default();
        for task in tasks {
            let sealed = task.sealed()?;
            for part in [sealed.dev()?, sealed.test()?] {
                for item in part.items() {
                    if let Some(evidence) = part.evidence(item) {
                        index.insert(&unescaped(&evidence), item);
                    }
                }
            }
            // A short instruction is the beginning of a public one that asks for more.
            for path in files::files_below(&task.public())? {
                index.forget(&unescaped(&fs::read_to_string(path)?));
            }
        }
        Ok(Self(index))
    }

    /// Searches files, and all files in folders. Links are not followed; what is no text is passed over.
    /// Paths in the answer are below `root`.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub fn scan(&self, root: &Utf8Path, paths: &[Utf8PathBuf]) -> io::Result<ContaminationScan> {
        let mut scan = ContaminationScan::default();
        let mut bytes = 0;
        let mut waiting: Vec<Utf8PathBuf> = paths.to_vec();
        while let Some(path) = waiting.pop() {
            let facts = fs::symlink_metadata(&path)?;
            if facts.is_dir() {
                for entry in path.read_dir_utf8()? {
                    waiting.push(entry?.into_path());
                }
                continue;
            }
            if !facts.is_file() {
                continue;
            }
            let file = path.strip_prefix(root).unwrap_or(&path).to_owned();
            if !is_text(&path)? {
                continue;
            }
            if facts.len() > FILE || bytes + facts.len() > TOTAL {
                scan.left_out.push(file);
                continue;
            }
            bytes += facts.len();
            scan.files += 1;
            let text = unescaped(&String::from_utf8_lossy(&fs::read(&path)?));
            let found = self.0.find(&text).into_iter();
            scan.found.extend(found.map(|(line, item)| Contamination {
                file: file.clone(),
                line,
                item: item.clone(),
            }));
        }
        scan.found.sort();
        scan.found.truncate(MOST);
        scan.left_out.sort();
        Ok(scan)
    }
}

/// Whether a file begins as texts do.
fn is_text(path: &Utf8Path) -> io::Result<bool> {
    let mut head = Vec::new();
    fs::File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(!head.contains(&0))
}
