//! What people ask of a store: to post guidance and change it, to hold a run, to judge its turns.

use super::conversation::Conversation;
use super::error::GuideError;
use super::event::{Event, ReleaseReason, TurnMark, TurnVerdict};
use super::guidance::{GuidanceState, GuidanceText, LONGEST_GUIDANCE, PostedGuidance};
use super::ids::{ConversationId, GuidanceId};
use super::store::{Store, kept_of};
use std::time::Instant;

/// Bytes of guidance that may wait for an agent.
const QUEUE: usize = 64 << 10;

/// A person, as far as a store is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person<'a> {
    /// Their name, which stands in the journal.
    pub name: &'a str,
    /// Whether they may also change what others have posted.
    pub leads: bool,
}

impl Store {
    /// Posts a piece of guidance under a name that the person's side has drawn. The same name twice is
    /// one piece, and the answer is the piece as it now is. After the end of the run it is late.
    ///
    /// # Errors
    /// [`GuideError::Invalid`], [`GuideError::TooLong`], [`GuideError::QueueFull`],
    /// [`GuideError::Taken`].
    pub fn post(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
        id: GuidanceId,
        what: GuidanceText,
    ) -> Result<PostedGuidance, GuideError> {
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        if let Some(piece) = kept.conversation.find(&id) {
            if piece.by != person.name {
                return Err(GuideError::Taken(id));
            }
            return Ok(piece.clone());
        }
        check(&what, &kept.conversation)?;
        let is_over = kept.conversation.end.is_some();
        if !is_over {
            check_room(&kept.conversation, None, &what)?;
        }
        let mut events = vec![Event::Guidance { id: id.clone(), what }];
        if is_over {
            events.push(Event::Late { ids: vec![id.clone()] });
        }
        self.append(&mut kept, Some(person.name), events)?;
        piece(&kept.conversation, &id)
    }

    /// Changes a piece that is queued. Asking twice is harmless, even where it was sent in between.
    ///
    /// # Errors
    /// [`GuideError::NotQueued`] with its state if it is too late for that; [`GuideError::NotYours`] for
    /// pieces of others, unless the person leads; those of [`Self::post`].
    pub fn edit(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
        id: &GuidanceId,
        what: GuidanceText,
    ) -> Result<PostedGuidance, GuideError> {
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        let known = own(&kept.conversation, person, id)?;
        // Sent again, because an answer was lost.
        if known.what == what && known.state != GuidanceState::Retracted {
            return Ok(known);
        }
        check(&what, &kept.conversation)?;
        check_queued(&known)?;
        check_room(&kept.conversation, Some(&known), &what)?;
        let event = Event::Edited { id: id.clone(), what };
        self.append(&mut kept, Some(person.name), vec![event])?;
        piece(&kept.conversation, id)
    }

    /// Takes a piece back that is queued. Asking twice is harmless.
    ///
    /// # Errors
    /// As [`Self::edit`].
    pub fn retract(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
        id: &GuidanceId,
    ) -> Result<PostedGuidance, GuideError> {
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        let known = own(&kept.conversation, person, id)?;
        if known.state == GuidanceState::Retracted {
            return Ok(known);
        }
        check_queued(&known)?;
        let event = Event::Retracted { id: id.clone() };
        self.append(&mut kept, Some(person.name), vec![event])?;
        piece(&kept.conversation, id)
    }

    /// Keeps what a person has typed and not sent; an empty text for nothing.
    ///
    /// # Errors
    /// [`GuideError::TooLong`].
    pub fn draft(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
        text: String,
    ) -> Result<(), GuideError> {
        check_length(&text)?;
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        let known = kept.conversation.drafts.get(person.name).map_or("", String::as_str);
        if known == text {
            return Ok(());
        }
        self.append(&mut kept, Some(person.name), vec![Event::Draft { text }])
    }

    /// Has the agent wait at its next turn, for as long as the settings allow. Of several people, the
    /// first holds it.
    ///
    /// # Errors
    /// [`GuideError::Ended`].
    pub fn hold_run(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
    ) -> Result<(), GuideError> {
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        if kept.conversation.end.is_some() {
            return Err(GuideError::Ended);
        }
        if kept.conversation.held_by.is_some() {
            return Ok(());
        }
        self.append(&mut kept, Some(person.name), vec![Event::Held {}])?;
        kept.held = Instant::now();
        Ok(())
    }

