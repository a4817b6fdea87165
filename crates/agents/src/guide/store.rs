//! Many conversations in one folder, each with its journal.
//!
//! ```text
//! <store>/guide.toml                           version and settings
//! <store>/annotators.toml                      who may do what (read by the server)
//! <store>/conversations/<id>/journal.jsonl     events, in order
//! <store>/blobs/<hash>                         texts above 4 KiB, once each
//! <store>/lock                                 held while a process works on the store
//! ```
//!
//! Every event is on the disk before anything is answered. One process works on a store at a time, with
//! any number of threads. It keeps the last turns of each conversation in memory, and reads older ones
//! from the journal.

use super::concern::LOOKED_AT;
use super::conversation::{Conversation, Headline};
use super::error::{GuideError, StoreError};
use super::event::{Event, EventLine, GUIDE_VERSION};
use super::ids::ConversationId;
use super::settings::StoreSettings;
use super::turn::StoredTurn;
use crate::run::journal::Blobs;
use crate::synced_lines::{FolderLock, SyncedLines};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Turns of a conversation that goes on which stay in memory; up to twice as many do.
const RECENT: usize = 16;
const _: () = assert!(RECENT >= LOOKED_AT, "headlines are made of turns in memory");

/// Is told of every conversation that has changed, once that is on the disk.
type Observer = Box<dyn Fn(&ConversationId) + Send + Sync>;

/// Conversations on disk.
pub struct Store {
    folder: Utf8PathBuf,
    pub(super) blobs: Blobs,
    pub(super) settings: StoreSettings,
    conversations: RwLock<BTreeMap<ConversationId, Arc<Mutex<Kept>>>>,
    observer: OnceLock<Observer>,
    /// Held until the store is dropped.
    _lock: FolderLock,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// A conversation, and what is known of it beside its journal.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) conversation: Conversation,
    /// Where each line ends, in bytes.
    ends: Vec<u64>,
    /// The `seq` of each turn.
    turns: Vec<u64>,
    /// Open once something was appended.
    lines: Option<SyncedLines>,
    /// When the agent was last heard of, or the store was opened.
    pub(super) heard: Instant,
    /// When the hold began, or the store was opened.
    pub(super) held: Instant,
}

impl Kept {
    /// A conversation whose turns have these `seq`, and whose lines end there.
    fn new(conversation: Conversation, turns: Vec<u64>, ends: Vec<u64>) -> Self {
        let (heard, held) = (Instant::now(), Instant::now());
        let mut kept = Self { conversation, ends, turns, lines: None, heard, held };
        kept.forget_turns();
        kept
    }

    /// Where the lines after number `from` stand in the journal, at most `most` of them.
    fn bytes_of(&self, from: u64, most: usize) -> Range<u64> {
        let first = usize::try_from(from).unwrap_or(usize::MAX).min(self.ends.len());
        let last = first.saturating_add(most).min(self.ends.len());
        let before = |line: usize| line.checked_sub(1).map_or(0, |line| self.ends[line]);
        before(first)..before(last)
    }

    /// Where the turns from `from` to before `to` stand in the journal, with the lines between them.
    fn bytes_of_turns(&self, from: u32, to: u32) -> Range<u64> {
        let turns = &self.turns[from as usize..self.turns.len().min(to as usize)];
        let (Some(first), Some(last)) = (turns.first(), turns.last()) else { return 0..0 };
        let count = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
        self.bytes_of(first - 1, count)
    }

    /// Drops older turns from memory; they stay in the journal.
    fn forget_turns(&mut self) {
        let is_over = self.conversation.end.is_some();
        self.conversation.turns.forget_all_but(if is_over { 1 } else { RECENT });
    }
}

