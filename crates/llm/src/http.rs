//! The client: a request to an endpoint over HTTP, and its answer.
//!
//! One call is: wait for the [`Limiter`], reserve its cost, send, read the stream, settle, and on a
//! fault wait and try again. Redirects are not followed. What the server sends is scrubbed of keys
//! before anything else looks at it.

mod embeddings;

use crate::answer::Answer;
use crate::anthropic;
use crate::cache::write_entry;
use crate::calls::{CallRecord, CallReservation, TryOutcome};
use crate::capabilities::{Capabilities, WireProtocol};
use crate::chat::{ChatError, ChatModel, Completion, Message, Purpose, Request, Role};
use crate::endpoint::{Endpoint, EndpointError, is_loopback};
use crate::limiter::{CallPermit, Limiter};
use crate::openai;
use crate::retry::{Advice, Backoff, NextStep, TryFault, hold, next_step};
use crate::secret::scrub;
use crate::sse::{SseError, SseReader};
use crate::wire::{ApiFailure, WireFault};
use camino::{Utf8Path, Utf8PathBuf};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Response, Url};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::time::timeout;

/// Most bytes of one event of a stream.
pub(crate) const MOST_EVENT: usize = 4 << 20;
/// Most bytes of an answer.
pub(crate) const MOST_ANSWER: usize = 32 << 20;
/// Bytes of an error that are read.
const MOST_ERROR: usize = 64 << 10;
/// How long the end of a complete answer is waited for, so that the connection can be used again.
pub(crate) const AFTER_ANSWER: Duration = Duration::from_millis(500);

/// A client of one endpoint, for any number of threads.
///
/// # Examples
/// ```rust,no_run
/// use llm::{ChatClient, ChatModel, Endpoints, Message, Purpose, Request, Role};
///
/// let endpoints = Endpoints::builtin();
/// let (endpoint, model) = endpoints.resolve("openai:some-model")?;
/// let client = ChatClient::new(endpoint, None)?;
/// let request = Request::new(model, vec![Message::new(Role::User, "2 + 2?")], 16);
/// let completion = client.complete(&request, &Purpose::default())?.finished()?;
/// assert!(completion.text.contains('4'));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChatClient {
    endpoint: Endpoint,
    url: Url,
    http: reqwest::Client,
    limiter: Limiter,
    /// What is left of the endpoint's capabilities.
    capabilities: Mutex<Capabilities>,
    /// The model that answered first, for each model that was asked for.
    answered_by: Mutex<BTreeMap<String, String>>,
    calls: Option<Arc<CallRecord>>,
    /// The folder of a cache that keeps the answers.
    kept_in: Option<Utf8PathBuf>,
    /// Dropped last: connections live in it.
    runtime: tokio::runtime::Runtime,
}

/// An answer with its provider's name of the request, or why there is none.
struct Tried {
    result: Result<Completion, TryFault>,
    request_id: Option<String>,
}

impl ChatClient {
    /// A client of `endpoint` that books its calls in `calls`. It opens no connection yet.
    ///
    /// # Errors
    /// [`EndpointError::Setting`] if the certificates or the key cannot be used,
    /// [`EndpointError::Io`] if no thread can be started.
    pub fn new(endpoint: Endpoint, calls: Option<Arc<CallRecord>>) -> Result<Self, EndpointError> {
        let setting = |what: String| EndpointError::Setting { name: endpoint.name.clone(), what };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("llm")
            .enable_all()
            .build()?;
        let url = chat_url(&endpoint).map_err(setting)?;
        let http = http_client(&endpoint).map_err(setting)?;
        let limiter = Limiter::new(&endpoint);
        let capabilities = Mutex::new(endpoint.capabilities);
        let answered_by = Mutex::default();
        let kept_in = None;
        Ok(Self {
            endpoint,
            url,
            http,
            limiter,
            capabilities,
            answered_by,
            calls,
            kept_in,
            runtime,
        })
    }

    /// The same client, which books its calls in `calls`.
    #[must_use]
    pub fn booked_in(self, calls: Arc<CallRecord>) -> Self {
        Self { calls: Some(calls), ..self }
    }

    /// The same client, which keeps each answer in the folder of a [`CachedModel`] before it books
    /// it, so that no answer that is booked can be lost when the process is killed.
    ///
    /// [`CachedModel`]: crate::CachedModel
    #[must_use]
    pub fn keeping_answers(self, folder: &Utf8Path) -> Self {
        Self { kept_in: Some(folder.to_owned()), ..self }
    }

