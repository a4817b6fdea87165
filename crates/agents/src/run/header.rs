//! What a run is of: everything that must be equal for a run to go on.

use super::knowledge::KnowledgeFacts;
use super::node::BlobHash;
use super::python::PythonFacts;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::isolation::tier::IsolationLevel;
use jail::limits::{Gpus, RunLimits};
use sandbox::env::{EpisodeConfig, Feedback};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use tasks::metrics::Direction;
use tasks::task::{DataSource, TaskId};
use tasks::units::ByteSize;

/// The version of the journal that this build reads and writes.
pub const JOURNAL_VERSION: u32 = 2;

/// What a run is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHeader {
    /// Version of the format, [`JOURNAL_VERSION`] in this build.
    pub version: u32,
    /// The task.
    pub task: TaskId,
    /// Which way its metric improves.
    pub direction: Direction,
    /// Its public files: a list of paths, sizes and hashes.
    pub public: BlobHash,
    /// Name of the scaffold, as in reports.
    pub scaffold: String,
    /// Its settings, as its preset writes them.
    pub settings: serde_json::Value,
    /// Name of the player.
    pub player: String,
    /// The seed of every draw.
    pub seed: u64,
    /// What the agent is told of the test rows.
    pub feedback: Feedback,
    /// Whether its files are those of a real competition.
    pub data: DataSource,
    /// Limits on each script.
    pub limits: RunLimits,
    /// The most bytes of a submission.
    pub submission_limit: ByteSize,
    /// The protection that scripts ran under.
    pub tier: IsolationLevel,
    /// The Python that scripts run with.
    pub python: PythonFacts,
    /// Pretrained weights in `models/`: a list of paths, sizes and hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<BlobHash>,
    /// What it was given of a knowledge base, for scaffolds that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<KnowledgeFacts>,
    /// Whether people may advise the agent. Left out of files if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guided: bool,
}

impl RunHeader {
    /// The rules of its scripts: feedback, limits, the most bytes of a submission.
    pub fn episode(&self) -> EpisodeConfig {
        EpisodeConfig {
            feedback: self.feedback,
            submission_limit: self.submission_limit,
            policy: self.limits.clone(),
            ..EpisodeConfig::default()
        }
    }

    /// The fields in which `other` differs, with both values. Which GPUs a run has does not
    /// matter, only how many.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let value = |header| serde_json::to_value(header).expect("a header has string keys only");
        let mut same_gpus = self.clone();
        if let (Gpus::Only(one), Gpus::Only(another)) = (&self.limits.gpus, &other.limits.gpus)
            && one.len() == another.len()
        {
            same_gpus.limits.gpus = other.limits.gpus.clone();
        }
        let mut found = Vec::new();
        compare("", &value(&same_gpus), &value(other), &mut found);
        found
    }
}

/// Adds a line for each leaf in which two values differ.
fn compare(
    path: &str,
    one: &serde_json::Value,
    other: &serde_json::Value,
    found: &mut Vec<String>,
) {
    if let (Some(a), Some(b)) = (one.as_object(), other.as_object()) {
        let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let null = serde_json::Value::Null;
            compare(&path, a.get(name).unwrap_or(&null), b.get(name).unwrap_or(&null), found);
        }
    } else if one != other {
        found.push(format!("`{path}` was {one}, is {other}"));
    }
}

/// Bytes of a file that are hashed whole; of a larger one, that many at either end are.
const HASHED: u64 = 8 << 20;

/// The public files of a task, a line each: path, size and hash. Links are not followed.
///
/// # Errors
/// Those of the file system.
pub fn fingerprint(public: &Utf8Path) -> io::Result<String> {
    let mut files = Vec::new();
    collect(public, "".into(), &mut files)?;
    files.sort();
    let mut text = String::new();
    for name in files {
        let mut file = fs::File::open(public.join(&name))?;
        let size = file.metadata()?.len();
        let mut hasher = blake3::Hasher::new();
        if size <= 2 * HASHED {
            io::copy(&mut file, &mut hasher)?;
        } else {
            io::copy(&mut file.by_ref().take(HASHED), &mut hasher)?;
            file.seek(SeekFrom::End(-i64::try_from(HASHED).expect("8 MiB")))?;
            io::copy(&mut file, &mut hasher)?;
        }
        let _ = writeln!(text, "{name}\t{size}\t{}", hasher.finalize().to_hex());
    }
    Ok(text)
}

fn collect(root: &Utf8Path, below: &Utf8Path, files: &mut Vec<Utf8PathBuf>) -> io::Result<()> {
    for entry in root.join(below).read_dir_utf8()? {
        let entry = entry?;
        let name = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(root, &name, files)?;
        } else if kind.is_file() {
            files.push(name);
        }
    }
    Ok(())
}

/// The names in two fingerprints whose lines differ.
pub fn changed_files(one: &str, other: &str) -> Vec<String> {
    let lines =
        |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    let (one, other) = (lines(one), lines(other));
    let mut names: Vec<String> = one
        .symmetric_difference(&other)
        .filter_map(|line| line.split('\t').next().map(str::to_owned))
        .collect();
    names.dedup();
    names
}
