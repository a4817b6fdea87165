//! The store of recorded replies, shared by the threads of a run.

use super::file::{AnswerFile, MachineFacts, ScriptCacheError};
use super::key::Key;
use crate::play::{Closed, Reply};
use crate::reward::Reward;
use crate::trajectory::TurnRecord;
use camino::Utf8Path;
use jail::exec::{Outcome, Sandbox};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most that a cache holds: 256 MiB, about half a million short replies.
const MOST_BYTES: u64 = 256 << 20;
/// One recorded reply in so many is compared with a real run.
const CHECK_ONE_IN: u64 = 50;
/// What an entry takes besides its texts: the key, the fixed part of the answer, its place in a
/// table. An estimate from above.
const ENTRY_BYTES: u64 = 400;

/// Recorded replies and grades, by the task, the rules and the turns that they follow from.
///
/// At most 256 MiB are held. Entries are kept in two halves: once the newer half is full, it becomes
/// the older one, whose entries are dropped unless they were asked for since then.
///
/// If several episodes ask for the same new reply at once, one of them runs the script and the others
/// wait for its reply.
#[derive(Debug)]
pub struct ScriptCache {
    most_bytes: u64,
    check_one_in: u64,
    state: Mutex<CacheState>,
    /// Is notified when a key leaves `running`.
    released: Condvar,
}

/// What a cache was used for, since it was made or last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScriptCacheUse {
    /// Scripts that agents asked for.
    pub scripts: u64,
    /// Those among them that were answered from the cache.
    pub cached: u64,
    /// Recorded replies that were drawn to be compared with a real run.
    pub checks: u64,
    /// Real runs whose reply, outcome or reward was another than the recorded one.
    pub mismatches: u64,
}

impl ScriptCacheUse {
    /// Share of scripts that were answered from the cache, in [0, 1]; 0 without scripts.
    pub fn share(&self) -> f64 {
        self.cached as f64 / self.scripts.max(1) as f64
    }
}

#[derive(Debug, Default)]
struct CacheState {
    newer: HashMap<Key, CacheEntry>,
    newer_bytes: u64,
    older: HashMap<Key, CacheEntry>,
    /// Keys whose answer is being found by a real run.
    running: HashSet<Key>,
    counts: ScriptCacheUse,
    /// Where answers are kept for other runs.
    file: Option<AnswerFile>,
}

#[derive(Debug)]
struct CacheEntry {
    answer: Answer,
    bytes: u64,
    /// How often it was asked for.
    hits: u64,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// The reply to the last turn, with its record.
    Turn(Reply, TurnRecord),
    /// The result of the episode; its turns are left out.
    Closed(Box<Closed>),
    /// Two runs differed, or may differ: nothing is recorded.
    Varies,
}

/// What a cache says of a key.
#[derive(Debug)]
pub(super) enum Lookup<'c> {
    /// A recorded answer.
    Known {
        answer: Answer,
        /// Whether it is to be compared with a real run.
        is_drawn: bool,
    },
    /// Nothing is known; a real run is to find the answer and hand it over.
    Unknown(Claim<'c>),
    /// A real run is to find the answer, which is not recorded.
    Varies,
}

/// The right to find the answer of a key. Others who ask for it wait until this is dropped.
#[derive(Debug)]
pub(super) struct Claim<'c> {
    cache: &'c ScriptCache,
    key: Key,
}

impl Default for ScriptCache {
    fn default() -> Self {
        Self::new(MOST_BYTES, CHECK_ONE_IN)
    }
}

impl ScriptCache {
    /// An empty cache of at most `most_bytes` bytes, of which one recorded reply in `check_one_in`
    /// is compared with a real run; none if that is 0.
    pub(super) fn new(most_bytes: u64, check_one_in: u64) -> Self {
        Self { most_bytes, check_one_in, state: Mutex::default(), released: Condvar::new() }
    }