    /// Lets the agent go on, whoever had it wait. Asking twice is harmless.
    ///
    /// # Errors
    /// [`GuideError::Unknown`].
    pub fn release_run(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
    ) -> Result<(), GuideError> {
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        if kept.conversation.held_by.is_none() {
            return Ok(());
        }
        let event = Event::Released { why: ReleaseReason::Person };
        self.append(&mut kept, Some(person.name), vec![event])
    }

    /// Marks a turn with a note.
    ///
    /// # Errors
    /// [`GuideError::Invalid`] if there is no such turn, [`GuideError::TooLong`].
    pub fn mark(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
        mark: TurnMark,
    ) -> Result<(), GuideError> {
        check_length(&mark.note)?;
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        check_turn(mark.turn, &kept.conversation)?;
        self.append(&mut kept, Some(person.name), vec![Event::Mark(mark)])
    }

    /// Judges a turn, or a part of it. Of a person's verdicts on the same, the latest counts; the same
    /// verdict again is harmless.
    ///
    /// # Errors
    /// [`GuideError::Invalid`] if there is no such turn, [`GuideError::TooLong`].
    pub fn judge(
        &self,
        conversation: &ConversationId,
        person: Person<'_>,
        verdict: TurnVerdict,
    ) -> Result<(), GuideError> {
        check_length(&verdict.reason)?;
        let kept = self.find(conversation)?;
        let mut kept = kept_of(&kept);
        check_turn(verdict.turn, &kept.conversation)?;
        let key = (verdict.turn, verdict.part, person.name.to_owned());
        if kept.conversation.verdicts.get(&key).is_some_and(|known| known.verdict == verdict) {
            return Ok(());
        }
        self.append(&mut kept, Some(person.name), vec![Event::Verdict(verdict)])
    }
}

fn piece(conversation: &Conversation, id: &GuidanceId) -> Result<PostedGuidance, GuideError> {
    conversation.find(id).cloned().ok_or_else(|| GuideError::UnknownPiece(id.clone()))
}

/// A piece that the person may change.
fn own(
    conversation: &Conversation,
    person: Person<'_>,
    id: &GuidanceId,
) -> Result<PostedGuidance, GuideError> {
    let piece = piece(conversation, id)?;
    if piece.by == person.name || person.leads {
        Ok(piece)
    } else {
        Err(GuideError::NotYours(id.clone()))
    }
}

fn check_queued(piece: &PostedGuidance) -> Result<(), GuideError> {
    match piece.state {
        GuidanceState::Queued => Ok(()),
        state => Err(GuideError::NotQueued(state)),
    }
}

fn check_length(text: &str) -> Result<(), GuideError> {
    let (bytes, most) = (text.len(), LONGEST_GUIDANCE);
    if bytes > most { Err(GuideError::TooLong { bytes, most }) } else { Ok(()) }
}

fn check_turn(turn: u32, conversation: &Conversation) -> Result<(), GuideError> {
    let turns = conversation.expects();
    if turn < turns {
        return Ok(());
    }
    Err(GuideError::Invalid(format!(
        "there is no turn {turn}; {turns} turns were taken, and the first is 0"
    )))
}

fn check(what: &GuidanceText, conversation: &Conversation) -> Result<(), GuideError> {
    check_length(&what.text)?;
    if what.text.trim().is_empty() {
        return Err(GuideError::Invalid("the text is empty".to_owned()));
    }
    if let Some(about) = what.about {
        check_turn(about, conversation)?;
    }
    if let Some(range) = what.drop {
        if range.from > range.to {
            return Err(GuideError::Invalid(format!(
                "a range of turns goes from the first to the last, not from {} to {}",
                range.from, range.to
            )));
        }
        check_turn(range.to, conversation)?;
    }
    Ok(())
}

/// Whether there is room for `what` in the queue, in place of `before`.
fn check_room(
    conversation: &Conversation,
    before: Option<&PostedGuidance>,
    what: &GuidanceText,
) -> Result<(), GuideError> {
    let pieces = conversation.guidance.values().filter(|piece| piece.is_pending());
    let others = pieces.filter(|piece| before.is_none_or(|before| before.id != piece.id));
    let waiting: usize = others.map(|piece| piece.what.text.len()).sum();
    if waiting + what.text.len() > QUEUE {
        return Err(GuideError::QueueFull { waiting, most: QUEUE });
    }
    Ok(())
}
