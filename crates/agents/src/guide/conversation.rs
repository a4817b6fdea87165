//! The state of a conversation: a fold over its journal.

use super::concern::{Concern, concerns};
use super::event::{
    Event, EventLine, GUIDE_VERSION, ReleaseReason, TurnMark, TurnPart, TurnVerdict, Verdict,
};
use super::guidance::{GuidanceState, PostedGuidance};
use super::ids::{ConversationId, GuidanceId};
use super::turn::{End, StoredOpening, StoredText, StoredTurn};
use super::turns::Turns;
use crate::trajectory::Tool;
use serde::Serialize;
use std::collections::BTreeMap;

/// Characters of what the agent was told of its submission, in a headline.
const TOLD: usize = 120;

/// Where a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationState {
    /// It is open, and the agent has not taken a turn.
    Open,
    /// The agent is at work: it thinks, or its script runs.
    Working,
    /// A person asked the agent to wait at its next turn.
    Holding,
    /// Nothing was heard of the agent for long. It may come back.
    Lost,
    /// The run is over.
    Ended,
}

impl ConversationState {
    /// The name as in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Working => "working",
            Self::Holding => "holding",
            Self::Lost => "lost",
            Self::Ended => "ended",
        }
    }
}

/// A verdict, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictBy {
    /// Name of the person.
    pub by: String,
    /// The `seq` of the event. Of verdicts on the same part, the highest counts.
    pub seq: u64,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: TurnVerdict,
}

/// A mark, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarkBy {
    /// Name of the person.
    pub by: String,
    /// The mark.
    #[serde(flatten)]
    pub mark: TurnMark,
}

/// A conversation, folded from its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Its name.
    pub id: ConversationId,
    /// How it opened.
    pub opening: StoredOpening,
    /// When it opened, in milliseconds since 1970.
    pub opened_at: u64,
    /// The turns so far, in order.
    pub turns: Turns,
    /// Every piece of guidance, by `seq`.
    pub guidance: BTreeMap<u64, PostedGuidance>,
    /// Pieces that the agent had read when it took a turn, and not before the turn before it: their
    /// `seq`, in order, by turn.
    pub heard: BTreeMap<u32, Vec<u64>>,
    /// Who asked the agent to wait, if it is to.
    pub held_by: Option<String>,
    /// What people have typed and not sent, by name.
    pub drafts: BTreeMap<String, String>,
    /// Notes on turns, in the order in which they were made.
    pub marks: Vec<MarkBy>,
    /// The latest verdict of each person on each part of a turn.
    pub verdicts: BTreeMap<(u32, TurnPart, String), VerdictBy>,
    /// Whether the agent has been silent for long.
    pub is_lost: bool,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// The number of the last event.
    pub seq: u64,
    /// The highest `seq` of a piece that was sent; 0 without one.
    pub sent: u64,
    names: BTreeMap<GuidanceId, u64>,
    /// What the agent was last told of its submission, for lists.
    told: Option<String>,
}

