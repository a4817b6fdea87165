//! The corpus folder: who may write to it, and the record of what was asked and made.

use crate::corpus::ledger::{AttemptOutcome, Entry, Stage};
use crate::package::{PackageError, Staged};
use crate::spec::config::Request;
use crate::spec::limits::RoleLimits;
use crate::spec::mix::{Mix, name};
use crate::spec::role_settings::{ModelLimits, RoleSettings};
use crate::spec::shard::Shard;
use crate::verify::Verified;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use tasks::files;
use tasks::prediction::Prediction;
use tasks::task::{Manifest, Split, TaskDir};

/// The version of the corpora that this build makes. It is raised when [`Record`] changes or when
/// the same request gives other bytes: 5 since tasks take over the structure of their seed. Older
/// records are read, but such a corpus cannot be continued.
pub const RECORD_VERSION: u32 = 5;

/// The file of a corpus in which calls of chat models are booked.
pub const CALLS: &str = "calls.jsonl";
/// The folder of a corpus that keeps the answers of chat models.
pub const CACHE: &str = "calls";

/// The content of `corpus.json`: what was requested and what was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of the file's format, [`RECORD_VERSION`] when written.
    pub version: u32,
    /// Version of this software.
    pub factory: String,
    /// The checked options of the command that made the corpus.
    pub request: Request,
    /// The part of the corpus that this is; absent if it is the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Whether every slot is finished.
    pub complete: bool,
    /// Seeds that only held-out tasks descend from.
    pub reserved_seeds: Vec<String>,
    /// What a user should know about the seeds.
    pub notes: Vec<String>,
    /// Attempts by stage and reason.
    pub funnel: Funnel,
    /// Slots without a task after all attempts.
    pub empty_slots: Vec<u64>,
    /// Counts over the accepted tasks, by property and value.
    pub statistics: BTreeMap<String, BTreeMap<String, usize>>,
    /// Tasks that break a property of the corpus as a whole.
    pub faults: Vec<String>,
}

/// Numbers of attempts that came through each stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Funnel {
    /// Number of all attempts, accepted or not.
    pub attempts: usize,
    /// Attempts with a blueprint.
    pub blueprints: usize,
    /// Attempts with tables and a ladder.
    pub developed: usize,
    /// Attempts that became tasks.
    pub accepted: usize,
    /// Refused attempts by reason code.
    pub reasons: BTreeMap<String, usize>,
}

/// Why a corpus folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder could not be read or written.
    #[error(
        "failed to use the corpus folder; check that it is writable and that the disk is not full"
    )]
    Io(#[from] io::Error),
    /// Made with other options.
    #[error(
        "`{out}` holds a corpus made with `{key}` = {found}, not {asked}. \
         Use the same options to continue it, or another `--out`"
    )]
    OtherOptions {
        /// Path of the corpus folder.
        out: Utf8PathBuf,
        /// The first option that differs.
        key: String,
        /// As in the folder.
        found: String,
        /// The value that was requested now.
        asked: String,
    },
    /// Begun by a build that makes other bytes.
    #[error(
        "`{out}` holds a corpus of version {found}, and this build makes version {RECORD_VERSION}. \
         Continue it with the build that began it, or choose another `--out`"
    )]
    OtherVersion {
        /// Path of the corpus folder.
        out: Utf8PathBuf,
        /// The version in its record.
        found: u32,
    },
    /// The folder holds files, but no corpus.
    #[error("`{0}` is not empty and holds no `corpus.json`; choose another `--out`")]
    NotACorpus(Utf8PathBuf),
    /// Nothing to take up.
    #[error("`{0}` holds no corpus to resume; leave `--resume` out to begin one")]
    NothingToResume(Utf8PathBuf),
    /// The record is damaged.
    #[error("failed to read `{path}`; remove it if you mean to begin anew")]
    Damaged {
        /// Path of the damaged record.
        path: Utf8PathBuf,
        /// Where the JSON cannot be parsed.
        #[source]
        source: serde_json::Error,
    },
    /// Another process is at work.
    #[error("another process is writing to `{0}`; wait for it to end")]
    Busy(Utf8PathBuf),
}

/// The right to write to a corpus folder, until dropped.
#[derive(Debug)]
pub struct Room {
    work: Utf8PathBuf,
    // Unlocked by the system when the process ends, however it ends.
    _lock: fs::File,
}

impl Room {
    /// A hidden folder for unfinished tasks.
    pub fn work(&self) -> &Utf8Path {
        &self.work
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = fs::remove_dir_all(&self.work);
    }
}

