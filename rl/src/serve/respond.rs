//! Answers to a response: all at once, or as they are made.

use super::answer::{Answer, Part, Reason, Token};
use super::refusal::Refusal;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt};
use serde_json::{Value, json};
use std::convert::Infallible;

/// How one kind of completion is written.
pub(super) trait Form: Send + 'static {
    /// The kind of a whole response and of a chunk.
    const OBJECTS: (&'static str, &'static str);

    /// An answer, whole.
    fn choice(&mut self, whole: Part) -> Value;

    /// What a stream says of an answer before it has begun.
    fn opening(&mut self, index: usize) -> Option<Value>;

    /// What a stream says of a part.
    fn chunks(&mut self, part: Part) -> Vec<Value>;

    /// Adds what is told of prompts to a response or to the first chunk.
    fn prompts(&self, response: &mut Value);
}

/// What all chunks of a response share.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
}

/// The answers of one request, not yet made.
pub(super) struct Answers {
    pub(super) head: Head,
    /// One after the other for each prompt.
    pub(super) made: Vec<Answer>,
    pub(super) prompt_tokens: usize,
    /// Whether they are told as they are made.
    pub(super) stream: bool,
    /// Whether a streamed response ends with its counts.
    pub(super) usage: bool,
}

type Parts = SelectAll<BoxStream<'static, Result<Part, Refusal>>>;

impl Answers {
    /// The parts of all answers, as they come.
    fn parts(answers: Vec<Answer>) -> Parts {
        let parts = |answer| {
            stream::unfold(answer, |mut answer: Answer| async {
                answer.next().await.map(|part| (part, answer))
            })
            .boxed()
        };
        stream::select_all(answers.into_iter().map(parts))
    }

    /// The response, written as `form` has it.
    pub(super) async fn respond<F: Form>(self, form: F) -> Result<Response, Refusal> {
        if self.stream { Ok(self.streamed(form)) } else { self.whole(form).await }
    }

    /// Waits for all answers.
    async fn whole<F: Form>(self, mut form: F) -> Result<Response, Refusal> {
        let Self { head, made, prompt_tokens, .. } = self;
        let mut whole: Vec<Part> =
            (0..made.len()).map(|index| Part { index, ..Part::default() }).collect();
        let mut parts = Self::parts(made);
        while let Some(part) = parts.next().await {
            let part = part?;
            whole[part.index].extend(part);
        }
        let tokens = whole.iter().map(|part| part.tokens.len()).sum();
        let choices: Vec<Value> = whole.into_iter().map(|part| form.choice(part)).collect();
        let mut response = head.response(F::OBJECTS.0, &choices);
        response["usage"] = counts(prompt_tokens, tokens);
        form.prompts(&mut response);
        Ok(page(&response))
    }

    /// Says what is made as it is made, as server-sent events.
    fn streamed<F: Form>(self, mut form: F) -> Response {
        let Self { head, made, prompt_tokens, usage, .. } = self;
        let opening = (0..made.len()).filter_map(|index| form.opening(index)).collect();
        let parts = Some(Self::parts(made));
        let teller =
            Teller { head, form, opening, parts, prompt_tokens, tokens: 0, usage, prompts: false };
        let events = stream::unfold(teller, |mut teller| async {
            teller.next().await.map(|events| (Ok::<_, Infallible>(events), teller))
        });
        let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
        (headers, Body::from_stream(events)).into_response()
    }
}

/// Writes the events of a streamed response.
struct Teller<F> {
    head: Head,
    form: F,
    /// What comes before the first part.
    opening: Vec<Value>,
    /// Nothing after the last event.
    parts: Option<Parts>,
    prompt_tokens: usize,
    tokens: usize,
    usage: bool,
    /// Whether the prompts were told of.
    prompts: bool,
}

impl<F: Form> Teller<F> {
    /// The next events, or nothing after the last ones.
    async fn next(&mut self) -> Option<String> {
        let mut choices = std::mem::take(&mut self.opening);
        while choices.is_empty() {
            match self.parts.as_mut()?.next().await {
                Some(Ok(part)) => {
                    self.tokens += part.tokens.len();
                    choices = self.form.chunks(part);
                }
                Some(Err(refusal)) => {
                    self.parts = None;
                    return Some(event(&refusal.to_json()));
                }
                None => {
                    self.parts = None;
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
            self.form.prompts(&mut chunk);
        }
        chunk
    }

    fn end(&mut self) -> String {
        let mut text = String::new();
        if self.usage {
            let mut chunk = self.chunk(&[]);
            chunk["usage"] = counts(self.prompt_tokens, self.tokens);
            text = event(&chunk);
        }
        text + "data: [DONE]\n\n"
    }
}

impl Head {
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

fn counts(prompt: usize, answers: usize) -> Value {
    json!({
        "prompt_tokens": prompt, "completion_tokens": answers, "total_tokens": prompt + answers,
    })
}

/// Why an answer is over, in OpenAI's word.
pub(super) fn finish_reason(reason: Option<Reason>) -> Value {
    match reason {
        None => Value::Null,
        Some(Reason::Stop) => "stop".into(),
        Some(Reason::Length) => "length".into(),
    }
}

/// The ids of tokens.
pub(super) fn ids(tokens: &[Token]) -> Vec<i64> {
    tokens.iter().map(|token| token.id).collect()
}