impl Conversation {
    /// Begins the fold with the first line.
    ///
    /// # Errors
    /// Why it is no first line.
    pub fn begin(id: ConversationId, line: EventLine) -> Result<Self, &'static str> {
        if line.version != GUIDE_VERSION {
            return Err("the line is of another version of the format");
        }
        let (1, Event::Opened(opening)) = (line.seq, line.event) else {
            return Err("a journal begins with how the conversation opened");
        };
        Ok(Self {
            id,
            opening: *opening,
            opened_at: line.at,
            turns: Turns::default(),
            guidance: BTreeMap::new(),
            heard: BTreeMap::new(),
            held_by: None,
            drafts: BTreeMap::new(),
            marks: Vec::new(),
            verdicts: BTreeMap::new(),
            is_lost: false,
            end: None,
            seq: 1,
            sent: 0,
            names: BTreeMap::new(),
            told: None,
        })
    }

    /// Folds the lines of a journal; `None` without lines.
    ///
    /// # Errors
    /// The number of the line that cannot follow those before it, from 1, and why.
    pub fn fold(
        id: &ConversationId,
        lines: impl IntoIterator<Item = EventLine>,
    ) -> Result<Option<Self>, (usize, &'static str)> {
        let mut lines = lines.into_iter();
        let Some(first) = lines.next() else { return Ok(None) };
        let mut conversation = Self::begin(id.clone(), first).map_err(|why| (1, why))?;
        for (index, line) in lines.enumerate() {
            conversation.apply(line).map_err(|why| (index + 2, why))?;
        }
        Ok(Some(conversation))
    }

    /// Takes up one more line. Of a line that is refused, nothing is taken up.
    ///
    /// # Errors
    /// Why it cannot follow those before it.
    pub fn apply(&mut self, line: EventLine) -> Result<(), &'static str> {
        let EventLine { version, seq, at, by, event } = line;
        if version != GUIDE_VERSION {
            return Err("the line is of another version of the format");
        }
        if Some(seq) != self.seq.checked_add(1) {
            return Err("events are numbered in their order");
        }
        match event {
            Event::Opened(_) => return Err("a conversation opens once"),
            Event::Resumed {} => {
                self.still_open()?;
                self.is_lost = false;
            }
            Event::Turn(turn) => {
                self.still_open()?;
                if turn.turn != self.expects() {
                    return Err("turns are numbered in their order");
                }
                self.is_lost = false;
                if turn.record.tool == Tool::Score {
                    self.told = turn.observation.as_ref().map(told);
                }
                self.turns.push(*turn);
            }
            Event::Guidance { id, what } => {
                let by = by.ok_or("guidance is a person's")?;
                if self.names.contains_key(&id) {
                    return Err("a piece of guidance is posted once");
                }
                self.names.insert(id.clone(), seq);
                let state = GuidanceState::Queued;
                self.guidance.insert(seq, PostedGuidance { id, seq, by, at, what, state });
            }
            Event::Edited { id, what } => self.change(&id, GuidanceState::Queued)?.what = what,
            Event::Retracted { id } => {
                self.change(&id, GuidanceState::Queued)?.state = GuidanceState::Retracted;
            }
            Event::Sent { ids } => {
                self.still_open()?;
                let mut last = self.sent;
                for id in &ids {
                    let found = self.find(id).ok_or("a piece is posted before it is sent")?;
                    if found.state != GuidanceState::Queued || found.seq <= last {
                        return Err("queued pieces are sent, in their order");
                    }
                    last = found.seq;
                }
                for id in &ids {
                    self.change(id, GuidanceState::Queued)?.state = GuidanceState::Sent;
                }
                self.sent = last;
            }
            Event::Acknowledged { have } => {
                if have > self.sent {
                    return Err("a piece is sent before it is acknowledged");
                }
                let turn = self.expects();
                for (seq, piece) in self.guidance.range_mut(..=have) {
                    if piece.state == GuidanceState::Sent {
                        piece.state = GuidanceState::Acknowledged;
                        self.heard.entry(turn).or_default().push(*seq);
                    }
                }
            }
            Event::Late { ids } => {
                if self.end.is_none() {
                    return Err("nothing is late before the end");
                }
                for id in &ids {
                    let found = self.find(id).ok_or("a piece is posted before it is late")?;
                    if !found.is_pending() {
                        return Err("only what was not delivered is late");
                    }
                }
                for id in &ids {
                    if let Some(piece) =
                        self.names.get(id).and_then(|seq| self.guidance.get_mut(seq))
                    {
                        piece.state = GuidanceState::Late;
                    }
                }
            }
            Event::Held {} => {
                self.still_open()?;
                self.held_by = Some(by.ok_or("a hold is a person's")?);
            }
            Event::Released { why: _ } => self.held_by = None,
            Event::Draft { text } => {
                let by = by.ok_or("a draft is a person's")?;
                if text.is_empty() {
                    self.drafts.remove(&by);
                } else {
                    self.drafts.insert(by, text);
                }
            }
            Event::Mark(mark) => {
                let by = by.ok_or("a mark is a person's")?;
                self.known(mark.turn)?;
                self.marks.push(MarkBy { by, mark });
            }
            Event::Verdict(verdict) => {
                let by = by.ok_or("a verdict is a person's")?;
                self.known(verdict.turn)?;
                let key = (verdict.turn, verdict.part, by.clone());
                self.verdicts.insert(key, VerdictBy { by, seq, verdict });
            }
            Event::Lost {} => {
                self.still_open()?;
                self.is_lost = true;
            }
            Event::Closed(end) => {
                self.still_open()?;
                self.held_by = None;
                self.is_lost = false;
                self.end = Some(*end);
            }
        }
        self.seq = seq;
        Ok(())
    }

    /// Where it stands.
    pub fn state(&self) -> ConversationState {
        if self.end.is_some() {
            ConversationState::Ended
        } else if self.is_lost {
            ConversationState::Lost
        } else if self.held_by.is_some() {
            ConversationState::Holding
        } else if self.turns.count() == 0 {
            ConversationState::Open
        } else {
            ConversationState::Working
        }
    }

    /// The number of the next turn, from 0.
    pub fn expects(&self) -> u32 {
        self.turns.count()
    }

    /// The piece of that name.
    pub fn find(&self, id: &GuidanceId) -> Option<&PostedGuidance> {
        self.guidance.get(self.names.get(id)?)
    }

    /// Pieces in a state, in order.
    pub fn pieces(&self, state: GuidanceState) -> impl Iterator<Item = &PostedGuidance> {
        self.guidance.values().filter(move |piece| piece.state == state)
    }

    /// The verdict that counts on a part of a turn: the latest of all people's. One that was taken back
    /// is none.
    pub fn verdict(&self, turn: u32, part: TurnPart) -> Option<&VerdictBy> {
        let all = self.verdicts.values();
        let of = all.filter(|by| (by.verdict.turn, by.verdict.part) == (turn, part));
        of.max_by_key(|by| by.seq).filter(|by| by.verdict.verdict != Verdict::Undecided)
    }

    /// What stands in a headline.
    pub fn headline(&self) -> Headline {
        let queued = self.pieces(GuidanceState::Queued).count();
        Headline {
            id: self.id.clone(),
            task: self.opening.task.to_string(),
            agent: self.opening.agent.clone(),
            attempt: self.opening.attempt,
            state: self.state(),
            turns: self.expects(),
            budget: self.opening.turns,
            last: self.turns.recent().last().map(StoredTurn::headline),
            told: self.told.clone(),
            queued,
            guidance: self.guidance.len(),
            held_by: self.held_by.clone(),
            ending: self.end.as_ref().map(|end| end.ending.clone()),
            concerns: match self.end {
                None => concerns(self.turns.recent(), self.turns.count(), self.opening.turns),
                Some(_) => Vec::new(),
            },
            opened_at: self.opened_at,
            seq: self.seq,
        }
    }

    fn still_open(&self) -> Result<(), &'static str> {
        if self.end.is_some() { Err("the run is over") } else { Ok(()) }
    }

    fn known(&self, turn: u32) -> Result<(), &'static str> {
        if turn < self.expects() { Ok(()) } else { Err("a turn is taken before it is judged") }
    }

    /// The piece of that name, to be changed, if it is in a state.
    fn change(
        &mut self,
        id: &GuidanceId,
        state: GuidanceState,
    ) -> Result<&mut PostedGuidance, &'static str> {
        let seq = self.names.get(id).ok_or("a piece is posted before it changes")?;
        let piece = self.guidance.get_mut(seq).ok_or("a piece is posted before it changes")?;
        if piece.state == state { Ok(piece) } else { Err("a piece that was sent stays as it is") }
    }
}

