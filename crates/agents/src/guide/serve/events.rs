//! `GET /events`: what changes, as a stream of server-sent events that can be resumed.
//!
//! Events of the conversation that is watched have their `seq` as `id`; a client that lost its stream
//! comes back with the last one it has, and gets all that follow. Headlines of all conversations have
//! none: they are what is now.

use super::access::Caller;
use super::answer::{Failure, shown, shown_value};
use super::presence::OpenStream;
use super::search::is_draft_of_another;
use super::server::Shared;
use crate::guide::conversation::Headline;
use crate::guide::error::GuideError;
use crate::guide::ids::ConversationId;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::header::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Time without an event after which the stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events that are read at a time. Few, as each person has so many in memory who opens a long run.
const BATCH: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watching {
    watch: Option<ConversationId>,
    from: Option<u64>,
}

/// A stream in progress.
struct Watcher {
    shared: Arc<Shared>,
    changes: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    /// Who reads.
    name: String,
    watched: Option<ConversationId>,
    /// The last event that was sent.
    seq: u64,
    headlines: BTreeMap<ConversationId, Headline>,
    ready: VecDeque<Event>,
    _open: OpenStream,
}

/// Answers `GET /events`.
pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Query(Watching { watch, from }): Query<Watching>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    caller.reads()?;
    // Browsers say where they were themselves, and that is later than what the page once asked for.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let mut seq = last.or(from).unwrap_or(0);
    if let Some(id) = &watch {
        let newest = shared.store.read(id, |conversation| conversation.seq)?;
        // Of another store: all of this one is new.
        seq = if seq > newest { 0 } else { seq };
    }
    let open = OpenStream::new(&shared.presence, &caller.name)?;
    let mut changes = shared.changes.subscribe();
    changes.mark_changed();
    let watcher = Watcher {
        changes,
        stopping: shared.stopping.clone(),
        shared,
        name: caller.name,
        watched: watch,
        seq,
        headlines: BTreeMap::new(),
        ready: VecDeque::new(),
        _open: open,
    };
    let events = stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

impl Watcher {
    /// The next event; `None` when the server ends, or the conversation cannot be read.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if *self.stopping.borrow() {
                return None;
            }
            tokio::select! {
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
                changed = self.changes.changed() => changed.ok()?,
            }
            if let Err(error) = self.read().await {
                tracing::error!(?error, "a stream ended");
                return None;
            }
        }
    }

    /// Reads what is new.
    async fn read(&mut self) -> Result<(), Failure> {
        let (store, watched, seq) =
            (Arc::clone(&self.shared.store), self.watched.clone(), self.seq);
        let read = tokio::task::spawn_blocking(move || {
            let headlines = store.headlines();
            let lines = match &watched {
                Some(id) => store.lines(id, seq, BATCH)?,
                None => Vec::new(),
            };
            Ok::<_, GuideError>((headlines, lines))
        });
        let (headlines, lines) = read
            .await
            .map_err(|error| Failure::from(GuideError::Io(std::io::Error::other(error))))??;
        for headline in headlines {
            if self.headlines.get(&headline.id) != Some(&headline) {
                let data = shown(&headline)?.to_string();
                self.ready.push_back(Event::default().event("headline").data(data));
                self.headlines.insert(headline.id.clone(), headline);
            }
        }
        if lines.len() == BATCH {
            // There may be more.
            self.changes.mark_changed();
        }
        for (seq, line) in lines {
            let value: Value = serde_json::from_str(&line)
                .map_err(|error| Failure::from(GuideError::Io(error.into())))?;
            self.seq = seq;
            if is_draft_of_another(&value, &self.name) {
                continue;
            }
            let data = shown_value(value).to_string();
            self.ready.push_back(Event::default().event("change").id(seq.to_string()).data(data));
        }
        Ok(())
    }
}