    /// The endpoint's capabilities, less those that the server has refused.
    pub fn capabilities(&self) -> Capabilities {
        *self.capabilities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a model answers: one call of at most 16 tokens.
    ///
    /// # Errors
    /// [`ChatError`].
    pub fn probe(&self, model: &str) -> Result<Completion, ChatError> {
        let messages = vec![Message::new(Role::User, "Answer with the word: yes")];
        let purpose = Purpose { role: "probe".to_owned(), ..Purpose::default() };
        self.complete(&Request::new(model, messages, 16), &purpose)
    }

    async fn call(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError> {
        let mut backoff = Backoff::new(self.endpoint.retry, &request.key());
        let mut tries = 0;
        let mut paused = Duration::ZERO;
        loop {
            let capabilities = self.capabilities();
            let body = match self.endpoint.protocol {
                WireProtocol::OpenAi => openai::body(request, capabilities),
                WireProtocol::Anthropic => anthropic::body(request, capabilities),
            };
            let body = body.to_string();
            let tokens = (body.len() / 3) as u64 + u64::from(request.max_tokens);
            let (permit, reservation) = self.start(request, purpose, tries, tokens).await?;
            let start = Instant::now();
            let tried = timeout(self.endpoint.timeouts.all, self.try_once(body)).await;
            let tried = tried.unwrap_or_else(|_| Tried {
                result: Err(broken(format!(
                    "the answer took longer than {} s",
                    self.endpoint.timeouts.all.as_secs_f64()
                ))),
                request_id: None,
            });
            let kept = match (&tried.result, &self.kept_in) {
                (Ok(completion), Some(folder)) => write_entry(folder, request, completion),
                _ => Ok(()),
            };
            if let (Some(calls), Some(reservation)) = (&self.calls, reservation) {
                let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                let outcome = booking(&tried.result);
                calls.settle(reservation, outcome, milliseconds, tried.request_id)?;
            }
            kept?;
            drop(permit);
            tries += 1;
            let fault = match tried.result {
                Ok(completion) => {
                    self.limiter.succeeded();
                    self.note_model(&request.model, &completion.model);
                    return Ok(completion);
                }
                Err(fault) => fault,
            };
            let unavailable = || ChatError::Unavailable { tries, last: fault.reason() };
            match next_step(&fault, capabilities, &self.endpoint) {
                NextStep::GiveUp(error) => return Err(error),
                NextStep::Heal(healed) => self.heal(capabilities, healed, &fault),
                NextStep::Retry(named) => {
                    let policy = self.endpoint.retry;
                    if let TryFault::Failed { failure, .. } = &fault
                        && matches!(failure.status, 429 | 529)
                    {
                        self.limiter.refused(named.map(|time| time.min(policy.longest_named)));
                    }
                    if let Some(time) = named.filter(|time| *time > policy.longest_named) {
                        paused += time;
                        if paused > policy.longest_pause {
                            return Err(unavailable());
                        }
                        self.pause(time);
                        continue;
                    }
                    let wait = backoff.next(named).ok_or_else(unavailable)?;
                    tracing::debug!(tries, ?wait, reason = fault.reason(), "a call is repeated");
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Waits until a try may begin, and reserves its cost. Where the budget has no room for it
    /// before calls in flight are settled, it waits for that without a permit, so that calls for
    /// which there is room go first.
    async fn start(
        &self,
        request: &Request,
        purpose: &Purpose,
        tries: u32,
        tokens: u64,
    ) -> Result<(CallPermit<'_>, Option<CallReservation>), ChatError> {
        loop {
            let permit = self.limiter.acquire(purpose.slot, tokens).await;
            let Some(calls) = &self.calls else { return Ok((permit, None)) };
            let settlement = calls.settlement();
            tokio::pin!(settlement);
            // From here on a settlement is not missed.
            settlement.as_mut().enable();
            if let Some(call) = calls.reserve(request, purpose, tries, self.endpoint.free)? {
                return Ok((permit, Some(call)));
            }
            permit.give_up();
            // A call in flight ends by then, unless the thread that made it has panicked.
            let longest = self.endpoint.timeouts.all;
            if timeout(longest, settlement).await.is_err() {
                let reason = format!(
                    "all that is left is reserved for calls in flight, and none of them has ended \
                     within {} s",
                    longest.as_secs_f64()
                );
                return Err(ChatError::Budget { reason });
            }
        }
    }

    /// Drops a capability that the server refuses, unless another call did so meanwhile.
    fn heal(&self, before: Capabilities, healed: Capabilities, fault: &TryFault) {
        let mut now = self.capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == before {
            *now = healed;
            tracing::warn!(
                endpoint = self.endpoint.name,
                reason = fault.reason(),
                "the endpoint takes fewer parameters than declared; now {healed:?}. Put this into \
                 `capabilities` to save the failing call"
            );
        }
    }

    fn pause(&self, time: Duration) {
        tracing::warn!(
            endpoint = self.endpoint.name,
            seconds = time.as_secs(),
            "the server asks for a pause; no call is made before it ends"
        );
        self.limiter.hold(time);
    }

    /// Warns once if a model is answered for by another one than before.
    fn note_model(&self, asked: &str, answered: &str) {
        let mut known = self.answered_by.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(asked).map(String::as_str) {
            None => {
                known.insert(asked.to_owned(), answered.to_owned());
            }
            Some(before) if before != answered => {
                tracing::warn!(model = asked, before, now = answered, "the model has changed");
                known.insert(asked.to_owned(), answered.to_owned());
            }
            Some(_) => {}
        }
    }

    async fn try_once(&self, body: String) -> Tried {
        let input_bytes = body.len();
        let sent = self
            .http
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body)
            .send();
        let first_byte = self.endpoint.timeouts.first_byte;
        let response = match timeout(first_byte, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let unreachable = error.is_connect() || error.is_builder();
                let what = self.scrub(&error_text(error));
                let fault = if unreachable { TryFault::Unreachable(what) } else { broken(what) };
                return Tried { result: Err(fault), request_id: None };
            }
            Err(_) => {
                let what = format!("no answer began within {} s", first_byte.as_secs_f64());
                return Tried { result: Err(broken(what)), request_id: None };
            }
        };
        if let Some(time) = hold(response.headers(), SystemTime::now()) {
            self.limiter.hold(time.min(self.endpoint.retry.longest_pause));
        }
        let request_id = request_id(&response).map(|id| self.scrub(&id));
        let result = if response.status().is_success() {
            self.read_answer(response, input_bytes).await
        } else {
            Err(read_failure(&self.endpoint, response).await)
        };
        Tried { result, request_id }
    }

    async fn read_answer(
        &self,
        mut response: Response,
        input_bytes: usize,
    ) -> Result<Completion, TryFault> {
        let streams = streams(&response);
        let mut answer = Answer::new(self.endpoint.protocol);
        let mut reader = SseReader::new(MOST_EVENT);
        let mut whole = Vec::new();
        let mut bytes = 0;
        loop {
            let complete = streams && answer.is_complete();
            let idle = if complete { AFTER_ANSWER } else { self.endpoint.timeouts.idle };
            let piece = match timeout(idle, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => break,
                _ if complete => break,
                Ok(Err(error)) => {
                    return Err(broken(self.scrub(&error_text(error))));
                }
                Err(_) => {
                    let what =
                        format!("no byte of the answer came within {} s", idle.as_secs_f64());
                    return Err(broken(what));
                }
            };
            bytes += piece.len();
            if bytes > MOST_ANSWER {
                return Err(malformed(format!("the answer has more than {MOST_ANSWER} bytes")));
            }
            if !streams {
                whole.extend_from_slice(&piece);
                continue;
            }
            if complete {
                continue;
            }
            let events = reader.push(&piece).map_err(|error| malformed(error.to_string()))?;
            for mut event in events {
                event.data = self.scrub(&event.data);
                answer.event(&event).map_err(|fault| wire_fault(fault, true))?;
            }
        }
        if streams {
            if !answer.is_complete() {
                reader.finish().map_err(|error: SseError| broken(error.to_string()))?;
            }
        } else {
            let text = self.scrub(&String::from_utf8_lossy(&whole));
            answer.whole(&text).map_err(|fault| wire_fault(fault, false))?;
        }
        let mut completion = answer.finish(input_bytes).map_err(|fault| wire_fault(fault, true))?;
        // A key that came in several pieces.
        completion.text = self.scrub(&completion.text);
        completion.thoughts = completion.thoughts.map(|text| self.scrub(&text));
        completion.refusal = completion.refusal.map(|text| self.scrub(&text));
        Ok(completion)
    }

    fn scrub(&self, text: &str) -> String {
        scrub(text, self.endpoint.key.as_ref()).into_owned()
    }
}

impl ChatModel for ChatClient {
    /// Answers one request and waits for the answer.
    ///
    /// # Panics
    /// On a thread of a tokio runtime, which must not block.
    ///
    /// # Errors
    /// [`ChatError`].
    fn complete(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError> {
        request.check()?;
        self.runtime.block_on(self.call(request, purpose))
    }
}

/// Where `endpoint` takes conversations.
pub(crate) fn chat_url(endpoint: &Endpoint) -> Result<Url, String> {
    let path = match endpoint.protocol {
        WireProtocol::OpenAi => openai::PATH,
        WireProtocol::Anthropic => anthropic::PATH,
    };
    endpoint.base_url.join(path).map_err(|error| error.to_string())
}

/// The client that sends requests to `endpoint`, with its key.
pub(crate) fn http_client(endpoint: &Endpoint) -> Result<reqwest::Client, String> {
    // One provider for the whole process; another part of it may have set one before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    if let Some(key) = &endpoint.key {
        let (name, value) = match endpoint.protocol {
            WireProtocol::OpenAi => ("authorization", format!("Bearer {}", key.expose())),
            WireProtocol::Anthropic => ("x-api-key", key.expose().to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|error| error.to_string())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    if endpoint.protocol == WireProtocol::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("llm/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .redirect(reqwest::redirect::Policy::none())
        // Repetitions are ours, with a reservation each.
        .retry(reqwest::retry::never())
        .connect_timeout(endpoint.timeouts.connect)
        .pool_max_idle_per_host(endpoint.concurrency);
    if is_loopback(&endpoint.base_url) {
        // A proxy would reach its own machine, and a key would travel to it unencrypted.
        builder = builder.no_proxy();
    }
    if endpoint.base_url.scheme() == "http" {
        // No certificates of the system are needed, and there may be none.
        builder = builder.tls_certs_only([]);
    } else if let Some(pem) = &endpoint.ca {
        let certificates = reqwest::Certificate::from_pem_bundle(pem)
            .map_err(|error| format!("`ca_file` holds no PEM certificates: {error}"))?;
        if certificates.is_empty() {
            return Err("`ca_file` holds no PEM certificates".to_owned());
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(error_text)
}

/// The provider's name of a request, as it sent it.
pub(crate) fn request_id(response: &Response) -> Option<String> {
    let headers = response.headers();
    let mut ids = ["x-request-id", "request-id"].iter();
    ids.find_map(|name| headers.get(*name)?.to_str().ok()).map(str::to_owned)
}

/// Whether an answer is a stream.
pub(crate) fn streams(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.trim_start().starts_with("text/event-stream"))
}

/// Reads an answer with a status of failure.
pub(crate) async fn read_failure(endpoint: &Endpoint, mut response: Response) -> TryFault {
    let scrub = |text: &str| scrub(text, endpoint.key.as_ref()).into_owned();
    let status = response.status();
    let advice = Advice::from_headers(response.headers(), SystemTime::now());
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.map(scrub);
    let mut body = Vec::new();
    // What can be read of it is enough.
    while body.len() < MOST_ERROR
        && let Ok(Ok(Some(piece))) = timeout(endpoint.timeouts.idle, response.chunk()).await
    {
        body.extend_from_slice(&piece);
    }
    body.truncate(MOST_ERROR);
    let text = scrub(&String::from_utf8_lossy(&body));
    let mut failure = ApiFailure::from_body(status.as_u16(), &text);
    if status.is_redirection() {
        let target = location.unwrap_or_else(|| "another address".to_owned());
        failure.message = format!(
            "the server redirects to {target}, which is not followed; put the address into `base_url`"
        );
    }
    TryFault::Failed { failure: Box::new(failure), advice, begun: false }
}

/// An error of a request with its causes, on one line and without the address.
pub fn error_text(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

pub(crate) fn broken(what: String) -> TryFault {
    TryFault::Broken { what, malformed: false }
}

pub(crate) fn malformed(what: String) -> TryFault {
    TryFault::Broken { what, malformed: true }
}

pub(crate) fn wire_fault(fault: WireFault, begun: bool) -> TryFault {
    match fault {
        WireFault::Malformed(what) => malformed(format!("the answer is malformed: {what}")),
        WireFault::Cut => broken("the answer ended before it was complete".to_owned()),
        WireFault::Failed(failure) => {
            TryFault::Failed { failure: Box::new(failure), advice: Advice::default(), begun }
        }
    }
}

/// How the result of a try is booked.
fn booking(result: &Result<Completion, TryFault>) -> TryOutcome {
    match result {
        Ok(completion) => TryOutcome::Answered {
            finish: completion.finish,
            usage: completion.usage,
            answered_by: completion.model.clone(),
        },
        Err(fault) if fault.may_be_billed() => TryOutcome::MaybeBilled(fault.name()),
        Err(fault) => TryOutcome::Unbilled(fault.name()),
    }
}
