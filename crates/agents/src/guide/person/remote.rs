//! A scripted person at a guide server: a client like the page, over HTTP and server-sent events.

use super::rules::PersonRules;
use super::scripted::{Saying, ScriptedPerson, SeenRun, SeenTurn};
use crate::guide::channel::Lost;
use crate::guide::client::GuideClient;
use crate::guide::ids::ConversationId;
use crate::guide::turn::{StoredText, StoredTurn};
use crate::guide::wire::PostBody;
use crate::remote::ServerAddress;
use llm::SseReader;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::io::Read as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Longest event that is read, in bytes.
const MOST_EVENT: usize = 4 << 20;
/// Time between two looks at what is due.
const LOOK: Duration = Duration::from_millis(100);
/// Time until a server that is gone is asked again.
const RETRY: Duration = Duration::from_millis(500);
/// Headlines that wait to be read.
const WAITING: usize = 1024;

/// What a person did at a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoteReport {
    /// Runs that it looked at.
    pub runs: u64,
    /// Turns that it read.
    pub turns: u64,
    /// Pieces that were posted, and came in time.
    pub posted: u64,
    /// Pieces that came too late, and are kept as comments.
    pub late: u64,
}

/// A scripted person at a guide server.
#[derive(Debug)]
pub struct RemotePerson {
    client: Arc<GuideClient>,
    rules: Arc<PersonRules>,
    runs: BTreeMap<ConversationId, WatchedRun>,
    report: RemoteReport,
}

/// A run that a person looks at.
#[derive(Debug)]
struct WatchedRun {
    person: ScriptedPerson,
    /// What is to be said, in order, with when it was thought of.
    sayings: VecDeque<(Saying, Instant)>,
    /// Turns that the server has.
    turns: u32,
    is_over: bool,
}

/// A run as a headline has it; what else there is does not matter here.
#[derive(Debug, Deserialize)]
struct SeenHeadline {
    id: ConversationId,
    task: String,
    agent: String,
    attempt: u64,
    state: String,
    turns: u32,
}

/// A page of a conversation, likewise.
#[derive(Debug, Deserialize)]
struct SeenPage {
    turns: Vec<StoredTurn>,
}

impl RemotePerson {
    /// A person who goes by these rules, at the server at `address`, which is not asked yet.
    pub fn new(address: ServerAddress, rules: PersonRules) -> Self {
        let client = Arc::new(GuideClient::new(address));
        let (runs, report) = (BTreeMap::new(), RemoteReport::default());
        Self { client, rules: Arc::new(rules), runs, report }
    }