/// The beginning of what an agent was told of its submission.
fn told(observation: &StoredText) -> String {
    match observation {
        StoredText::Inline(text) => text.trim().chars().take(TOLD).collect(),
        StoredText::Blob { bytes, .. } => format!("{bytes} bytes"),
    }
}

/// A conversation in a line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// Its name.
    pub id: ConversationId,
    /// The task.
    pub task: String,
    /// The agent.
    pub agent: String,
    /// Which of its attempts.
    pub attempt: u64,
    /// Where it stands.
    pub state: ConversationState,
    /// Turns so far.
    pub turns: u32,
    /// Most turns.
    pub budget: u32,
    /// What the last turn was.
    pub last: Option<String>,
    /// What the agent was last told of its submission, its first 120 characters.
    pub told: Option<String>,
    /// Pieces of guidance that wait.
    pub queued: usize,
    /// Pieces in all.
    pub guidance: usize,
    /// Who asked the agent to wait.
    pub held_by: Option<String>,
    /// How it ended.
    pub ending: Option<String>,
    /// Why somebody should look; empty after the end.
    pub concerns: Vec<Concern>,
    /// When it opened, in milliseconds since 1970.
    pub opened_at: u64,
    /// The number of its last event.
    pub seq: u64,
}

/// A hold, as an agent hears of it.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Name of the person who asked the agent to wait.
    pub by: String,
    /// Seconds that it lasts at most from now on.
    pub seconds_left: f64,
}

impl ReleaseReason {
    /// The name as in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Limit => "limit",
            Self::Gone => "gone",
        }
    }
}
