//! The choices of a response: written at once, or streamed as server-sent events.

use super::api_error::ApiError;
use super::choice::{ChoiceDelta, ChoiceStream, FinishReason, TokenLogprob};
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt};
use serde_json::{Value, json};
use std::convert::Infallible;

/// Writes one kind of completion as JSON.
pub(super) trait ResponseWriter: Send + 'static {
    /// The key `object` of a whole response and of a chunk.
    const OBJECTS: (&'static str, &'static str);

    /// A whole choice.
    fn choice(&mut self, whole: ChoiceDelta) -> Value;

    /// The first entry of a choice in a stream, before any token; `None` if it has none.
    fn opening(&mut self, index: usize) -> Option<Value>;

    /// The entries of a delta in a stream.
    fn chunks(&mut self, delta: ChoiceDelta) -> Vec<Value>;

    /// Adds the ids of the prompts, if the request asks for them, to a response or to the first
    /// chunk.
    fn prompts(&self, response: &mut Value);
}

/// The keys that all chunks of a response share.
#[derive(Debug, Clone)]
pub(super) struct ResponseHead {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
}

/// The response to one request, whose choices are not generated yet.
pub(super) struct PendingResponse {
    pub(super) head: ResponseHead,
    /// The choices of the first prompt, then those of the next.
    pub(super) choices: Vec<ChoiceStream>,
    /// Choices per prompt.
    pub(super) n: usize,
    pub(super) prompt_tokens: usize,
    /// Whether choices are streamed.
    pub(super) stream: bool,
    /// Whether a streamed response ends with its token counts.
    pub(super) usage: bool,
}

type DeltaStream = SelectAll<BoxStream<'static, Result<ChoiceDelta, ApiError>>>;

impl PendingResponse {
    /// The deltas of all choices, in the order in which they arrive.
    fn deltas(choices: Vec<ChoiceStream>) -> DeltaStream {
        let deltas = |choice| {
            stream::unfold(choice, |mut choice: ChoiceStream| async {
                choice.next().await.map(|delta| (delta, choice))
            })
            .boxed()
        };
        stream::select_all(choices.into_iter().map(deltas))
    }

    /// The response, written by `writer`.
    pub(super) async fn respond<F: ResponseWriter>(self, writer: F) -> Result<Response, ApiError> {
        if self.stream { Ok(self.streamed(writer)) } else { self.whole(writer).await }
    }

    /// Waits for all choices.
    async fn whole<F: ResponseWriter>(self, mut writer: F) -> Result<Response, ApiError> {
        let Self { head, choices, n, prompt_tokens, .. } = self;
        let mut counts = TokenCounts { prompt: prompt_tokens, n, ..TokenCounts::default() };
        let mut whole: Vec<ChoiceDelta> = (0..choices.len())
            .map(|index| ChoiceDelta { index, ..ChoiceDelta::default() })
            .collect();
        let mut deltas = Self::deltas(choices);
        while let Some(delta) = deltas.next().await {
            let delta = delta?;
            counts.add(&delta);
            whole[delta.index].extend(delta);
        }
        let choices: Vec<Value> = whole.into_iter().map(|delta| writer.choice(delta)).collect();
        let mut response = head.response(F::OBJECTS.0, &choices);
        response["usage"] = counts.to_json();
        writer.prompts(&mut response);
        Ok(page(&response))
    }

    /// Sends each delta as it is generated, as server-sent events.
    fn streamed<F: ResponseWriter>(self, mut writer: F) -> Response {
        let Self { head, choices, n, prompt_tokens, usage, .. } = self;
        let opening = (0..choices.len()).filter_map(|index| writer.opening(index)).collect();
        let deltas = Some(Self::deltas(choices));
        let events = EventStream {
            head,
            writer,
            opening,
            deltas,
            counts: TokenCounts { prompt: prompt_tokens, n, ..TokenCounts::default() },
            usage,
            prompts: false,
        };
        let events = stream::unfold(events, |mut events| async {
            events.next().await.map(|text| (Ok::<_, Infallible>(text), events))
        });
        let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
        (headers, Body::from_stream(events)).into_response()
    }
}

/// Writes the events of a streamed response.
struct EventStream<F> {
    head: ResponseHead,
    writer: F,
    /// Entries before the first delta.
    opening: Vec<Value>,
    /// `None` after the last event.
    deltas: Option<DeltaStream>,
    counts: TokenCounts,
    usage: bool,
    /// Whether the prompts were written.
    prompts: bool,
}

impl<F: ResponseWriter> EventStream<F> {
    /// The next events; `None` after the last ones.
    async fn next(&mut self) -> Option<String> {
        let mut choices = std::mem::take(&mut self.opening);
        while choices.is_empty() {
            match self.deltas.as_mut()?.next().await {
                Some(Ok(delta)) => {
                    self.counts.add(&delta);
                    choices = self.writer.chunks(delta);
                }
                Some(Err(error)) => {
                    self.deltas = None;
                    return Some(event(&error.to_json()));
                }
                None => {
                    self.deltas = None;
                    return Some(self.end());
                }
            }
        }
        Some(choices.into_iter().map(|choice| event(&self.chunk(&[choice]))).collect())
    }

    fn chunk(&mut self, choices: &[Value]) -> Value {
        let mut chunk = self.head.response(F::OBJECTS.1, choices);
        if self.usage {
            chunk["usage"] = Value::Null;
        }
        if !self.prompts {
            self.prompts = true;
            self.writer.prompts(&mut chunk);
        }
        chunk
    }

    fn end(&mut self) -> String {
        let mut text = String::new();
        if self.usage {
            let mut chunk = self.chunk(&[]);
            chunk["usage"] = self.counts.to_json();
            text = event(&chunk);
        }
        text + "data: [DONE]\n\n"
    }
}

impl ResponseHead {
    fn response(&self, object: &str, choices: &[Value]) -> Value {
        let Self { id, created, model } = self;
        json!({
            "id": id, "object": object, "created": created, "model": model, "choices": choices,
        })
    }
}

/// A response of JSON.
pub(super) fn page(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// The tokens of a response, for the key `usage`.
#[derive(Debug, Default)]
struct TokenCounts {
    /// Tokens of all prompts.
    prompt: usize,
    /// Those of them that were cached already.
    cached: usize,
    completion: usize,
    /// Choices per prompt.
    n: usize,
}

impl TokenCounts {
    fn add(&mut self, delta: &ChoiceDelta) {
        self.completion += delta.tokens.len();
        // A prompt counts once, as its first choice found it.
        if delta.index.is_multiple_of(self.n) {
            self.cached += delta.cached_tokens;
        }
    }

    fn to_json(&self) -> Value {
        let Self { prompt, cached, completion, .. } = self;
        json!({
            "prompt_tokens": prompt, "completion_tokens": completion,
            "total_tokens": prompt + completion, "prompt_tokens_details": {"cached_tokens": cached},
        })
    }
}

/// The key `finish_reason`.
pub(super) fn finish_reason(reason: Option<FinishReason>) -> Value {
    match reason {
        None => Value::Null,
        Some(FinishReason::Stop) => "stop".into(),
        Some(FinishReason::Length) => "length".into(),
    }
}

/// The ids of tokens.
pub(super) fn ids(tokens: &[TokenLogprob]) -> Vec<i64> {
    tokens.iter().map(|token| token.id).collect()
}