/// The record of a folder that a corpus may be made in, without changing anything; `None` if the
/// folder is missing or holds nothing but the calls of models.
///
/// # Errors
/// [`CorpusError`].
pub fn usable(out: &Utf8Path) -> Result<Option<Record>, CorpusError> {
    if let Some(record) = read(out)? {
        if record.version != RECORD_VERSION {
            return Err(CorpusError::OtherVersion { out: out.to_owned(), found: record.version });
        }
        return Ok(Some(record));
    }
    if out.exists() {
        for entry in out.read_dir_utf8()? {
            let entry = entry?;
            let name = entry.file_name();
            if !name.starts_with('.') && name != CALLS && name != CACHE {
                return Err(CorpusError::NotACorpus(out.to_owned()));
            }
        }
    }
    Ok(None)
}

/// Enters a corpus folder: a new one, or one made with the same request.
///
/// # Errors
/// [`CorpusError`].
pub fn enter(out: &Utf8Path, request: &Request, shard: Option<Shard>) -> Result<Room, CorpusError> {
    fs::create_dir_all(out)?;
    let lock = fs::OpenOptions::new().create(true).append(true).open(out.join(".lock"))?;
    if lock.file().try_lock().is_err() {
        return Err(CorpusError::Busy(out.to_owned()));
    }
    // This process holds the lock, so the process that wrote them has ended.
    files::remove_leftovers(out)?;
    match usable(out)? {
        Some(record) => compare(out, (&record.request, record.shard), (request, shard))?,
        None => files::write_json(&out.join("corpus.json"), &blank(request, shard))?,
    }
    let work = out.join(".work");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    Ok(Room { work, _lock: lock })
}

/// The record of the corpus in `out`, if there is one.
///
/// # Errors
/// [`CorpusError`] if it is unreadable.
pub fn read(out: &Utf8Path) -> Result<Option<Record>, CorpusError> {
    let path = out.join("corpus.json");
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|source| CorpusError::Damaged { path, source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What of a corpus is known without its tasks and its ledger.
#[derive(Debug, Clone)]
pub struct Frame<'a> {
    /// The checked options of the command that makes the corpus.
    pub request: &'a Request,
    /// The part of it that is made here.
    pub shard: Option<Shard>,
    /// Seeds that only held-out tasks descend from.
    pub reserved: Vec<String>,
    /// What a user should know about the seeds.
    pub notes: Vec<String>,
}

impl Frame<'_> {
    /// The slots that belong here.
    pub fn slots(&self) -> impl Iterator<Item = u64> {
        let shard = self.shard;
        (0..self.request.count as u64)
            .filter(move |slot| shard.is_none_or(|part| part.holds(*slot)))
    }
}

/// Writes the record of what was asked and made; entries come by slot and attempt.
///
/// # Errors
/// [`CorpusError::Io`].
pub fn record(out: &Utf8Path, frame: Frame<'_>, entries: &[Entry]) -> Result<Record, CorpusError> {
    let finished: BTreeSet<u64> = entries.iter().map(|entry| entry.slot).collect();
    let accepted: BTreeMap<u64, &str> = entries
        .iter()
        .filter(|entry| entry.outcome == AttemptOutcome::Accepted)
        .map(|entry| (entry.slot, entry.task.as_str()))
        .collect();
    let mut record = blank(frame.request, frame.shard);
    record.complete = frame.slots().all(|slot| finished.contains(&slot));
    record.reserved_seeds = frame.reserved;
    record.notes = frame.notes;
    record.empty_slots =
        finished.iter().filter(|slot| !accepted.contains_key(slot)).copied().collect();
    record.funnel = funnel(entries);

    let mut hashes: BTreeMap<String, String> = BTreeMap::new();
    let mut stories: BTreeMap<String, Split> = BTreeMap::new();
    for place in accepted.into_values() {
        let Ok(task) = TaskDir::open(&out.join(place)) else {
            record.faults.push(format!("`{place}` does not open"));
            continue;
        };
        let manifest = task.manifest();
        let text = |key: &str| manifest.provenance[key].as_str().unwrap_or_default().to_owned();
        let mut count = |property: &str, value: String| {
            *record.statistics.entry(property.to_owned()).or_default().entry(value).or_default() +=
                1;
        };
        count("split", name(&manifest.split));
        count("modality", name(&manifest.modality));
        count("formulation", name(&manifest.formulation));
        count("cell", format!("{}/{}", name(&manifest.modality), name(&manifest.formulation)));
        count("domain", manifest.domain.clone());
        count("metric", manifest.metric.to_string());
        count("seed", manifest.seed_task.clone());
        count("family", family(manifest).to_owned());
        if let Some(mutations) = manifest.provenance["mutations"].as_array() {
            for mutation in mutations {
                count("mutation", mutation["kind"].as_str().unwrap_or_default().to_owned());
            }
        }
        if let Some(other) = hashes.insert(text("rule_hash"), place.to_owned()) {
            record.faults.push(format!("`{place}` and `{other}` share a rule"));
        }
        let split = *stories.entry(text("scenario")).or_insert(manifest.split);
        if split != manifest.split {
            record.faults.push(format!("`{place}` shares its story with the other split"));
        }
    }
    files::write_json(&out.join("corpus.json"), &record)?;
    Ok(record)
}

