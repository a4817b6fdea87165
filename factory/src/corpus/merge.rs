//! `factory merge`: the shards of a corpus become the corpus that one run would have made.
//!
//! Nothing is written before all shards are known to fit together. Then the ledger is written,
//! then the tasks, then the record, so that a merge that is cut short can be done again, or
//! finished by `factory generate`.

use crate::corpus::folder::{self, CorpusError, Frame, Record};
use crate::corpus::ledger::{self, AttemptOutcome, Entry};
use crate::corpus::tree;
use crate::spec::shard::Shard;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use tasks::task::{TaskDir, TaskError};

/// Why shards cannot be merged into a corpus.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A folder has no `corpus.json`.
    #[error("`{0}` holds no `corpus.json`; name folders that `factory generate --shard` made")]
    NotACorpus(Utf8PathBuf),
    /// A corpus of its own.
    #[error("`{0}` is a whole corpus, not a shard; only parts made with `--shard` can be merged")]
    NotAShard(Utf8PathBuf),
    /// Two shards were made with different options or versions.
    #[error(
        "`{one}` and `{other}` are not parts of one corpus: `{key}` is {here} in the first and \
         {there} in the second; make them with the same options and the same version"
    )]
    Foreign {
        /// Path of the first shard.
        one: Utf8PathBuf,
        /// Path of the second shard.
        other: Utf8PathBuf,
        /// Name of the option that differs.
        key: &'static str,
        /// Its value in the first shard.
        here: String,
        /// Its value in the second shard.
        there: String,
    },
    /// Twice the same part.
    #[error("`{one}` and `{other}` are both shard {shard}; leave one of them out")]
    Overlap {
        /// Path of the first folder.
        one: Utf8PathBuf,
        /// Path of the second folder.
        other: Utf8PathBuf,
        /// The number of both, as in `1/4`.
        shard: Shard,
    },
    /// Parts that were not given.
    #[error("shards are missing: {}; make them with `factory generate --shard`, or name them", list(.0))]
    Missing(Vec<Shard>),
    /// A part that is not finished.
    #[error(
        "shard {shard} in `{path}` is not finished: slots {} are missing; run its `factory \
         generate --shard {shard}` again", list(.slots)
    )]
    Unfinished {
        /// Path of the unfinished shard.
        path: Utf8PathBuf,
        /// Which one it is.
        shard: Shard,
        /// Slots without a task that have attempts left.
        slots: Vec<u64>,
    },
    /// Lines that belong to another part.
    #[error(
        "shard {shard} in `{path}` holds slots {} that belong to other shards; make it again",
        list(.slots)
    )]
    Strangers {
        /// Path of the faulty shard.
        path: Utf8PathBuf,
        /// Which one it is.
        shard: Shard,
        /// Slots of other shards.
        slots: Vec<u64>,
    },
    /// A task is damaged.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A corpus folder could not be read or written.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A file could not be copied or written.
    #[error("failed to merge; free some space or choose another folder, then merge again")]
    Io(#[from] io::Error),
}

/// One shard that can be merged.
struct MergedShard {
    path: Utf8PathBuf,
    shard: Shard,
    record: Record,
    entries: Vec<Entry>,
}

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Puts the shards in `paths` together in `out`.
///
/// # Errors
/// [`MergeError`].
pub fn merge(out: &Utf8Path, paths: &[Utf8PathBuf]) -> Result<Record, MergeError> {
    let parts = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = parts.first() else { return Err(MergeError::Missing(Vec::new())) };
    let mut places: BTreeMap<Shard, &MergedShard> = BTreeMap::new();
    for part in &parts {
        fits(first, part)?;
        if let Some(other) = places.insert(part.shard, part) {
            let (one, other) = (other.path.clone(), part.path.clone());
            return Err(MergeError::Overlap { one, other, shard: part.shard });
        }
    }
    let missing: Vec<Shard> =
        first.shard.all().filter(|shard| !places.contains_key(shard)).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing(missing));
    }
    parts.iter().try_for_each(finished)?;

    let mut tasks: Vec<(&MergedShard, &str)> = Vec::new();
    for part in &parts {
        let accepted =
            part.entries.iter().filter(|entry| entry.outcome == AttemptOutcome::Accepted);
        tasks.extend(accepted.map(|entry| (part, entry.task.as_str())));
    }
    tasks
        .par_iter()
        .try_for_each(|(part, task)| TaskDir::open(&part.path.join(task))?.check_files())?;

    let mut entries: Vec<Entry> = parts.iter().flat_map(|part| part.entries.clone()).collect();
    entries.sort_by_key(|entry| (entry.slot, entry.attempt));
    let room = folder::enter(out, &first.record.request, None)?;
    ledger::write(out, &entries)?;
    tasks.par_iter().try_for_each(|(part, task)| {
        let (work, place) = (room.work().join(task), out.join(task));
        tree::link(&part.path.join(task), &work)?;
        // Left by a merge that was cut short, or the same task made in place.
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::rename(work, place)
    })?;
    let frame = Frame {
        request: &first.record.request,
        shard: None,
        reserved: first.record.reserved_seeds.clone(),
        notes: first.record.notes.clone(),
    };
    Ok(folder::record(out, frame, &entries)?)
}

fn open(path: &Utf8Path) -> Result<MergedShard, MergeError> {
    let record = folder::read(path)?.ok_or_else(|| MergeError::NotACorpus(path.to_owned()))?;
    let shard = record.shard.ok_or_else(|| MergeError::NotAShard(path.to_owned()))?;
    let entries = ledger::finished_entries(path, |slot| record.request.attempts(slot))?;
    Ok(MergedShard { path: path.to_owned(), shard, record, entries })
}

/// Whether two parts are of one corpus, made by one version.
fn fits(one: &MergedShard, other: &MergedShard) -> Result<(), MergeError> {
    let count = |part: &MergedShard| format!("i/{}", part.shard.count());
    let difference = folder::difference((&one.record.request, None), (&other.record.request, None))
        .or_else(|| (count(one) != count(other)).then(|| ("shard", count(one), count(other))))
        .or_else(|| {
            let version = |part: &MergedShard| {
                format!("{} of corpora, {} of factory", part.record.version, part.record.factory)
            };
            let differ = version(one) != version(other);
            differ.then(|| ("version", version(one), version(other)))
        });
    match difference {
        None => Ok(()),
        Some((key, here, there)) => {
            let (one, other) = (one.path.clone(), other.path.clone());
            Err(MergeError::Foreign { one, other, key, here, there })
        }
    }
}

/// Whether a part has all its slots, and no others.
fn finished(part: &MergedShard) -> Result<(), MergeError> {
    let MergedShard { path, shard, record, entries } = part;
    let found: BTreeSet<u64> = entries.iter().map(|entry| entry.slot).collect();
    let count = record.request.count as u64;
    let mine = |slot: &u64| *slot < count && shard.holds(*slot);
    let strangers: Vec<u64> = found.iter().filter(|slot| !mine(slot)).copied().collect();
    if !strangers.is_empty() {
        return Err(MergeError::Strangers { path: path.clone(), shard: *shard, slots: strangers });
    }
    let slots: Vec<u64> = (0..count).filter(mine).filter(|slot| !found.contains(slot)).collect();
    if slots.is_empty() {
        return Ok(());
    }
    Err(MergeError::Unfinished { path: path.clone(), shard: *shard, slots })
}
