//! What a judge said of a conversation: `verdicts.jsonl` beside its journal, which only grows. Verdicts of
//! people are in the journal itself, those of rules nowhere.

use super::record::{VERDICTS_VERSION, VerdictRecord};
use crate::guide::ids::ConversationId;
use crate::guide::store::folder_of;
use crate::synced_lines::{FolderLock, SyncedLines};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io;

/// Why verdicts of a judge could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JudgedError {
    /// A file could not be read or written.
    #[error("failed to read or write verdicts of a judge")]
    Io(#[from] io::Error),
    /// Another process judges the same conversation.
    #[error("another process judges the conversation `{0}`")]
    Locked(ConversationId),
    /// A line that is no verdict.
    #[error("line {line} of `{path}` is no verdict of version {VERDICTS_VERSION}; remove it")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

fn path_of(store: &Utf8Path, id: &ConversationId) -> Utf8PathBuf {
    folder_of(store, id).join("verdicts.jsonl")
}

/// What a judge said of a conversation, in order; nothing if none was asked. A torn last line is passed
/// over.
///
/// # Errors
/// [`JudgedError`].
pub fn read_judged(
    store: &Utf8Path,
    id: &ConversationId,
) -> Result<Vec<VerdictRecord>, JudgedError> {
    let path = path_of(store, id);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let records = (1..).zip(whole.lines()).map(|(line, text)| {
        let record = serde_json::from_str::<VerdictRecord>(text).and_then(|record| {
            use serde::de::Error as _;
            let known = record.version == VERDICTS_VERSION;
            known.then_some(record).ok_or_else(|| serde_json::Error::custom("another version"))
        });
        record.map_err(|source| JudgedError::Line { path: path.clone(), line, source })
    });
    records.collect()
}

/// Copies what a judge said of a conversation from one store into another.
///
/// # Errors
/// [`JudgedError::Io`].
pub(in crate::guide) fn copy_judged(
    from: &Utf8Path,
    to: &Utf8Path,
    id: &ConversationId,
) -> Result<(), JudgedError> {
    let path = path_of(from, id);
    if path.is_file() {
        fs::copy(path, path_of(to, id))?;
    }
    Ok(())
}

/// The file of a judge, open for more. One process has it at a time.
#[derive(Debug)]
pub struct JudgedFile {
    lines: SyncedLines,
    /// The number of the last line.
    seq: u64,
    /// Held until it is dropped.
    _lock: FolderLock,
}

impl JudgedFile {
    /// Opens that of a conversation, and reads what is there.
    ///
    /// # Errors
    /// [`JudgedError`].
    pub fn open(
        store: &Utf8Path,
        id: &ConversationId,
    ) -> Result<(Self, Vec<VerdictRecord>), JudgedError> {
        let held = FolderLock::take(&folder_of(store, id).join("verdicts.lock"))?;
        let held = held.ok_or_else(|| JudgedError::Locked(id.clone()))?;
        let lines = SyncedLines::open(&path_of(store, id))?;
        let known = read_judged(store, id)?;
        let seq = known.last().map_or(0, |last| last.seq);
        Ok((Self { lines, seq, _lock: held }, known))
    }

    /// Appends verdicts, which get the numbers that follow, and waits until they are on the disk.
    ///
    /// # Errors
    /// [`JudgedError::Io`].
    pub fn append(&mut self, mut records: Vec<VerdictRecord>) -> Result<(), JudgedError> {
        for (seq, record) in (self.seq + 1..).zip(&mut records) {
            record.seq = seq;
        }
        self.lines.append(&records)?;
        self.seq += records.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::event::{TurnPart, Verdict};
    use crate::guide::verdicts::{TrajectoryKey, VerdictSource};
    use tasks::task::TaskId;

    #[test]
    fn verdicts_are_numbered_over_all_starts_and_a_torn_line_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let store = Utf8Path::from_path(folder.path()).unwrap();
        let id: ConversationId = "run".parse().unwrap();
        fs::create_dir_all(folder_of(store, &id)).unwrap();
        assert_eq!(read_judged(store, &id).unwrap(), []);
        let task = TaskId::new("t").unwrap();
        let record = VerdictRecord {
            version: VERDICTS_VERSION,
            trajectory: TrajectoryKey { task, agent: "a".to_owned(), attempt: 0 },
            turn: 0,
            part: TurnPart::Turn,
            verdict: Verdict::Drop,
            by: VerdictSource::Judge("model".to_owned()),
            reason: "It guesses.".to_owned(),
            seq: 0,
        };
        for _ in 0..2 {
            let (mut file, _) = JudgedFile::open(store, &id).unwrap();
            let other = JudgedFile::open(store, &id);
            assert!(matches!(other, Err(JudgedError::Locked(_))));
            file.append(vec![record.clone(), record.clone()]).unwrap();
        }
        let seqs = |known: Vec<VerdictRecord>| known.iter().map(|by| by.seq).collect::<Vec<_>>();
        assert_eq!(seqs(read_judged(store, &id).unwrap()), [1, 2, 3, 4]);
        let path = path_of(store, &id);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 9]).unwrap();
        assert_eq!(seqs(read_judged(store, &id).unwrap()), [1, 2, 3]);
        let (_, known) = JudgedFile::open(store, &id).unwrap();
        assert_eq!(seqs(known), [1, 2, 3]);
        fs::write(&path, "{}\n").unwrap();
        assert!(matches!(read_judged(store, &id), Err(JudgedError::Line { line: 1, .. })));
    }
}
