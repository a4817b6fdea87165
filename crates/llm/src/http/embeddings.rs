//! Vectors of texts from OpenAI's `embeddings`, with the retries, limits and bookings of other calls.

use super::{ChatClient, MOST_ANSWER, broken, error_text, malformed, read_failure};
use crate::calls::TryOutcome;
use crate::capabilities::WireProtocol;
use crate::chat::{ChatError, Finish, Message, Purpose, Request, Role, Usage};
use crate::embedding::EmbeddingModel;
use crate::retry::{Backoff, NextStep, TryFault, next_step};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::timeout;

const PATH: &str = "embeddings";

#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Vec<EmbeddingItem>,
    #[serde(default)]
    model: String,
    usage: Option<EmbeddingsUsage>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct EmbeddingsUsage {
    prompt_tokens: u64,
}

/// Vectors, the model that answered, and tokens read.
struct Embedded {
    vectors: Vec<Vec<f32>>,
    model: String,
    usage: Usage,
}

impl EmbeddingModel for ChatClient {
    /// Embeds the texts with one request and waits for the answer.
    ///
    /// # Panics
    /// On a thread of a tokio runtime, which must not block.
    fn embed(&self, model: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, ChatError> {
        let invalid = |what: &str| Err(ChatError::Invalid { what: what.to_owned() });
        if self.endpoint.protocol != WireProtocol::OpenAi {
            return invalid("only endpoints of OpenAI's protocol have embeddings");
        }
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        if texts.iter().any(|text| text.is_empty()) {
            return invalid("a text to embed is not empty");
        }
        self.runtime.block_on(self.embed_all(model, texts))
    }
}

impl ChatClient {
    async fn embed_all(&self, model: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, ChatError> {
        let body = json!({"model": model, "input": texts, "encoding_format": "float"}).to_string();
        let tokens = (body.len() / 3) as u64;
        // What is booked: a call that reads the texts and writes next to nothing.
        let messages = vec![Message::new(Role::User, texts.join("\n"))];
        let request = Request::new(model, messages, 1);
        let purpose = Purpose { role: "embed".to_owned(), ..Purpose::default() };
        let mut backoff = Backoff::new(self.endpoint.retry, &request.key());
        let (mut tries, mut paused) = (0, Duration::ZERO);
        loop {
            let (permit, reservation) = self.start(&request, &purpose, tries, tokens).await?;
            let start = Instant::now();
            let tried = timeout(self.endpoint.timeouts.all, self.try_embed(&body, texts.len()));
            let tried = tried.await.unwrap_or_else(|_| {
                let seconds = self.endpoint.timeouts.all.as_secs_f64();
                Err(broken(format!("the answer took longer than {seconds} s")))
            });
            if let (Some(calls), Some(reservation)) = (&self.calls, reservation) {
                let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                calls.settle(reservation, booking(&tried), milliseconds, None)?;
            }
            drop(permit);
            tries += 1;
            let fault = match tried {
                Ok(embedded) => {
                    self.limiter.succeeded();
                    self.note_model(model, &embedded.model);
                    return Ok(embedded.vectors);
                }
                Err(fault) => fault,
            };
            let unavailable = || ChatError::Unavailable { tries, last: fault.reason() };
            // No parameter can be left out, so that nothing heals.
            let named = match next_step(&fault, self.capabilities(), &self.endpoint) {
                NextStep::GiveUp(error) => return Err(error),
                NextStep::Heal(_) => {
                    let (status, said) = match &fault {
                        TryFault::Failed { failure, .. } => (failure.status, fault.reason()),
                        _ => (0, fault.reason()),
                    };
                    return Err(ChatError::Rejected { status, said });
                }
                NextStep::Retry(named) => named,
            };
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
            tokio::time::sleep(wait).await;
        }
    }

    async fn try_embed(&self, body: &str, texts: usize) -> Result<Embedded, TryFault> {
        let url = self.endpoint.base_url.join(PATH).map_err(|error| broken(error.to_string()))?;
        let sent = self
            .http
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .body(body.to_owned())
            .send();
        let first_byte = self.endpoint.timeouts.first_byte;
        let mut response = match timeout(first_byte, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let unreachable = error.is_connect() || error.is_builder();
                let what = self.scrub(&error_text(error));
                return Err(if unreachable { TryFault::Unreachable(what) } else { broken(what) });
            }
            Err(_) => {
                let seconds = first_byte.as_secs_f64();
                return Err(broken(format!("no answer began within {seconds} s")));
            }
        };
        if !response.status().is_success() {
            return Err(read_failure(&self.endpoint, response).await);
        }
        let mut whole = Vec::new();
        loop {
            match timeout(self.endpoint.timeouts.idle, response.chunk()).await {
                Ok(Ok(Some(piece))) => whole.extend_from_slice(&piece),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(broken(self.scrub(&error_text(error)))),
                Err(_) => {
                    let seconds = self.endpoint.timeouts.idle.as_secs_f64();
                    return Err(broken(format!("no byte of the answer came within {seconds} s")));
                }
            }
            if whole.len() > MOST_ANSWER {
                return Err(malformed(format!("the answer has more than {MOST_ANSWER} bytes")));
            }
        }
        read(&self.scrub(&String::from_utf8_lossy(&whole)), body.len(), texts)
    }
}

/// The vectors of an answer to a request of `bytes` with so many texts, in the order of the texts.
fn read(text: &str, bytes: usize, texts: usize) -> Result<Embedded, TryFault> {
    let wrong = |what: String| malformed(format!("the answer is malformed: {what}"));
    let answer: EmbeddingsAnswer =
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let count = answer.data.len();
    if count != texts {
        return Err(wrong(format!("it has {count} vectors for {texts} texts")));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for EmbeddingItem { index, embedding } in answer.data {
        if embedding.is_empty() {
            return Err(wrong("a vector is empty".to_owned()));
        }
        match vectors.get_mut(index) {
            Some(place @ None) => *place = Some(embedding),
            _ => {
                return Err(wrong(format!(
                    "the vector of text {index} is not asked for, or there twice"
                )));
            }
        }
    }
    let usage = match answer.usage {
        Some(usage) => Usage { input: usage.prompt_tokens, ..Usage::default() },
        None => Usage::estimate(bytes, 0),
    };
    let vectors = vectors.into_iter().flatten().collect();
    Ok(Embedded { vectors, model: answer.model, usage })
}

/// How the result of a try is booked.
fn booking(result: &Result<Embedded, TryFault>) -> TryOutcome {
    match result {
        Ok(Embedded { usage, model, .. }) => {
            TryOutcome::Answered { finish: Finish::Stop, usage: *usage, answered_by: model.clone() }
        }
        Err(fault) if fault.may_be_billed() => TryOutcome::MaybeBilled(fault.name()),
        Err(fault) => TryOutcome::Unbilled(fault.name()),
    }
}
