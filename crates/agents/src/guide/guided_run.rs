//! An agent's end of its conversation: it tells each turn once, catches up with what a server missed,
//! waits while a person holds the run, and knows what it has heard.

use super::channel::{GuideLink, Lost, OnLost};
use super::exchange::{Delivery, Update};
use super::guidance::{DeliveredGuidance, PostedGuidance};
use super::ids::{ConversationId, GuidanceId};
use super::turn::{End, Opening, TurnReport};
use crate::run::journal::JournalError;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Pauses between two tries: the first, and the longest. Each is twice the one before.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Time between two looks at whether a hold is over.
const LOOK: Duration = Duration::from_millis(500);
/// How long the end of a run is told again to a server that does not answer, where the run goes on
/// without it.
const LAST_WORD: Duration = Duration::from_secs(10);
/// How often in a row a conversation is opened again for one turn.
const OPENINGS: u32 = 3;

/// The turns of a run, as it has written them down.
pub type Told<'a> = dyn Fn(u32) -> Result<TurnReport, JournalError> + 'a;

/// Why there is no word, and the run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Interrupted {
    /// It was asked to stop.
    #[error("it was stopped")]
    Stopped,
    /// There is no guide, and the run is to wait for one.
    #[error("there is no guide: {0}")]
    NoGuide(String),
    /// What the run has written down cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// An agent's end of its conversation.
#[derive(Debug)]
pub struct GuidedRun {
    link: GuideLink,
    id: ConversationId,
    opening: Opening,
    /// The highest `seq` that was written down.
    have: u64,
    heard: BTreeSet<GuidanceId>,
    /// The turn that the other side lacks; `None` before it was asked.
    expects: Option<u32>,
    /// Whether the run is over, as far as the other side knows.
    is_over: bool,
    /// What was last complained of, so that it is said once.
    complained: String,
}

impl GuidedRun {
    /// A run that tells its turns in the conversation `id`, and has `heard` pieces in earlier starts:
    /// their names, and the highest `seq`.
    pub fn new(
        link: GuideLink,
        id: ConversationId,
        opening: Opening,
        heard: impl IntoIterator<Item = (GuidanceId, u64)>,
    ) -> Self {
        let (mut names, mut have) = (BTreeSet::new(), 0);
        for (name, seq) in heard {
            names.insert(name);
            have = have.max(seq);
        }
        Self {
            link,
            id,
            opening,
            have,
            heard: names,
            expects: None,
            is_over: false,
            complained: String::new(),
        }
    }

    /// Opens the conversation, so that people see it before the first turn. Waits as [`OnLost`] says.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn begin(&mut self, is_stopped: &dyn Fn() -> bool) -> Result<(), Interrupted> {
        let (began, mut pause) = (Instant::now(), PAUSE.0);
        loop {
            if is_stopped() {
                return Err(Interrupted::Stopped);
            }
            let Err(lost) = self.open() else { return Ok(()) };
            if !self.is_patient(&lost, began)? {
                return Ok(());
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(PAUSE.1);
        }
    }

    /// Whether to try again without an answer; `false` to go on without.
    fn is_patient(&mut self, lost: &Lost, began: Instant) -> Result<bool, Interrupted> {
        match (lost, self.link.on_lost) {
            (_, OnLost::Stop) => Err(Interrupted::NoGuide(lost.to_string())),
            (Lost::Away(_), OnLost::Wait(limit)) if began.elapsed() < limit => Ok(true),
            _ => {
                self.complain(lost);
                Ok(false)
            }
        }
    }

