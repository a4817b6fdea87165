//! Who is there: open streams by name, and how fast each person posts.

use super::answer::Failure;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Streams of one person at a time.
const STREAMS: usize = 32;
/// Time between two pieces of guidance of one person.
const PACE: Duration = Duration::from_secs(1);

/// Who is there.
#[derive(Debug, Default)]
pub(super) struct Presence(Mutex<HashMap<String, Here>>);

#[derive(Debug)]
struct Here {
    streams: usize,
    /// When the last stream ended, or the person was first heard of.
    since: Instant,
    posted: Option<Instant>,
}

impl Presence {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Here>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<'a>(all: &'a mut HashMap<String, Here>, name: &str) -> &'a mut Here {
        let new = || Here { streams: 0, since: Instant::now(), posted: None };
        all.entry(name.to_owned()).or_insert_with(new)
    }

    /// Whether a person has had no stream for so long.
    pub(super) fn is_gone(&self, name: &str, grace: Duration) -> bool {
        let mut all = self.all();
        let here = Self::of(&mut all, name);
        here.streams == 0 && here.since.elapsed() >= grace
    }

    /// Notes that a person was heard of.
    pub(super) fn touch(&self, name: &str) {
        Self::of(&mut self.all(), name).since = Instant::now();
    }

    /// Refuses a person who posts faster than people do.
    pub(super) fn check_pace(&self, name: &str) -> Result<(), Failure> {
        let mut all = self.all();
        let here = Self::of(&mut all, name);
        let now = Instant::now();
        if here.posted.is_some_and(|posted| now.duration_since(posted) < PACE) {
            let said = "one piece of guidance a second; send it again";
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "pace", said));
        }
        here.posted = Some(now);
        Ok(())
    }
}

/// A person's stream, counted until it is dropped.
#[derive(Debug)]
pub(super) struct OpenStream {
    presence: Arc<Presence>,
    name: String,
}

impl OpenStream {
    pub(super) fn new(presence: &Arc<Presence>, name: &str) -> Result<Self, Failure> {
        let mut all = presence.all();
        let here = Presence::of(&mut all, name);
        if here.streams >= STREAMS {
            let said = format!("there are {STREAMS} streams already; close a tab");
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "streams", said));
        }
        here.streams += 1;
        Ok(Self { presence: Arc::clone(presence), name: name.to_owned() })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut all = self.presence.all();
        let here = Presence::of(&mut all, &self.name);
        here.streams = here.streams.saturating_sub(1);
        here.since = Instant::now();
    }
}
