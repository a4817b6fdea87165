//! A conversation told again: the lines of its journal are written into another store, one after the
//! other and with the pauses that they had. Who watches that store sees what there was to see then.

use super::error::{GuideError, StoreError};
use super::event::EventLine;
use super::ids::ConversationId;
use super::store::{Store, read_journal};
use super::verdicts::copy_judged;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::time::{Duration, Instant};

/// Longest time without a look at whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// How fast a conversation is told again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayPace {
    /// How many times as fast as it was; above 0.
    pub speed: f64,
    /// What longer pauses are cut to, once they are shortened by `speed`.
    pub longest_pause: Duration,
}

/// A recorded conversation, to be told again.
#[derive(Debug, Clone)]
pub struct Replay {
    source: Utf8PathBuf,
    id: ConversationId,
    lines: Vec<EventLine>,
}

impl Replay {
    /// Reads the conversation `id` of the store `source`, which another process may be at work on and
    /// in which nothing changes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn read(source: &Utf8Path, id: &ConversationId) -> Result<Self, StoreError> {
        let (source, lines) = (source.canonicalize_utf8()?, read_journal(source, id)?);
        Ok(Self { source, id: id.clone(), lines })
    }

    /// How many events there are; at least 1.
    pub fn events(&self) -> usize {
        self.lines.len()
    }

    /// How long it takes to tell all of them.
    pub fn takes(&self, pace: ReplayPace) -> Duration {
        self.lines.windows(2).map(|pair| pause(&pair[0], &pair[1], pace)).sum()
    }

    /// Makes an empty folder a store to tell the conversation in. Its long texts are those of the
    /// recorded one, and are not copied.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn prepare(&self, folder: &Utf8Path) -> Result<(), StoreError> {
        fs::copy(self.source.join("guide.toml"), folder.join("guide.toml"))?;
        let blobs = self.source.join("blobs");
        if blobs.is_dir() {
            std::os::unix::fs::symlink(&blobs, folder.join("blobs"))?;
        }
        Ok(())
    }

    /// Tells the conversation in a store that was prepared for it; what a judge said of it comes last.
    /// Returns whether all of it was told before it `is_stopped`.
    ///
    /// # Errors
    /// [`GuideError::Io`] and [`GuideError::Judged`].
    pub fn tell(
        &self,
        store: &Store,
        pace: ReplayPace,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<bool, GuideError> {
        let mut due = Instant::now();
        let mut before: Option<&EventLine> = None;
        for line in &self.lines {
            due += before.map_or(Duration::ZERO, |before| pause(before, line, pace));
            while let Some(left) = due.checked_duration_since(Instant::now())
                && !left.is_zero()
                && !is_stopped()
            {
                std::thread::sleep(left.min(LOOK));
            }
            if is_stopped() {
                return Ok(false);
            }
            store.append_recorded(&self.id, line.clone())?;
            before = Some(line);
        }
        copy_judged(&self.source, store.folder(), &self.id)?;
        Ok(true)
    }
}

/// The pause between two lines. A clock that was set back makes none.
fn pause(before: &EventLine, after: &EventLine, pace: ReplayPace) -> Duration {
    let recorded = Duration::from_millis(after.at.saturating_sub(before.at));
    let seconds = recorded.as_secs_f64() / pace.speed;
    Duration::try_from_secs_f64(seconds)
        .map_or(pace.longest_pause, |pause| pause.min(pace.longest_pause))
}
