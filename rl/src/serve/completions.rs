//! `POST /v1/completions`: generates the continuation of a prompt.

use super::api_error::ApiError;
use super::choice::{ChoiceDelta, TokenLogprob};
use super::parameters::Parameters;
use super::request_options::{RequestOptions, top_count};
use super::respond::{PendingResponse, ResponseWriter, finish_reason, ids};
use super::server::InferenceState;
use super::structured::OutputForm;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::task::block_in_place;

/// The default of `max_tokens`, as at OpenAI.
const MAX_TOKENS: usize = 16;

/// A prompt as text or as ids, or several of either.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a string, a list of strings, a list of ids, or a list of lists of ids"
)]
enum PromptInput {
    Text(String),
    Ids(Vec<i64>),
    Texts(Vec<String>),
    Lists(Vec<Vec<i64>>),
}

pub(super) async fn completions(
    State(shared): State<Arc<InferenceState>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (response, writer) = block_in_place(|| begin(&shared, body))?;
    response.respond(writer).await
}

/// Reads a request and sends its prompts to the generator.
fn begin(
    shared: &InferenceState,
    body: Result<Bytes, BytesRejection>,
) -> Result<(PendingResponse, TextCompletion), ApiError> {
    let mut parameters = Parameters::parse(body)?;
    let mut options = RequestOptions::take(&mut parameters, shared.vocab_size)?;
    options.echo = parameters.take("echo")?.unwrap_or(false);
    let log_probs = top_count(&mut parameters, "logprobs")?;
    options.extras.top = log_probs.unwrap_or(0);
    options.extras.score_prompt = options.echo && log_probs.is_some();
    if let Some((form, param)) = OutputForm::take(&mut parameters)? {
        options.constrain(shared.grammar(&form, None, param)?, param)?;
    }
    let prompts = prompts(&mut parameters, shared)?;
    parameters.neutral("suffix", &[json!("")])?;
    parameters.finish()?;
    let writer = TextCompletion {
        prompts: options.token_ids.then(|| prompts.clone()),
        n: options.n,
        log_probs: log_probs.is_some(),
    };
    let limit = options.limit(MAX_TOKENS)?;
    let response = shared.begin("cmpl", "prompt", prompts, &options, limit)?;
    Ok((response, writer))
}

/// The prompts as ids. Control tokens in text are encoded as such, because no chat template is
/// applied to a prompt.
fn prompts(
    parameters: &mut Parameters,
    shared: &InferenceState,
) -> Result<Vec<Vec<i64>>, ApiError> {
    let encode = |text: &String| {
        let ids = shared.tokenizer.encode_with_control(text, None);
        ids.map_err(|error| ApiError::invalid("prompt", error.to_string()))
    };
    let prompt = parameters.take("prompt")?;
    let prompts = match prompt.ok_or_else(|| ApiError::invalid("prompt", "there is no `prompt`"))? {
        PromptInput::Text(text) => vec![encode(&text)?],
        PromptInput::Texts(texts) => texts.iter().map(encode).collect::<Result<_, _>>()?,
        PromptInput::Ids(ids) => vec![ids],
        PromptInput::Lists(lists) => lists,
    };
    if prompts.is_empty() || prompts.iter().any(Vec::is_empty) {
        return Err(ApiError::invalid("prompt", "a prompt needs at least one token"));
    }
    Ok(prompts)
}

struct TextCompletion {
    /// The ids of the prompts, if the request asks for them.
    prompts: Option<Vec<Vec<i64>>>,
    /// Choices per prompt.
    n: usize,
    log_probs: bool,
}

impl TextCompletion {
    fn log_probs(&self, delta: &ChoiceDelta) -> Value {
        if !self.log_probs {
            return Value::Null;
        }
        let each = |value: fn(&TokenLogprob) -> Value| {
            delta.echoed.iter().chain(&delta.tokens).map(value).collect::<Vec<_>>()
        };
        json!({
            "tokens": each(|token| String::from_utf8_lossy(&token.bytes).into()),
            "token_logprobs": each(|token| token.log_prob.into()),
            "text_offset": each(|token| token.offset.into()),
            "top_logprobs": each(by_text),
        })
    }

    fn write(&self, delta: &ChoiceDelta, is_first: bool) -> Value {
        let mut choice = json!({
            "index": delta.index,
            "text": delta.text,
            "logprobs": self.log_probs(delta),
            "finish_reason": finish_reason(delta.reason),
            "stop_reason": delta.stop_reason,
        });
        if let Some(prompts) = &self.prompts {
            choice["token_ids"] = ids(&delta.tokens).into();
            if is_first {
                choice["prompt_token_ids"] = json!(prompts[delta.index / self.n]);
            }
        }
        choice
    }
}

/// The log-probabilities of a token and of the likeliest ones in its place, by their texts. Of
/// tokens with the same text, such as parts of characters, the likeliest counts.
fn by_text(token: &TokenLogprob) -> Value {
    let Some(log_prob) = token.log_prob else { return Value::Null };
    let mut entries: Map<String, Value> = Map::new();
    let top = token.top.iter().map(|entry| (&entry.bytes, entry.log_prob));
    for (bytes, log_prob) in std::iter::once((&token.bytes, log_prob)).chain(top) {
        let entry = entries.entry(String::from_utf8_lossy(bytes)).or_insert(Value::Null);
        if entry.as_f64().is_none_or(|found| found < f64::from(log_prob)) {
            *entry = log_prob.into();
        }
    }
    entries.into()
}

impl ResponseWriter for TextCompletion {
    const OBJECTS: (&'static str, &'static str) = ("text_completion", "text_completion");

    fn choice(&mut self, whole: ChoiceDelta) -> Value {
        self.write(&whole, true)
    }

    fn opening(&mut self, index: usize) -> Option<Value> {
        let delta = ChoiceDelta { index, ..ChoiceDelta::default() };
        self.prompts.is_some().then(|| self.write(&delta, true))
    }

    fn chunks(&mut self, delta: ChoiceDelta) -> Vec<Value> {
        let is_empty = delta.text.is_empty() && delta.reason.is_none();
        if is_empty && !self.log_probs && self.prompts.is_none() {
            return Vec::new();
        }
        vec![self.write(&delta, false)]
    }

    fn prompts(&self, _: &mut Value) {}
}
