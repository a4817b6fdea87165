//! A conversation in a store of this process.

use super::{Channel, Lost};
use crate::guide::error::GuideError;
use crate::guide::exchange::{Delivery, Opened, Update};
use crate::guide::guidance::PostedGuidance;
use crate::guide::ids::ConversationId;
use crate::guide::store::Store;
use crate::guide::turn::{End, Opening};
use std::sync::Arc;
use tasks::text::with_causes;

/// A conversation in a store of this process.
#[derive(Debug, Clone)]
pub struct LocalChannel(pub Arc<Store>);

impl From<GuideError> for Lost {
    fn from(error: GuideError) -> Self {
        let why = with_causes(&error);
        match error {
            GuideError::Io(_) | GuideError::Journal(_) => Self::Away(why),
            GuideError::Unknown(_) | GuideError::Ahead { .. } => Self::Forgotten(why),
            _ => Self::Refused(why),
        }
    }
}

impl Channel for LocalChannel {
    fn open(&mut self, id: &ConversationId, opening: &Opening) -> Result<Opened, Lost> {
        Ok(self.0.open_conversation(id, opening.clone())?)
    }

    fn exchange(&mut self, id: &ConversationId, update: &Update) -> Result<Delivery, Lost> {
        Ok(self.0.exchange(id, update.clone())?)
    }

    fn close(
        &mut self,
        id: &ConversationId,
        have: u64,
        end: &End,
    ) -> Result<Vec<PostedGuidance>, Lost> {
        Ok(self.0.close_conversation(id, have, end.clone())?)
    }
}
