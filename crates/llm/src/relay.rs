//! Passing on requests that somebody else wrote: to an endpoint, with its key, within its limits.
//!
//! A relay understands as much of a request and its answer as it takes to count tokens; tools,
//! pictures and parameters of which this crate knows nothing go through. A request is sent once:
//! whoever wrote it repeats it. What the provider sends is scrubbed of keys before it is handed over.

use crate::answer::Answer;
use crate::chat::{Completion, Usage};
use crate::endpoint::{Endpoint, EndpointError};
use crate::http::{
    AFTER_ANSWER, MOST_ANSWER, MOST_EVENT, broken, chat_url, error_text, http_client, malformed,
    read_failure, request_id, streams, wire_fault,
};
use crate::limiter::Limiter;
use crate::retry::{TryFault, hold};
use crate::secret::scrub;
use crate::sse::{SseEvent, SseReader};
use crate::wire::WireFault;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};
use std::time::{Duration, SystemTime};
use tokio::time::{sleep, timeout};

/// A request that somebody else wrote.
#[derive(Debug, Clone)]
pub struct PassedRequest {
    /// Its body, in the protocol of the endpoint.
    pub body: String,
    /// Headers beside those of the endpoint; they win.
    pub headers: Vec<(String, String)>,
    /// Whether a stream is asked for.
    pub streams: bool,
    /// About how many tokens it takes, for a limit of the endpoint on tokens a minute.
    pub tokens: u64,
}

/// A part of an answer, without keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedPart {
    /// All of it, as JSON.
    Whole(String),
    /// An event of a stream.
    Event(SseEvent),
}

/// An answer that came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedAnswer {
    /// What completes it, and was not handed over yet: the caller may book the answer first. None for
    /// a stream that ended without its last event.
    pub last: Option<PassedPart>,
    /// Its tokens.
    pub usage: Usage,
    /// The model that answered, in the provider's words.
    pub answered_by: String,
    /// The answer as this crate has it; none if it calls several tools.
    pub completion: Option<Completion>,
}

/// Why there is no answer, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedFault {
    /// Its name in a record: `unreachable`, `cut`, `malformed`, `status_429`.
    pub name: String,
    /// The status that the provider answered with; none if it did not.
    pub status: Option<u16>,
    /// `error.type` of the provider's answer, or empty.
    pub kind: String,
    /// `error.code` of it, or empty.
    pub code: String,
    /// What went wrong, for whoever wrote the request.
    pub message: String,
    /// The time after which the provider wants to be asked again.
    pub retry_after: Option<Duration>,
    /// Whether the provider may have billed it.
    pub may_be_billed: bool,
    /// What it may have taken, estimated from what was sent and what came.
    pub usage: Usage,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedEnd {
    /// The end of the answer.
    pub result: Result<PassedAnswer, PassedFault>,
    /// The provider's name of the request.
    pub request_id: Option<String>,
}

/// What passes requests on to one endpoint.
#[derive(Debug)]
pub struct Relay {
    endpoint: Endpoint,
    url: Url,
    http: reqwest::Client,
    limiter: Limiter,
}

impl Relay {
    /// A relay to `endpoint`. It opens no connection yet.
    ///
    /// # Errors
    /// [`EndpointError::Setting`] if the certificates or the key cannot be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, EndpointError> {
        let setting = |what: String| EndpointError::Setting { name: endpoint.name.clone(), what };
        let url = chat_url(&endpoint).map_err(setting)?;
        let http = http_client(&endpoint).map_err(setting)?;
        let limiter = Limiter::new(&endpoint);
        Ok(Self { endpoint, url, http, limiter })
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request once, and hands over the parts of its answer as they come, all but the last.
    /// If the future is dropped, the request is given up.
    pub async fn pass_on(
        &self,
        request: PassedRequest,
        hand_over: impl FnMut(PassedPart),
    ) -> PassedEnd {
        let permit = self.limiter.acquire(0, request.tokens).await;
        let mut exchange = Exchange {
            relay: self,
            answer: Answer::new(self.endpoint.protocol),
            input_bytes: request.body.len(),
            request_id: None,
            hand_over,
        };
        let all = self.endpoint.timeouts.all;
        let ended = tokio::select! {
            ended = exchange.run(request) => ended,
            () = sleep(all) => {
                Err(broken(format!("the answer took longer than {} s", all.as_secs_f64())))
            }
        };
        drop(permit);
        exchange.conclude(ended)
    }

    fn scrub(&self, text: &str) -> String {
        scrub(text, self.endpoint.key.as_ref()).into_owned()
    }
}

/// One request and its answer.
struct Exchange<'a, F> {
    relay: &'a Relay,
    answer: Answer,
    input_bytes: usize,
    request_id: Option<String>,
    hand_over: F,
}