    /// A cache that, with a `folder`, knows what earlier runs on this machine have kept there, and keeps
    /// what it records. Answers hold for this program, this processor, and the sandbox's Python with its
    /// packages; others have a file of their own. Pretrained weights that the sandbox offers to scripts
    /// must stay as they are. A file of more than 256 MiB is begun anew. Of several processes at once the
    /// first one writes.
    ///
    /// # Errors
    /// [`ScriptCacheError`].
    pub fn open(folder: Option<&Utf8Path>, sandbox: &Sandbox) -> Result<Self, ScriptCacheError> {
        match folder {
            Some(folder) => Self::default().with_file(folder, &MachineFacts::ask(sandbox)?),
            None => Ok(Self::default()),
        }
    }

    /// The same cache, with the answers that are kept in `folder` under these facts.
    pub(super) fn with_file(
        self,
        folder: &Utf8Path,
        facts: &MachineFacts,
    ) -> Result<Self, ScriptCacheError> {
        let most_bytes = self.most_bytes;
        let mut state = self.state();
        state.file = AnswerFile::open(folder, facts, most_bytes, |key, answer| {
            state.record(key, answer, most_bytes);
        })?;
        drop(state);
        Ok(self)
    }

    /// What it was used for since the last call.
    pub fn take_use(&self) -> ScriptCacheUse {
        std::mem::take(&mut self.state().counts)
    }

    /// What is known of `key`. Waits while another thread finds it out.
    pub(super) fn look_up(&self, key: Key) -> Lookup<'_> {
        let mut state = self.state();
        let mut has_waited = false;
        loop {
            if let Some(entry) = state.find(key, self.most_bytes) {
                entry.hits += 1;
                return match &entry.answer {
                    Answer::Varies => Lookup::Varies,
                    answer => Lookup::Known {
                        answer: answer.clone(),
                        is_drawn: key.is_drawn(entry.hits, self.check_one_in),
                    },
                };
            }
            if !state.running.contains(&key) {
                break;
            }
            state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
            has_waited = true;
        }
        // The run that was waited for left nothing. Were one of those who waited to run for the
        // others again, a script that cannot be recorded would run once after another.
        if has_waited {
            return Lookup::Varies;
        }
        state.running.insert(key);
        Lookup::Unknown(Claim { cache: self, key })
    }

    /// Records an answer, unless it is known that answers vary. That they do is not kept: a limit may
    /// have ended a script, which another run has the time for.
    pub(super) fn insert(&self, key: Key, answer: Answer) {
        let mut state = self.state();
        let known = state.find(key, self.most_bytes).map(|entry| &entry.answer);
        if !matches!(known, Some(Answer::Varies)) {
            if answer != Answer::Varies {
                state.keep(key, &answer);
            }
            state.record(key, answer, self.most_bytes);
        }
    }

    /// The reward of a recorded result. If results vary, none.
    pub(super) fn known_reward(&self, key: Key) -> Option<Reward> {
        match &self.state().find(key, self.most_bytes)?.answer {
            Answer::Closed(closed) => Some(closed.reward),
            Answer::Turn(..) | Answer::Varies => None,
        }
    }

    /// Drops what is recorded, because a real run differed from it, and counts that. From now on
    /// nothing is recorded for the key.
    pub(super) fn forget(&self, key: Key) {
        let mut state = self.state();
        // Earlier runs may have kept an answer.
        state.keep(key, &Answer::Varies);
        state.record(key, Answer::Varies, self.most_bytes);
        state.counts.mismatches += 1;
    }

    /// Counts a script that an agent asked for.
    pub(super) fn count_script(&self, is_cached: bool) {
        let counts = &mut self.state().counts;
        counts.scripts += 1;
        counts.cached += u64::from(is_cached);
    }

    /// Counts a comparison of a recorded reply with a real run.
    pub(super) fn count_check(&self) {
        self.state().counts.checks += 1;
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        // Nothing panics while the lock is held, so the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    /// The entry of a key, which counts as used now.
    fn find(&mut self, key: Key, most_bytes: u64) -> Option<&mut CacheEntry> {
        if let Some(entry) = self.older.remove(&key) {
            self.insert(key, entry, most_bytes);
        }
        self.newer.get_mut(&key)
    }

    fn record(&mut self, key: Key, answer: Answer, most_bytes: u64) {
        let bytes = answer.bytes();
        self.insert(key, CacheEntry { answer, bytes, hits: 0 }, most_bytes);
    }

    /// Keeps an answer for other runs, if there is a file for that. One that cannot be written to is
    /// given up, and the run goes on.
    fn keep(&mut self, key: Key, answer: &Answer) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.append(key, answer) {
            tracing::warn!(%error, "scripts are not kept any more for later runs");
            self.file = None;
        }
    }

    fn insert(&mut self, key: Key, entry: CacheEntry, most_bytes: u64) {
        let half = most_bytes / 2;
        if entry.bytes > half {
            return;
        }
        if let Some(before) = self.newer.remove(&key) {
            self.newer_bytes -= before.bytes;
        }
        self.older.remove(&key);
        if self.newer_bytes + entry.bytes > half {
            self.older = std::mem::take(&mut self.newer);
            self.newer_bytes = 0;
        }
        self.newer_bytes += entry.bytes;
        self.newer.insert(key, entry);
    }
}

