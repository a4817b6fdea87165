//! A scripted person in the process of the agent, who keeps step with it: after each turn the agent waits
//! until the person has read it, and no time passes. So a run with the same turns hears the same.

use super::rules::{BadPersonRules, PersonRules};
use super::scripted::{Saying, ScriptedPerson, SeenRun, SeenTurn};
use crate::guide::channel::{Channel, GuideLink, GuideSource, LocalChannel, Lost, OnLost};
use crate::guide::error::GuideError;
use crate::guide::exchange::{Delivery, Opened, Update};
use crate::guide::guidance::PostedGuidance;
use crate::guide::ids::ConversationId;
use crate::guide::people::Person;
use crate::guide::store::Store;
use crate::guide::turn::{End, Opening, StoredTurn};
use crate::run::journal::JournalError;
use std::io;
use std::sync::Arc;

/// Characters of what a conversation is about in its name, and of a hash of it.
const LONGEST_WORDS: usize = 32;
const HASH: usize = 12;

/// Gives each run a channel to a scripted person of its own, over a store of this process.
#[derive(Debug, Clone)]
pub struct LockstepPerson {
    store: Arc<Store>,
    rules: Arc<PersonRules>,
    on_lost: OnLost,
}

impl LockstepPerson {
    /// A person who goes by these rules; `on_lost` is what agents do while the store does not answer, as
    /// on a full disk.
    ///
    /// # Errors
    /// [`BadPersonRules::Value`] if they say that time is to pass.
    pub fn new(
        store: Arc<Store>,
        rules: PersonRules,
        on_lost: OnLost,
    ) -> Result<Self, BadPersonRules> {
        if !rules.latency.0.is_zero() {
            let why = "no time passes in one process; give `latency_turns`, or use a server";
            return Err(BadPersonRules::Value { key: "latency".to_owned(), why: why.to_owned() });
        }
        Ok(Self { store, rules: Arc::new(rules), on_lost })
    }
}

impl GuideSource for LockstepPerson {
    fn link(&self) -> Option<GuideLink> {
        let channel = LockstepChannel {
            local: LocalChannel(Arc::clone(&self.store)),
            rules: Arc::clone(&self.rules),
            person: None,
            sayings: Vec::new(),
        };
        Some(GuideLink { channel: Box::new(channel), on_lost: self.on_lost })
    }

    /// The first of the names that follow from `key` that no conversation of the store has. A process
    /// that was killed amid an episode leaves one with the name before.
    fn name(&self, key: &str) -> io::Result<ConversationId> {
        let hash = blake3::hash(key.as_bytes()).to_hex();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let words: String = key.chars().map(plain).take(LONGEST_WORDS).collect();
        let is_free = |name: &ConversationId| self.store.read(name, |_| ()).is_err();
        let names = (1_u64..).map(|number| {
            let again = if number == 1 { String::new() } else { format!("-{number}") };
            format!("{words}-{}{again}", &hash[..HASH]).parse().expect("it is short and plain")
        });
        Ok(names.into_iter().find(is_free).expect("there is always another number"))
    }
}

/// A local channel on which a person reads along.
#[derive(Debug)]
struct LockstepChannel {
    local: LocalChannel,
    rules: Arc<PersonRules>,
    /// At this run, once it is open.
    person: Option<ScriptedPerson>,
    /// What is to be said, in order.
    sayings: Vec<Saying>,
}

impl LockstepChannel {
    /// Shows the person all turns up to one, and posts what is due.
    fn read_along(&mut self, id: &ConversationId, turn: u32) -> Result<(), GuideError> {
        let Some(person) = &mut self.person else { return Ok(()) };
        let store = &self.local.0;
        while person.next() <= turn {
            let next = person.next();
            let stored = store.turns(id, next, next + 1)?.pop();
            let Some(stored) = stored else { break };
            self.sayings.extend(person.see(&seen(&stored, store)?));
        }
        let latency = self.rules.latency_turns;
        let due = self.sayings.iter().take_while(|saying| saying.turn + latency <= turn).count();
        for saying in self.sayings.drain(..due) {
            let person = Person { name: &self.rules.name, leads: false };
            store.post(id, person, saying.id, saying.what)?;
        }
        Ok(())
    }
}

/// A turn as the page shows it.
fn seen(turn: &StoredTurn, store: &Store) -> Result<SeenTurn, JournalError> {
    let blobs = store.blobs();
    let observation = turn.observation.as_ref().map(|text| text.read(blobs)).transpose()?;
    Ok(SeenTurn {
        number: turn.turn,
        text: format!("{}{}", turn.thought.read(blobs)?, turn.action.read(blobs)?),
        observation: observation.unwrap_or_default(),
        failed: turn.record.failed(),
    })
}

impl Channel for LockstepChannel {
    fn open(&mut self, id: &ConversationId, opening: &Opening) -> Result<Opened, Lost> {
        let run = SeenRun {
            task: opening.task.to_string(),
            agent: opening.agent.clone(),
            attempt: opening.attempt,
        };
        // What was said before is said again under the same names, and is one.
        self.person = Some(ScriptedPerson::new(Arc::clone(&self.rules), &run));
        self.sayings.clear();
        self.local.open(id, opening)
    }

    fn exchange(&mut self, id: &ConversationId, update: &Update) -> Result<Delivery, Lost> {
        if update.listens {
            let told = Update { listens: false, ..update.clone() };
            let delivery = self.local.exchange(id, &told)?;
            if delivery.expects <= update.turn {
                return Ok(delivery);
            }
            self.read_along(id, update.turn)?;
        }
        let mut delivery = self.local.exchange(id, update)?;
        for piece in &mut delivery.guidance {
            if piece.by == self.rules.name {
                piece.waited_seconds = 0.0;
            }
        }
        Ok(delivery)
    }

    fn close(
        &mut self,
        id: &ConversationId,
        have: u64,
        end: &End,
    ) -> Result<Vec<PostedGuidance>, Lost> {
        self.local.close(id, have, end)
    }
}