impl<F: FnMut(PassedPart)> Exchange<'_, F> {
    /// The last part of the answer.
    async fn run(&mut self, request: PassedRequest) -> Result<Option<PassedPart>, TryFault> {
        let Relay { endpoint, url, http, limiter } = self.relay;
        let mut sent = http
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json");
        for (name, value) in &request.headers {
            sent = sent.header(name, value);
        }
        // Without a stream, an answer begins when it is complete.
        let patience = endpoint.timeouts;
        let first = if request.streams { patience.first_byte } else { patience.all };
        let response = match timeout(first, sent.body(request.body).send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let unreachable = error.is_connect() || error.is_builder();
                let what = self.relay.scrub(&error_text(error));
                return Err(if unreachable { TryFault::Unreachable(what) } else { broken(what) });
            }
            Err(_) => {
                return Err(broken(format!("no answer began within {} s", first.as_secs_f64())));
            }
        };
        if let Some(time) = hold(response.headers(), SystemTime::now()) {
            limiter.hold(time.min(endpoint.retry.longest_pause));
        }
        self.request_id = request_id(&response).map(|id| self.relay.scrub(&id));
        if !response.status().is_success() {
            return Err(read_failure(endpoint, response).await);
        }
        if streams(&response) {
            self.read_stream(response).await
        } else {
            self.read_whole(response).await.map(Some)
        }
    }

    async fn read_whole(&mut self, mut response: Response) -> Result<PassedPart, TryFault> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(&mut response).await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MOST_ANSWER {
                return Err(too_long());
            }
        }
        let text = self.relay.scrub(&String::from_utf8_lossy(&bytes));
        self.answer.whole(&text).map_err(|fault| wire_fault(fault, false))?;
        Ok(PassedPart::Whole(text))
    }

    async fn read_stream(
        &mut self,
        mut response: Response,
    ) -> Result<Option<PassedPart>, TryFault> {
        let mut reader = SseReader::new(MOST_EVENT);
        let mut bytes = 0;
        while let Some(piece) = self.piece(&mut response).await? {
            bytes += piece.len();
            if bytes > MOST_ANSWER {
                return Err(too_long());
            }
            let events = reader.push(&piece).map_err(|error| malformed(error.to_string()))?;
            for event in events {
                let event = self.take(&event)?;
                if self.answer.is_complete() {
                    // So that the connection can be used again.
                    let _ = timeout(AFTER_ANSWER, response.chunk()).await;
                    return Ok(Some(event));
                }
                (self.hand_over)(event);
            }
        }
        reader.finish().map_err(|error| broken(error.to_string()))?;
        Ok(None)
    }

    async fn piece(&self, response: &mut Response) -> Result<Option<Vec<u8>>, TryFault> {
        let idle = self.relay.endpoint.timeouts.idle;
        match timeout(idle, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece.map(|piece| piece.to_vec())),
            Ok(Err(error)) => Err(broken(self.relay.scrub(&error_text(error)))),
            Err(_) => {
                let seconds = idle.as_secs_f64();
                Err(broken(format!("no byte of the answer came within {seconds} s")))
            }
        }
    }

    /// Counts an event, which is refused if it completes a key that began in an earlier one.
    fn take(&mut self, event: &SseEvent) -> Result<PassedPart, TryFault> {
        let name = self.relay.scrub(&event.name);
        let event = SseEvent { name, data: self.relay.scrub(&event.data) };
        self.answer.event(&event).map_err(|fault| wire_fault(fault, true))?;
        if let Some(key) = &self.relay.endpoint.key {
            let (key, length) = (key.expose(), event.data.len());
            let ends = self.answer.texts().map(|text| {
                let from = text.len().saturating_sub(key.len() + length);
                let from = (0..=from).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                &text[from..]
            });
            if ends.iter().any(|end| end.contains(key)) {
                return Err(malformed("the answer holds the key of the endpoint".to_owned()));
            }
        }
        Ok(PassedPart::Event(event))
    }

    fn conclude(self, ended: Result<Option<PassedPart>, TryFault>) -> PassedEnd {
        let Self { relay, answer, input_bytes, request_id, .. } = self;
        let written = answer.texts().iter().map(|text| text.len()).sum();
        let (usage, answered_by) = (answer.usage(input_bytes), answer.model().to_owned());
        let result = ended.and_then(|last| match answer.finish(input_bytes) {
            Ok(completion) => Ok((last, Some(completion))),
            // More than this crate asks for itself, such as several tools.
            Err(WireFault::Malformed(_)) => Ok((last, None)),
            Err(fault) => Err(wire_fault(fault, true)),
        });
        let result = match result {
            Ok((last, completion)) => {
                relay.limiter.succeeded();
                Ok(PassedAnswer { last, usage, answered_by, completion })
            }
            Err(fault) => {
                if let TryFault::Failed { failure, advice, .. } = &fault
                    && matches!(failure.status, 429 | 529)
                {
                    relay.limiter.refused(advice.after);
                }
                Err(passed_fault(&fault, Usage::estimate(input_bytes, written)))
            }
        };
        PassedEnd { result, request_id }
    }
}

fn too_long() -> TryFault {
    malformed(format!("the answer has more than {MOST_ANSWER} bytes"))
}

fn passed_fault(fault: &TryFault, usage: Usage) -> PassedFault {
    let (status, kind, code, retry_after) = match fault {
        TryFault::Failed { failure, advice, .. } => {
            (Some(failure.status), failure.kind.clone(), failure.code.clone(), advice.after)
        }
        TryFault::Unreachable(_) | TryFault::Broken { .. } => {
            (None, String::new(), String::new(), None)
        }
    };
    let message = match fault {
        TryFault::Failed { failure, .. } => failure.message.clone(),
        other => other.reason(),
    };
    let (name, may_be_billed) = (fault.name(), fault.may_be_billed());
    PassedFault { name, status, kind, code, message, retry_after, may_be_billed, usage }
}
