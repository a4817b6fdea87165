//! A conversation on a guide server.

use super::{Channel, Lost};
use crate::guide::exchange::{Delivery, Opened, Update};
use crate::guide::guidance::PostedGuidance;
use crate::guide::ids::ConversationId;
use crate::guide::turn::{End, Opening};
use crate::guide::wire::{CloseBody, ClosedBody, ErrorBody, FORGOTTEN, OpenBody};
use crate::remote::ServerAddress;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;

/// Time for a connection to stand.
const CONNECT: Duration = Duration::from_secs(2);
/// Time for an answer. Nothing on the server waits for a person.
const ANSWER: Duration = Duration::from_secs(15);
/// Largest answer.
const LARGEST: u64 = 8 << 20;

/// A conversation on a guide server.
pub struct HttpChannel {
    address: ServerAddress,
    agent: ureq::Agent,
}

impl fmt::Debug for HttpChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpChannel").field("address", &self.address).finish_non_exhaustive()
    }
}

impl HttpChannel {
    /// On the server at `address`, which is not asked yet.
    pub fn new(address: ServerAddress) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(ANSWER))
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .build();
        Self { address, agent: config.into() }
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Lost> {
        let away = |why: &dyn fmt::Display| Lost::Away(format!("{}: {why}", self.address));
        let body = serde_json::to_string(body).map_err(|error| Lost::Refused(error.to_string()))?;
        let url = format!("http://{}/api/v1{path}", self.address.authority());
        let mut request = self.agent.post(url).header("Content-Type", "application/json");
        if let Some(token) = self.address.token() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut answer = request.send(body).map_err(|error| away(&error))?;
        let status = answer.status();
        let text = answer.body_mut().with_config().limit(LARGEST).read_to_string();
        let text = text.map_err(|error| away(&error))?;
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|error| {
                let why = "does not answer as a guide server of this version does";
                Lost::Refused(format!("{} {why}: {error}", self.address))
            });
        }
        let (code, said) = match serde_json::from_str::<ErrorBody>(&text) {
            Ok(ErrorBody { code, error, .. }) => (code, error),
            Err(_) => (String::new(), format!("HTTP status {}", status.as_u16())),
        };
        let why = format!("{}: {said}", self.address);
        Err(match status.as_u16() {
            _ if code == FORGOTTEN => Lost::Forgotten(why),
            401 => Lost::Refused(format!(
                "{why}; `agents guide token NAME --role agent` makes a token, which is given as \
                 `http://agent:TOKEN@host` or in GUIDE_TOKEN"
            )),
            408 | 429 | 500.. => Lost::Away(why),
            _ => Lost::Refused(why),
        })
    }
}

impl Channel for HttpChannel {
    fn open(&mut self, id: &ConversationId, opening: &Opening) -> Result<Opened, Lost> {
        self.post("/conversations", &OpenBody { id: id.clone(), opening: opening.clone() })
    }

    fn exchange(&mut self, id: &ConversationId, update: &Update) -> Result<Delivery, Lost> {
        self.post(&format!("/conversations/{id}/turns"), update)
    }

    fn close(
        &mut self,
        id: &ConversationId,
        have: u64,
        end: &End,
    ) -> Result<Vec<PostedGuidance>, Lost> {
        let body = CloseBody { have, end: end.clone() };
        let closed: ClosedBody = self.post(&format!("/conversations/{id}/close"), &body)?;
        Ok(closed.late)
    }
}
