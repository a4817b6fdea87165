//! What agents ask of a store: to open a conversation, to exchange a turn for guidance, to close it.

use super::conversation::{Conversation, Hold};
use super::error::GuideError;
use super::event::{Event, ReleaseReason};
use super::exchange::{Delivery, Opened, Update};
use super::guidance::{GuidanceState, PostedGuidance};
use super::ids::{ConversationId, GuidanceId};
use super::store::{Kept, Store, kept_of, now};
use super::turn::{End, Opening, StoredOpening, StoredTurn};
use std::time::Instant;

impl Store {
    /// Opens a conversation under a name that the agent's side has drawn, or goes on with it.
    ///
    /// # Errors
    /// [`GuideError::OtherRun`] if it was opened otherwise before.
    pub fn open_conversation(
        &self,
        id: &ConversationId,
        opening: Opening,
    ) -> Result<Opened, GuideError> {
        let opening = StoredOpening::put(opening, &self.blobs)?;
        let event = || Ok(Event::Opened(Box::new(opening.clone())));
        let (kept, is_new) = self.find_or_begin(id, event)?;
        let mut kept = kept_of(&kept);
        if kept.conversation.opening != opening {
            return Err(GuideError::OtherRun(id.clone()));
        }
        kept.heard = Instant::now();
        if !is_new && kept.conversation.end.is_none() {
            self.append(&mut kept, None, vec![Event::Resumed {}])?;
        }
        let Conversation { sent, end, .. } = &kept.conversation;
        Ok(Opened { expects: kept.conversation.expects(), sent: *sent, is_over: end.is_some() })
    }

    /// Takes up a turn, and answers with the guidance that the agent does not have yet. Asking twice is
    /// harmless: a turn that is known is not taken up again, and what was sent is sent again.
    ///
    /// # Errors
    /// [`GuideError::Ended`], [`GuideError::TurnDiffers`], [`GuideError::Ahead`].
    pub fn exchange(&self, id: &ConversationId, update: Update) -> Result<Delivery, GuideError> {
        let Update { turn, have, listens, report } = update;
        let stored = StoredTurn::put(turn, report, &self.blobs)?;
        let kept = self.find(id)?;
        let mut kept = kept_of(&kept);
        let Conversation { end, sent, is_lost, .. } = &kept.conversation;
        if end.is_some() {
            return Err(GuideError::Ended);
        }
        if have > *sent {
            return Err(GuideError::Ahead { have, sent: *sent });
        }
        let mut events = Vec::new();
        if *is_lost {
            events.push(Event::Resumed {});
        }
        if kept.conversation.pieces(GuidanceState::Sent).any(|piece| piece.seq <= have) {
            events.push(Event::Acknowledged { have });
        }
        let expects = kept.conversation.expects();
        let known = self.turns_of(&kept, turn, turn.saturating_add(1))?;
        if known.first().is_some_and(|known| *known != stored) {
            return Err(GuideError::TurnDiffers { turn });
        }
        if turn == expects {
            events.push(Event::Turn(Box::new(stored)));
        }
        kept.heard = Instant::now();
        if turn > expects {
            self.append(&mut kept, None, events)?;
            return Ok(Delivery { guidance: Vec::new(), hold: None, expects });
        }
        let mut hold = self.hold(&kept);
        if kept.conversation.held_by.is_some() && hold.is_none() {
            events.push(Event::Released { why: ReleaseReason::Limit });
        }
        // Who holds a run wants to write, and to change what they wrote.
        let ids: Vec<GuidanceId> = if listens && hold.is_none() {
            let queued = kept.conversation.pieces(GuidanceState::Queued);
            queued.map(|piece| piece.id.clone()).collect()
        } else {
            Vec::new()
        };
        if !ids.is_empty() {
            events.push(Event::Sent { ids });
        }
        self.append(&mut kept, None, events)?;
        let guidance = if listens {
            let sent = kept.conversation.pieces(GuidanceState::Sent);
            sent.filter(|piece| piece.seq > have)
                .map(|piece| piece.delivered(Some(now())))
                .collect()
        } else {
            hold = None;
            Vec::new()
        };
        Ok(Delivery { guidance, hold, expects: kept.conversation.expects() })
    }

    /// Ends a conversation. What the agent does not have is late, and is returned, in order. Asking
    /// twice is harmless.
    ///
    /// # Errors
    /// [`GuideError::Ahead`].
    pub fn close_conversation(
        &self,
        id: &ConversationId,
        have: u64,
        end: End,
    ) -> Result<Vec<PostedGuidance>, GuideError> {
        let kept = self.find(id)?;
        let mut kept = kept_of(&kept);
        if kept.conversation.end.is_none() {
            let sent = kept.conversation.sent;
            if have > sent {
                return Err(GuideError::Ahead { have, sent });
            }
            let mut events = Vec::new();
            if kept.conversation.pieces(GuidanceState::Sent).any(|piece| piece.seq <= have) {
                events.push(Event::Acknowledged { have });
            }
            let pieces = kept.conversation.guidance.values();
            let late = pieces.filter(|piece| match piece.state {
                GuidanceState::Queued => true,
                GuidanceState::Sent => piece.seq > have,
                GuidanceState::Acknowledged | GuidanceState::Late | GuidanceState::Retracted => {
                    false
                }
            });
            let ids: Vec<GuidanceId> = late.map(|piece| piece.id.clone()).collect();
            events.push(Event::Closed(Box::new(end)));
            if !ids.is_empty() {
                events.push(Event::Late { ids });
            }
            self.append(&mut kept, None, events)?;
        }
        Ok(kept.conversation.pieces(GuidanceState::Late).cloned().collect())
    }

    /// The hold on a conversation, unless it has lasted too long.
    fn hold(&self, kept: &Kept) -> Option<Hold> {
        let by = kept.conversation.held_by.clone()?;
        let left = self.settings.hold_limit.0.checked_sub(kept.held.elapsed())?;
        Some(Hold { by, seconds_left: left.as_secs_f64() })
    }

    /// Ends holds that have lasted too long or whose person `is_gone`, and notes agents of which nothing
    /// was heard for long.
    ///
    /// # Errors
    /// [`GuideError::Io`]; the others are looked after all the same.
    pub fn sweep(&self, is_gone: impl Fn(&str) -> bool) -> Result<(), GuideError> {
        let mut result = Ok(());
        for kept in self.all() {
            let mut kept = kept_of(&kept);
            if kept.conversation.end.is_some() {
                continue;
            }
            let mut events = Vec::new();
            if let Some(by) = &kept.conversation.held_by {
                let why = if kept.held.elapsed() >= self.settings.hold_limit.0 {
                    Some(ReleaseReason::Limit)
                } else if is_gone(by) {
                    Some(ReleaseReason::Gone)
                } else {
                    None
                };
                events.extend(why.map(|why| Event::Released { why }));
            }
            let is_silent = kept.heard.elapsed() >= self.settings.lost_after.0;
            if is_silent && !kept.conversation.is_lost {
                events.push(Event::Lost {});
            }
            if let Err(error) = self.append(&mut kept, None, events) {
                result = Err(error);
            }
        }
        result
    }
}
