//! Requests to a guide server, of agents and of scripted people.

use super::channel::Lost;
use super::ids::ConversationId;
use super::wire::{ErrorBody, FORGOTTEN, LATE, PostBody};
use crate::remote::ServerAddress;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::Read;
use std::time::Duration;

/// Time for a connection to stand.
const CONNECT: Duration = Duration::from_secs(2);
/// Time for an answer. Nothing on the server waits for a person.
const ANSWER: Duration = Duration::from_secs(15);
/// Time after which a stream of events is opened again. It is resumed where it was.
const STREAM: Duration = Duration::from_mins(2);
/// Largest answer.
const LARGEST: u64 = 8 << 20;

/// A guide server, as its clients reach it.
pub(super) struct GuideClient {
    address: ServerAddress,
    agent: ureq::Agent,
}

impl fmt::Debug for GuideClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuideClient").field("address", &self.address).finish_non_exhaustive()
    }
}

impl GuideClient {
    /// The server at `address`, which is not asked yet.
    pub(super) fn new(address: ServerAddress) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(ANSWER))
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .build();
        Self { address, agent: config.into() }
    }

    /// Sends a body and reads the answer.
    pub(super) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Lost> {
        self.json(&self.send(path, body)?.map_err(|(failure, _)| failure)?)
    }

    /// Posts a piece of guidance. Returns whether it came in time; one that is late is kept as well.
    pub(super) fn post_guidance(
        &self,
        conversation: &ConversationId,
        body: &PostBody,
    ) -> Result<bool, Lost> {
        match self.send(&format!("/conversations/{conversation}/guidance"), body)? {
            Ok(_) => Ok(true),
            Err((_, code)) if code == LATE => Ok(false),
            Err((failure, _)) => Err(failure),
        }
    }

    /// The answer to a body; or why it was not followed, with the code of the server.
    fn send(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Result<String, (Lost, String)>, Lost> {
        let body = serde_json::to_string(body).map_err(|error| Lost::Refused(error.to_string()))?;
        let mut request =
            self.agent.post(self.url(path)).header("Content-Type", "application/json");
        if let Some(token) = self.address.token() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        self.read(request.send(body))
    }

    /// Reads JSON.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Lost> {
        self.json(&self.get_text(path)?)
    }

    /// Reads a text.
    pub(super) fn get_text(&self, path: &str) -> Result<String, Lost> {
        self.read(self.request(path).call())?.map_err(|(failure, _)| failure)
    }

    /// Opens the stream of events, of which headlines alone are asked for.
    pub(super) fn events(&self) -> Result<impl Read + use<>, Lost> {
        let request = self.request("/events").config().timeout_global(Some(STREAM)).build();
        let answer = request.call().map_err(|error| self.away(&error))?;
        if !answer.status().is_success() {
            return Err(self.failure(answer)?.0);
        }
        Ok(answer.into_body().into_reader())
    }

    fn request(&self, path: &str) -> ureq::RequestBuilder<ureq::typestate::WithoutBody> {
        let request = self.agent.get(self.url(path));
        match self.address.token() {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/api/v1{path}", self.address.authority())
    }

    fn away(&self, why: &dyn fmt::Display) -> Lost {
        Lost::Away(format!("{}: {why}", self.address))
    }

    fn read(
        &self,
        answer: Result<Answer, ureq::Error>,
    ) -> Result<Result<String, (Lost, String)>, Lost> {
        let mut answer = answer.map_err(|error| self.away(&error))?;
        if !answer.status().is_success() {
            return self.failure(answer).map(Err);
        }
        let text = answer.body_mut().with_config().limit(LARGEST).read_to_string();
        text.map(Ok).map_err(|error| self.away(&error))
    }

    fn json<T: DeserializeOwned>(&self, text: &str) -> Result<T, Lost> {
        serde_json::from_str(text).map_err(|error| {
            let why = "does not answer as a guide server of this version does";
            Lost::Refused(format!("{} {why}: {error}", self.address))
        })
    }

    /// What a request that was not followed comes to, and the code of the server.
    fn failure(&self, mut answer: Answer) -> Result<(Lost, String), Lost> {
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(LARGEST).read_to_string();
        let text = text.map_err(|error| self.away(&error))?;
        let (code, said) = match serde_json::from_str::<ErrorBody>(&text) {
            Ok(ErrorBody { code, error, .. }) => (code, error),
            Err(_) => (String::new(), format!("HTTP status {status}")),
        };
        let why = format!("{}: {said}", self.address);
        let failure = match status {
            _ if code == FORGOTTEN => Lost::Forgotten(why),
            401 => Lost::Refused(format!(
                "{why}; `agents guide token NAME --role ROLE` makes a token, which is given as \
                 `http://NAME:TOKEN@host` or in GUIDE_TOKEN"
            )),
            408 | 429 | 500.. => Lost::Away(why),
            _ => Lost::Refused(why),
        };
        Ok((failure, code))
    }
}

type Answer = ureq::http::Response<ureq::Body>;