/// The `seq` of each turn.
fn turns_in(lines: &[EventLine]) -> Vec<u64> {
    let turns = lines.iter().filter(|line| matches!(line.event, Event::Turn(_)));
    turns.map(|line| line.seq).collect()
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn conversations_of(store: &Utf8Path) -> Utf8PathBuf {
    store.join("conversations")
}

/// The folder of one conversation.
pub(super) fn folder_of(store: &Utf8Path, id: &ConversationId) -> Utf8PathBuf {
    conversations_of(store).join(id.as_str())
}

fn journal_of(store: &Utf8Path, id: &ConversationId) -> Utf8PathBuf {
    folder_of(store, id).join("journal.jsonl")
}

/// The lines of a journal and where each ends; a torn last line is passed over.
fn read_lines(path: &Utf8Path) -> Result<(Vec<EventLine>, Vec<u64>), StoreError> {
    let text = fs::read(path)?;
    let (mut lines, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(length) = text[at..].iter().position(|&byte| byte == b'\n') {
        let line = &text[at..at + length];
        let number = lines.len() + 1;
        if let Ok(value) = serde_json::from_slice::<serde_json::Value>(line)
            && let Some(found) = value.get("version").and_then(serde_json::Value::as_u64)
            && found != u64::from(GUIDE_VERSION)
        {
            return Err(StoreError::Version { path: path.to_owned(), found });
        }
        let parsed = serde_json::from_slice(line).map_err(|source| StoreError::Line {
            path: path.to_owned(),
            line: number,
            source,
        })?;
        lines.push(parsed);
        at += length + 1;
        ends.push(at as u64);
    }
    Ok((lines, ends))
}

/// Names of the conversations of a store that another process may be at work on, in order.
///
/// # Errors
/// [`StoreError::Io`] if it is no store.
pub fn list_conversations(store: &Utf8Path) -> Result<Vec<ConversationId>, StoreError> {
    let mut found = Vec::new();
    for entry in conversations_of(store).read_dir_utf8()? {
        let id = entry?.file_name().parse::<ConversationId>();
        // One that has no line yet is still being opened.
        found.extend(id.ok().filter(|id| {
            fs::metadata(journal_of(store, id)).is_ok_and(|journal| journal.len() > 0)
        }));
    }
    found.sort();
    Ok(found)
}

/// Reads one conversation of a store that another process may be at work on.
///
/// # Errors
/// [`StoreError`]; [`StoreError::Unknown`] if it has no conversation of that name.
pub fn read_conversation(
    store: &Utf8Path,
    id: &ConversationId,
) -> Result<(Conversation, Blobs), StoreError> {
    let conversation = Conversation::fold_at(store, id, read_journal(store, id)?)?;
    Ok((conversation, Blobs::new(store)))
}

/// The lines of a journal in a store that another process may be at work on; at least one.
///
/// # Errors
/// [`StoreError`]; [`StoreError::Unknown`] if there is no conversation of that name.
pub(super) fn read_journal(
    store: &Utf8Path,
    id: &ConversationId,
) -> Result<Vec<EventLine>, StoreError> {
    let path = journal_of(store, id);
    let lines = if path.is_file() { read_lines(&path)?.0 } else { Vec::new() };
    if lines.is_empty() {
        return Err(StoreError::Unknown { store: store.to_owned(), id: id.clone() });
    }
    Ok(lines)
}

impl Conversation {
    /// Folds the lines of the journal of `id` in the store in a folder.
    ///
    /// # Errors
    /// [`StoreError::Order`], and [`StoreError::Unknown`] without lines.
    pub(super) fn fold_at(
        store: &Utf8Path,
        id: &ConversationId,
        lines: Vec<EventLine>,
    ) -> Result<Self, StoreError> {
        let path = journal_of(store, id);
        let folded = Self::fold(id, lines);
        let folded = folded.map_err(|(line, why)| StoreError::Order { path, line, why })?;
        folded.ok_or_else(|| StoreError::Unknown { store: store.to_owned(), id: id.clone() })
    }
}

impl Store {
    /// Opens the store in `folder`, which is made if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(folder: &Utf8Path) -> Result<Self, StoreError> {
        fs::create_dir_all(conversations_of(folder))?;
        let held = FolderLock::take(&folder.join("lock"))?;
        let held = held.ok_or_else(|| StoreError::Locked(folder.to_owned()))?;
        let settings = StoreSettings::of(folder)?;
        let mut conversations = BTreeMap::new();
        for entry in conversations_of(folder).read_dir_utf8()? {
            let entry = entry?;
            let Ok(id) = entry.file_name().parse::<ConversationId>() else {
                return Err(StoreError::Stranger(entry.path().to_owned()));
            };
            let path = journal_of(folder, &id);
            if !path.is_file() {
                continue;
            }
            tasks::files::remove_torn_line(&path)?;
            let (lines, ends) = read_lines(&path)?;
            let turns = turns_in(&lines);
            let folded = Conversation::fold(&id, lines);
            let folded = folded.map_err(|(line, why)| StoreError::Order { path, line, why })?;
            // A process was killed before it had written the first line.
            let Some(conversation) = folded else { continue };
            let kept = Kept::new(conversation, turns, ends);
            conversations.insert(id, Arc::new(Mutex::new(kept)));
        }
        let store = Self {
            folder: folder.to_owned(),
            blobs: Blobs::new(folder),
            settings,
            conversations: RwLock::new(conversations),
            observer: OnceLock::new(),
            _lock: held,
        };
        store.settle()?;
        Ok(store)
    }

    /// Notes as late what a process that was killed amid the end of a run had no time to note.
    fn settle(&self) -> Result<(), StoreError> {
        for kept in self.all() {
            let mut kept = kept_of(&kept);
            let pending = kept.conversation.guidance.values().filter(|piece| piece.is_pending());
            let ids: Vec<_> = pending.map(|piece| piece.id.clone()).collect();
            if kept.conversation.end.is_some() && !ids.is_empty() {
                self.append(&mut kept, None, vec![Event::Late { ids }])
                    .map_err(|error| StoreError::Io(io::Error::other(error)))?;
            }
        }
        Ok(())
    }

    /// Where it is.
    pub fn folder(&self) -> &Utf8Path {
        &self.folder
    }

    /// Texts above 4 KiB.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Has `observer` told of every conversation that changes. The first call counts.
    pub fn observe(&self, observer: impl Fn(&ConversationId) + Send + Sync + 'static) {
        let _ = self.observer.set(Box::new(observer));
    }

    /// A line for each conversation, by name.
    pub fn headlines(&self) -> Vec<Headline> {
        let all = self.all();
        all.iter().map(|kept| kept_of(kept).conversation.headline()).collect()
    }

    /// What `read` makes of a conversation, of which older turns are not in memory ([`Self::turns`]). It is
    /// locked meanwhile.
    ///
    /// # Errors
    /// [`GuideError::Unknown`].
    pub fn read<T>(
        &self,
        id: &ConversationId,
        read: impl FnOnce(&Conversation) -> T,
    ) -> Result<T, GuideError> {
        Ok(read(&kept_of(&*self.find(id)?).conversation))
    }

    /// The turns of a conversation from `from` to before `to`, as far as there are any.
    ///
    /// # Errors
    /// [`GuideError::Unknown`] and [`GuideError::Io`].
    pub fn turns(
        &self,
        id: &ConversationId,
        from: u32,
        to: u32,
    ) -> Result<Vec<StoredTurn>, GuideError> {
        let bytes = {
            let kept = self.find(id)?;
            let kept = kept_of(&kept);
            if let Some(turns) = kept.conversation.turns.range(from, to) {
                return Ok(turns.to_vec());
            }
            kept.bytes_of_turns(from, to)
        };
        // Without the lock: they may be many, and turns never change.
        self.read_turns(id, bytes)
    }

    /// The same of a conversation that is locked.
    pub(super) fn turns_of(
        &self,
        kept: &Kept,
        from: u32,
        to: u32,
    ) -> Result<Vec<StoredTurn>, GuideError> {
        match kept.conversation.turns.range(from, to) {
            Some(turns) => Ok(turns.to_vec()),
            None => self.read_turns(&kept.conversation.id, kept.bytes_of_turns(from, to)),
        }
    }

    /// The turns in a part of a journal.
    fn read_turns(
        &self,
        id: &ConversationId,
        bytes: Range<u64>,
    ) -> Result<Vec<StoredTurn>, GuideError> {
        let mut turns = Vec::new();
        for line in self.journal_text(id, bytes)?.lines() {
            let line: EventLine = serde_json::from_str(line).map_err(io::Error::from)?;
            if let Event::Turn(turn) = line.event {
                turns.push(*turn);
            }
        }
        Ok(turns)
    }

    /// A part of a journal.
    fn journal_text(&self, id: &ConversationId, bytes: Range<u64>) -> io::Result<String> {
        let mut file = fs::File::open(journal_of(&self.folder, id))?;
        file.seek(SeekFrom::Start(bytes.start))?;
        let mut read = Vec::new();
        file.take(bytes.end - bytes.start).read_to_end(&mut read)?;
        String::from_utf8(read).map_err(io::Error::other)
    }

    /// Lines of a journal as they are on disk, those after number `from`, at most `most`.
    ///
    /// # Errors
    /// [`GuideError::Unknown`] and [`GuideError::Io`].
    pub fn lines(
        &self,
        id: &ConversationId,
        from: u64,
        most: usize,
    ) -> Result<Vec<(u64, String)>, GuideError> {
        let bytes = kept_of(&*self.find(id)?).bytes_of(from, most);
        let text = self.journal_text(id, bytes)?;
        Ok((from + 1..).zip(text.lines().map(str::to_owned)).collect())
    }

    pub(super) fn all(&self) -> Vec<Arc<Mutex<Kept>>> {
        let all = self.conversations.read().unwrap_or_else(PoisonError::into_inner);
        all.values().cloned().collect()
    }

    pub(super) fn find(&self, id: &ConversationId) -> Result<Arc<Mutex<Kept>>, GuideError> {
        let all = self.conversations.read().unwrap_or_else(PoisonError::into_inner);
        all.get(id).cloned().ok_or_else(|| GuideError::Unknown(id.clone()))
    }

    /// The conversation `id`, or a new one that begins with `event`; and whether it is new.
    pub(super) fn find_or_begin(
        &self,
        id: &ConversationId,
        event: impl FnOnce() -> io::Result<Event>,
    ) -> Result<(Arc<Mutex<Kept>>, bool), GuideError> {
        self.find_or_begin_at(id, || {
            Ok(EventLine { version: GUIDE_VERSION, seq: 1, at: now(), by: None, event: event()? })
        })
    }

    fn find_or_begin_at(
        &self,
        id: &ConversationId,
        line: impl FnOnce() -> io::Result<EventLine>,
    ) -> Result<(Arc<Mutex<Kept>>, bool), GuideError> {
        let mut all = self.conversations.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.get(id) {
            return Ok((Arc::clone(kept), false));
        }
        let path = journal_of(&self.folder, id);
        let folder = path.parent().unwrap_or(&self.folder).to_owned();
        fs::create_dir_all(&folder)?;
        let line = line()?;
        let mut lines = SyncedLines::open(&path)?;
        let ends = lines.append(std::slice::from_ref(&line))?;
        // The names of the file and of its folder, too.
        for folder in [folder.as_path(), &conversations_of(&self.folder)] {
            fs::File::open(folder)?.sync_all()?;
        }
        let conversation =
            Conversation::begin(id.clone(), line).map_err(GuideError::Contradiction)?;
        let kept = Kept { lines: Some(lines), ..Kept::new(conversation, Vec::new(), ends) };
        let kept = Arc::new(Mutex::new(kept));
        all.insert(id.clone(), Arc::clone(&kept));
        drop(all);
        self.tell(id);
        Ok((kept, true))
    }

    /// Appends events, all of them or none, and takes them up.
    pub(super) fn append(
        &self,
        kept: &mut Kept,
        by: Option<&str>,
        events: Vec<Event>,
    ) -> Result<(), GuideError> {
        let first = kept.conversation.seq + 1;
        let at = now();
        let lines = (first..).zip(events).map(|(seq, event)| {
            let by = by.map(str::to_owned);
            EventLine { version: GUIDE_VERSION, seq, at, by, event }
        });
        self.append_lines(kept, lines.collect())
    }

    /// Appends a line of another journal as it is. The first one begins the conversation.
    pub(super) fn append_recorded(
        &self,
        id: &ConversationId,
        line: EventLine,
    ) -> Result<(), GuideError> {
        if line.seq == 1 {
            return self.find_or_begin_at(id, || Ok(line)).map(|_| ());
        }
        let kept = self.find(id)?;
        self.append_lines(&mut kept_of(&kept), vec![line])
    }

    fn append_lines(&self, kept: &mut Kept, lines: Vec<EventLine>) -> Result<(), GuideError> {
        if lines.is_empty() {
            return Ok(());
        }
        let id = kept.conversation.id.clone();
        let mut file = match kept.lines.take() {
            Some(file) => file,
            None => SyncedLines::open(&journal_of(&self.folder, &id))?,
        };
        let appended = file.append(&lines);
        kept.lines = Some(file);
        kept.ends.extend(appended?);
        kept.turns.extend(turns_in(&lines));
        for line in lines {
            kept.conversation.apply(line).map_err(GuideError::Contradiction)?;
        }
        kept.forget_turns();
        if kept.conversation.end.is_some() {
            // There may be thousands of ended ones, and few open files.
            kept.lines = None;
        }
        self.tell(&id);
        Ok(())
    }

    fn tell(&self, id: &ConversationId) {
        if let Some(observer) = self.observer.get() {
            observer(id);
        }
    }
}

pub(super) fn kept_of(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