    /// Looks at all runs of the server until it `is_stopped`, or, if `until_over`, until there is a run
    /// and all are over. A server that is gone is waited for.
    ///
    /// # Errors
    /// [`Lost::Refused`] if the server does not let the person in.
    pub fn watch(
        &mut self,
        until_over: bool,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<RemoteReport, Lost> {
        let (sender, headlines) = sync_channel(WAITING);
        let client = Arc::clone(&self.client);
        let follow = std::thread::Builder::new().name("events".to_owned());
        // It ends with the next headline after this one has gone.
        let thread = follow.spawn(move || follow_headlines(&client, &sender));
        thread.map_err(|error| Lost::Away(error.to_string()))?;
        loop {
            if is_stopped() {
                return Ok(self.report);
            }
            self.take_up(&headlines)?;
            let ids: Vec<ConversationId> = self.runs.keys().cloned().collect();
            for id in ids {
                match self.look_at(&id) {
                    Ok(()) => {}
                    Err(Lost::Away(why)) => {
                        tracing::debug!(why, "the guide server does not answer");
                        std::thread::sleep(RETRY);
                    }
                    // The store was lost.
                    Err(Lost::Forgotten(_)) => drop(self.runs.remove(&id)),
                    Err(refused @ Lost::Refused(_)) => return Err(refused),
                }
            }
            let is_done = |run: &WatchedRun| run.is_over && run.person.next() >= run.turns;
            if until_over && !self.runs.is_empty() && self.runs.values().all(is_done) {
                return Ok(self.report);
            }
        }
    }

    /// Takes up headlines: waits a moment for one, and takes all that are there.
    fn take_up(&mut self, headlines: &Receiver<Result<SeenHeadline, Lost>>) -> Result<(), Lost> {
        let mut next = headlines.recv_timeout(LOOK);
        loop {
            match next {
                Ok(headline) => self.note(headline?),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Lost::Refused("the stream of events has ended".to_owned()));
                }
            }
            next = headlines.try_recv().map_err(|error| match error {
                mpsc::TryRecvError::Empty => RecvTimeoutError::Timeout,
                mpsc::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
    }

    fn note(&mut self, headline: SeenHeadline) {
        let SeenHeadline { id, task, agent, attempt, state, turns } = headline;
        let run = self.runs.entry(id).or_insert_with(|| {
            self.report.runs += 1;
            let seen = SeenRun { task, agent, attempt };
            let person = ScriptedPerson::new(Arc::clone(&self.rules), &seen);
            WatchedRun { person, sayings: VecDeque::new(), turns, is_over: false }
        });
        (run.turns, run.is_over) = (turns, state == "ended");
    }

    /// Reads the turns of a run that are new, and posts what is due.
    fn look_at(&mut self, id: &ConversationId) -> Result<(), Lost> {
        let Self { client, rules, runs, report } = self;
        let Some(run) = runs.get_mut(id) else { return Ok(()) };
        while run.person.next() < run.turns {
            let from = run.person.next();
            let page: SeenPage = client.get(&format!("/conversations/{id}?from={from}"))?;
            if page.turns.is_empty() {
                break;
            }
            for turn in page.turns {
                let seen = seen(client, id, &turn)?;
                report.turns += 1;
                let saying = run.person.see(&seen);
                run.sayings.extend(saying.map(|saying| (saying, Instant::now())));
            }
        }
        while let Some((saying, thought)) = run.sayings.front() {
            let is_seen = saying.turn + rules.latency_turns < run.turns;
            if !run.is_over && (!is_seen || thought.elapsed() < rules.latency.0) {
                break;
            }
            let body = PostBody { id: saying.id.clone(), what: saying.what.clone() };
            // One that is refused because the person is too fast is posted again.
            if client.post_guidance(id, &body)? {
                report.posted += 1;
            } else {
                report.late += 1;
            }
            run.sayings.pop_front();
        }
        Ok(())
    }
}

/// A turn as the page shows it.
fn seen(client: &GuideClient, id: &ConversationId, turn: &StoredTurn) -> Result<SeenTurn, Lost> {
    let read = |text: &StoredText| match text {
        StoredText::Inline(text) => Ok(text.clone()),
        StoredText::Blob { blob, .. } => {
            client.get_text(&format!("/conversations/{id}/files/{}", blob.0))
        }
    };
    let observation = turn.observation.as_ref().map(read).transpose()?;
    Ok(SeenTurn {
        number: turn.turn,
        text: format!("{}{}", read(&turn.thought)?, read(&turn.action)?),
        observation: observation.unwrap_or_default(),
        failed: turn.record.failed(),
    })
}

/// Follows the headlines of a server, until nobody reads them any more or the server refuses.
fn follow_headlines(client: &GuideClient, headlines: &SyncSender<Result<SeenHeadline, Lost>>) {
    loop {
        let stream = match client.events() {
            Ok(stream) => stream,
            Err(refused @ Lost::Refused(_)) => return drop(headlines.send(Err(refused))),
            Err(Lost::Away(_) | Lost::Forgotten(_)) => {
                std::thread::sleep(RETRY);
                continue;
            }
        };
        let mut stream = stream;
        let (mut reader, mut piece) = (SseReader::new(MOST_EVENT), [0; 8192]);
        // A stream that breaks is opened again, and tells all headlines anew.
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            let Ok(events) = reader.push(&piece[..length]) else { break };
            for event in events.into_iter().filter(|event| event.name == "headline") {
                let headline = serde_json::from_str(&event.data).map_err(|error| {
                    Lost::Refused(format!("it is no guide server of this version: {error}"))
                });
                let is_refused = headline.is_err();
                if headlines.send(headline).is_err() || is_refused {
                    return;
                }
            }
        }
    }
}