/// The mechanism that a task's rule is built around; scenes and challenges have rules of their own
/// kind.
pub(crate) fn family(manifest: &Manifest) -> &str {
    let own = match manifest.prediction {
        Prediction::Text { .. } | Prediction::Ids { .. } => "challenge",
        _ => "scene",
    };
    manifest.provenance["family"].as_str().unwrap_or(own)
}

/// Moves a verified task into the corpus: one rename, so it is there wholly or not at all.
///
/// # Errors
/// [`PackageError`].
pub fn publish(task: &Verified<Staged>, out: &Utf8Path) -> Result<Utf8PathBuf, PackageError> {
    let staged = task.get();
    let place = out.join(staged.dir.id().as_str());
    fs::rename(staged.dir.path(), &place)?;
    Ok(place)
}

fn funnel(entries: &[Entry]) -> Funnel {
    let mut funnel = Funnel { attempts: entries.len(), ..Funnel::default() };
    for entry in entries {
        funnel.blueprints += usize::from(entry.stage > Stage::Strategy);
        funnel.developed += usize::from(entry.stage > Stage::Development);
        funnel.accepted += usize::from(entry.outcome == AttemptOutcome::Accepted);
        if let Some(reason) = &entry.reason {
            *funnel.reasons.entry(reason.clone()).or_default() += 1;
        }
    }
    funnel
}

fn blank(request: &Request, shard: Option<Shard>) -> Record {
    Record {
        version: RECORD_VERSION,
        factory: env!("CARGO_PKG_VERSION").to_owned(),
        request: request.clone(),
        shard,
        complete: false,
        reserved_seeds: Vec::new(),
        notes: Vec::new(),
        funnel: Funnel::default(),
        empty_slots: Vec::new(),
        statistics: BTreeMap::new(),
        faults: Vec::new(),
    }
}

fn roles(settings: &RoleSettings) -> String {
    let RoleSettings { mode, share, effort, limits, .. } = settings;
    let RoleSettings { strategist, developer, operator, writer, judge, .. } = settings;
    let ModelLimits { attempts, repairs, calls_per_slot, tokens_per_slot } = limits;
    let model = |model: &Option<String>| model.clone().unwrap_or_else(|| "builtin".to_owned());
    let [strategist, developer, operator, writer] =
        [strategist, developer, operator, writer].map(model);
    let judge = judge.as_deref().unwrap_or("none");
    let effort = effort.map_or("usual", |effort| effort.name());
    format!(
        "{mode} (strategist {strategist}, developer {developer}, operator {operator}, writer \
         {writer}, judge {judge}, share {share}, effort {effort}, limits {attempts}, {repairs}, \
         {calls_per_slot}, {tokens_per_slot})"
    )
}

/// Limits as one line.
fn limits(limits: &RoleLimits) -> String {
    let RoleLimits { attempts, strategist, developer, operator, writer } = *limits;
    format!(
        "attempts={attempts},strategist={strategist},developer={developer},operator={operator},\
         writer={writer}"
    )
}

/// Shares as one line.
fn mix(mix: &Mix) -> String {
    let cells = mix.cells.iter().map(|(cell, share)| format!("{cell}={share:.4}"));
    let domains = mix.domains.iter().map(|(domain, share)| format!("{domain}={share:.4}"));
    cells.chain(domains).collect::<Vec<_>>().join(",")
}

/// Refuses to continue a corpus with another request, naming the first option that differs.
fn compare(
    out: &Utf8Path,
    found: (&Request, Option<Shard>),
    asked: (&Request, Option<Shard>),
) -> Result<(), CorpusError> {
    if let Some((key, found, asked)) = difference(found, asked) {
        let (out, key) = (out.to_owned(), key.to_owned());
        return Err(CorpusError::OtherOptions { out, key, found, asked });
    }
    Ok(())
}

/// The first option that differs between two corpora, and its values there.
pub fn difference(
    one: (&Request, Option<Shard>),
    other: (&Request, Option<Shard>),
) -> Option<(&'static str, String, String)> {
    let fields = |(request, shard): (&Request, Option<Shard>)| {
        [
            ("seed", request.seed.to_string()),
            ("count", request.count.to_string()),
            ("val-count", request.val_count.to_string()),
            ("preset", name(&request.preset)),
            ("level", request.levels.to_string()),
            ("limits of the roles", limits(&request.limits)),
            ("roles", roles(&request.roles)),
            ("modality, formulation and shares", mix(&request.mix)),
            ("seeds", request.seeds.clone()),
            ("contents of the seeds", request.seeds_fingerprint.clone()),
            ("shard", shard.map_or("none".to_owned(), |shard| shard.to_string())),
        ]
    };
    let pairs = fields(one).into_iter().zip(fields(other));
    pairs.map(|((key, one), (_, other))| (key, one, other)).find(|(_, one, other)| one != other)
}