impl Answer {
    /// A result, without the turns, which each episode has of its own.
    pub(super) fn closed(closed: &Closed) -> Self {
        let (feedback, timed_out, reward) = (closed.feedback, closed.timed_out, closed.reward);
        let outcome = closed.outcome.clone();
        Self::Closed(Box::new(Closed { turns: Vec::new(), timed_out, feedback, outcome, reward }))
    }

    /// What it takes in memory, about.
    fn bytes(&self) -> u64 {
        let texts = match self {
            Self::Turn(reply, record) => {
                let text = match reply {
                    Reply::Observe(text) => text.len(),
                    Reply::End(_) => 0,
                };
                let exception = match &record.outcome {
                    Some(Outcome::Raised { exception }) => exception.len(),
                    _ => 0,
                };
                text + exception
            }
            // Outcomes of environments may hold any JSON.
            Self::Closed(closed) => {
                serde_json::to_vec(&closed.outcome).map_or(usize::MAX, |json| json.len())
            }
            Self::Varies => 0,
        };
        ENTRY_BYTES.saturating_add(texts as u64)
    }
}

impl Claim<'_> {
    /// Hands the answer over.
    pub(super) fn settle(self, answer: Answer) {
        self.cache.insert(self.key, answer);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.cache.state().running.remove(&self.key);
        self.cache.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::Tool;

    fn reply(text: &str) -> Answer {
        let record = TurnRecord {
            tool: Tool::Python,
            has_thought: true,
            outcome: None,
            seconds: 0.0,
            cached: false,
        };
        Answer::Turn(Reply::Observe(text.to_owned()), record)
    }

    fn is_known(cache: &ScriptCache, key: Key) -> bool {
        matches!(cache.look_up(key), Lookup::Known { .. })
    }

    #[test]
    fn full_cache_drops_what_was_not_asked_for() {
        // Room for ten entries, five in each half.
        let cache = ScriptCache::new(10 * (ENTRY_BYTES + 1), 0);
        let key = |index: u32| Key::episode(&index.to_string());
        for index in 0..100 {
            cache.insert(key(index), reply("x"));
            assert!(is_known(&cache, key(0)), "asked for all the time: {index}");
            let state = cache.state();
            let all: u64 = state.newer.values().chain(state.older.values()).map(|e| e.bytes).sum();
            assert!(all <= cache.most_bytes, "{all}");
            let newer: u64 = state.newer.values().map(|entry| entry.bytes).sum();
            assert_eq!(newer, state.newer_bytes);
        }
        assert!(is_known(&cache, key(99)) && !is_known(&cache, key(50)));
    }

    #[test]
    fn entry_larger_than_half_a_cache_is_not_kept() {
        let cache = ScriptCache::new(4 * ENTRY_BYTES, 0);
        let (small, large) = (Key::episode("small"), Key::episode("large"));
        cache.insert(small, reply("x"));
        cache.insert(large, reply(&"x".repeat(1000)));
        assert!(is_known(&cache, small) && !is_known(&cache, large));
    }

    #[test]
    fn dropped_claim_can_be_taken_again() {
        let cache = ScriptCache::default();
        let key = Key::episode("a");
        let Lookup::Unknown(claim) = cache.look_up(key) else { panic!("it is new") };
        drop(claim);
        let Lookup::Unknown(claim) = cache.look_up(key) else { panic!("nothing was recorded") };
        claim.settle(Answer::Varies);
        assert!(matches!(cache.look_up(key), Lookup::Varies));
    }
}
