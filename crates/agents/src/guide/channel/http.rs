//! A conversation on a guide server.

use super::{Channel, Lost};
use crate::guide::client::GuideClient;
use crate::guide::exchange::{Delivery, Opened, Update};
use crate::guide::guidance::PostedGuidance;
use crate::guide::ids::ConversationId;
use crate::guide::turn::{End, Opening};
use crate::guide::wire::{CloseBody, ClosedBody, OpenBody};
use crate::remote::ServerAddress;

/// A conversation on a guide server.
#[derive(Debug)]
pub struct HttpChannel(GuideClient);

impl HttpChannel {
    /// On the server at `address`, which is not asked yet.
    pub fn new(address: ServerAddress) -> Self {
        Self(GuideClient::new(address))
    }
}

impl Channel for HttpChannel {
    fn open(&mut self, id: &ConversationId, opening: &Opening) -> Result<Opened, Lost> {
        self.0.post("/conversations", &OpenBody { id: id.clone(), opening: opening.clone() })
    }

    fn exchange(&mut self, id: &ConversationId, update: &Update) -> Result<Delivery, Lost> {
        self.0.post(&format!("/conversations/{id}/turns"), update)
    }

    fn close(
        &mut self,
        id: &ConversationId,
        have: u64,
        end: &End,
    ) -> Result<Vec<PostedGuidance>, Lost> {
        let body = CloseBody { have, end: end.clone() };
        let closed: ClosedBody = self.0.post(&format!("/conversations/{id}/close"), &body)?;
        Ok(closed.late)
    }
}