    /// Tells the turn `turn` and all that the other side lacks before it. Returns guidance that was not
    /// heard before, in order, none of which has been acknowledged: that is done by
    /// [`Self::wrote_down`]. Waits while a person holds the run, or for a server as [`OnLost`] says,
    /// unless it `is_stopped`.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn listen(
        &mut self,
        turn: u32,
        told: &Told<'_>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<DeliveredGuidance>, Interrupted> {
        let (began, mut pause) = (Instant::now(), PAUSE.0);
        // When a hold ends at the latest, whether or not anybody says so.
        let mut held_until: Option<Instant> = None;
        loop {
            if is_stopped() {
                return Err(Interrupted::Stopped);
            }
            match self.try_exchange(turn, true, told)? {
                Ok(Delivery { hold: Some(hold), guidance, .. }) => {
                    let left = Duration::try_from_secs_f64(hold.seconds_left).unwrap_or_default();
                    let until = *held_until.get_or_insert_with(|| Instant::now() + left);
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(self.new_pieces(guidance));
                    }
                    std::thread::sleep(LOOK.min(left));
                }
                Ok(delivery) => return Ok(self.new_pieces(delivery.guidance)),
                Err(lost) => {
                    let is_held = held_until.is_some_and(|until| Instant::now() < until);
                    if matches!(lost, Lost::Away(_)) && is_held {
                        std::thread::sleep(LOOK);
                        continue;
                    }
                    if !self.is_patient(&lost, began)? {
                        return Ok(Vec::new());
                    }
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(PAUSE.1);
                }
            }
        }
    }

    /// Notes that pieces are on the disk, so that they need not be sent again.
    pub fn wrote_down(&mut self, pieces: &[DeliveredGuidance]) {
        for piece in pieces {
            self.have = self.have.max(piece.seq);
            self.heard.insert(piece.id.clone());
        }
    }

    /// Tells the end of the run after `turns` turns, and what the other side lacks before it. Returns
    /// the guidance that came too late; `None` if nobody answered.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn finish(
        &mut self,
        turns: u32,
        end: &End,
        told: &Told<'_>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<PostedGuidance>>, Interrupted> {
        let (began, mut pause) = (Instant::now(), PAUSE.0);
        let patience = match self.link.on_lost {
            OnLost::Continue => LAST_WORD,
            OnLost::Wait(limit) => limit.max(LAST_WORD),
            OnLost::Stop => Duration::ZERO,
        };
        loop {
            if is_stopped() {
                return Err(Interrupted::Stopped);
            }
            let caught_up = match turns.checked_sub(1) {
                Some(last) => self.try_exchange(last, false, told)?.map(drop),
                None => self.open(),
            };
            let closed = caught_up.and_then(|()| self.link.channel.close(&self.id, self.have, end));
            match closed {
                Ok(late) => return Ok(Some(late)),
                Err(lost) => {
                    if self.link.on_lost == OnLost::Stop {
                        return Err(Interrupted::NoGuide(lost.to_string()));
                    }
                    if matches!(lost, Lost::Refused(_)) || began.elapsed() >= patience {
                        self.complain(&lost);
                        return Ok(None);
                    }
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(PAUSE.1);
                }
            }
        }
    }

    /// Opens the conversation, if that was not done.
    fn open(&mut self) -> Result<(), Lost> {
        if self.expects.is_none() {
            let opened = self.link.channel.open(&self.id, &self.opening)?;
            // A store that was lost knows nothing of what its predecessor sent.
            self.have = self.have.min(opened.sent);
            (self.expects, self.is_over) = (Some(opened.expects), opened.is_over);
        }
        Ok(())
    }

    /// One try to tell a turn, after all that are missing.
    fn try_exchange(
        &mut self,
        turn: u32,
        listens: bool,
        told: &Told<'_>,
    ) -> Result<Result<Delivery, Lost>, JournalError> {
        for _ in 0..OPENINGS {
            if let Err(lost) = self.open() {
                return Ok(Err(lost));
            }
            if self.is_over {
                let expects = turn + 1;
                return Ok(Ok(Delivery { guidance: Vec::new(), hold: None, expects }));
            }
            match self.catch_up(turn, listens, told)? {
                Ok(delivery) => {
                    self.expects = Some(delivery.expects);
                    self.complained.clear();
                    return Ok(Ok(delivery));
                }
                Err(Lost::Forgotten(_)) => self.expects = None,
                Err(lost) => return Ok(Err(lost)),
            }
        }
        Ok(Err(Lost::Refused("the conversation is forgotten as soon as it is opened".to_owned())))
    }

    fn catch_up(
        &mut self,
        turn: u32,
        listens: bool,
        told: &Told<'_>,
    ) -> Result<Result<Delivery, Lost>, JournalError> {
        let (mut next, mut back) = (self.expects.unwrap_or(0).min(turn), 0);
        loop {
            let listens = listens && next == turn;
            let update = Update { turn: next, have: self.have, listens, report: told(next)? };
            let delivery = match self.link.channel.exchange(&self.id, &update) {
                Ok(delivery) => delivery,
                Err(lost) => return Ok(Err(lost)),
            };
            if next == turn && delivery.expects > turn {
                return Ok(Ok(delivery));
            }
            let missing = delivery.expects.min(turn);
            // It lacks turns before this one, as after a crash.
            if missing <= next {
                back += 1;
                if back > OPENINGS {
                    let why = format!("turn {next} was told and not taken up");
                    return Ok(Err(Lost::Refused(why)));
                }
            }
            next = missing;
        }
    }

    /// Pieces that were not heard before.
    fn new_pieces(&mut self, pieces: Vec<DeliveredGuidance>) -> Vec<DeliveredGuidance> {
        let (known, new): (Vec<_>, Vec<_>) =
            pieces.into_iter().partition(|piece| self.heard.contains(&piece.id));
        if new.is_empty() {
            self.wrote_down(&known);
        }
        new
    }

    fn complain(&mut self, lost: &Lost) {
        let why = lost.to_string();
        if why != self.complained {
            tracing::warn!(conversation = %self.id, why, "the run goes on without its guide");
            self.complained = why;
        }
    }
}
