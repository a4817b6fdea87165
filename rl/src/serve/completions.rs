//! `POST /v1/completions`: a prompt is continued.

use super::answer::{Part, Token};
use super::parameters::Parameters;
use super::refusal::Refusal;
use super::respond::{Answers, Form, finish_reason, ids};
use super::server::Shared;
use super::wanted::Wanted;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::block_in_place;

/// Tokens of an answer for which no limit is given, as at OpenAI.
const MAX_TOKENS: usize = 16;

/// A prompt as text or ids, or several of a kind.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "it is neither a text nor a list of texts, nor a list of ids nor one of such lists"
)]
enum Prompt {
    Text(String),
    Ids(Vec<i64>),
    Texts(Vec<String>),
    Lists(Vec<Vec<i64>>),
}

pub(super) async fn completions(
    State(shared): State<Arc<Shared>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let (answers, form) = block_in_place(|| begin(&shared, body))?;
    answers.respond(form).await
}

/// Reads a request and hands its prompts to the generator.
fn begin(
    shared: &Shared,
    body: Result<Bytes, BytesRejection>,
) -> Result<(Answers, Completion), Refusal> {
    let mut parameters = Parameters::parse(body)?;
    let wanted = Wanted::take(&mut parameters)?;
    let log_probs = log_probs(&mut parameters)?;
    let prompts = prompts(&mut parameters, shared)?;
    if parameters.take::<bool>("echo")? == Some(true) {
        let message = "`echo` is not supported: log-probabilities of prompts are not computed";
        return Err(Refusal::unsupported("echo", message));
    }
    parameters.neutral("suffix", &[json!("")])?;
    parameters.finish()?;
    let form = Completion {
        prompts: wanted.token_ids.then(|| prompts.clone()),
        copies: wanted.copies,
        log_probs,
    };
    let limit = wanted.max_tokens.unwrap_or(MAX_TOKENS);
    let answers = shared.begin("cmpl", "prompt", prompts, &wanted, limit)?;
    Ok((answers, form))
}

/// Whether the log-probabilities of the tokens are wanted.
fn log_probs(parameters: &mut Parameters) -> Result<bool, Refusal> {
    match parameters.take::<u32>("logprobs")? {
        None => Ok(false),
        Some(0) => Ok(true),
        Some(_) => Err(Refusal::unsupported(
            "logprobs",
            "of each position only the log-probability of the token that was drawn is kept; ask \
             for `logprobs: 0`",
        )),
    }
}

/// The prompts as ids. Control tokens count in text: whoever writes a whole prompt lays it out.
fn prompts(parameters: &mut Parameters, shared: &Shared) -> Result<Vec<Vec<i64>>, Refusal> {
    let encode = |text: &String| {
        let ids = shared.tokenizer.encode_with_control(text, None);
        ids.map_err(|error| Refusal::invalid("prompt", error.to_string()))
    };
    let prompt = parameters.take("prompt")?;
    let prompts = match prompt.ok_or_else(|| Refusal::invalid("prompt", "there is no `prompt`"))? {
        Prompt::Text(text) => vec![encode(&text)?],
        Prompt::Texts(texts) => texts.iter().map(encode).collect::<Result<_, _>>()?,
        Prompt::Ids(ids) => vec![ids],
        Prompt::Lists(lists) => lists,
    };
    if prompts.is_empty() || prompts.iter().any(Vec::is_empty) {
        return Err(Refusal::invalid("prompt", "a prompt needs at least one token"));
    }
    Ok(prompts)
}

struct Completion {
    /// Where they are to be told.
    prompts: Option<Vec<Vec<i64>>>,
    /// Answers per prompt.
    copies: usize,
    log_probs: bool,
}

impl Completion {
    fn log_probs(&self, tokens: &[Token]) -> Value {
        if !self.log_probs {
            return Value::Null;
        }
        let told = |tell: fn(&Token) -> Value| tokens.iter().map(tell).collect::<Vec<_>>();
        json!({
            "tokens": told(|token| String::from_utf8_lossy(&token.bytes).into()),
            "token_logprobs": told(|token| token.log_prob.into()),
            "text_offset": told(|token| token.offset.into()),
            "top_logprobs": null,
        })
    }

    fn write(&self, part: &Part, opens: bool) -> Value {
        let mut choice = json!({
            "index": part.index,
            "text": part.text,
            "logprobs": self.log_probs(&part.tokens),
            "finish_reason": finish_reason(part.reason),
        });
        if let Some(prompts) = &self.prompts {
            choice["token_ids"] = ids(&part.tokens).into();
            if opens {
                choice["prompt_token_ids"] = json!(prompts[part.index / self.copies]);
            }
        }
        choice
    }
}

impl Form for Completion {
    const OBJECTS: (&'static str, &'static str) = ("text_completion", "text_completion");

    fn choice(&mut self, whole: Part) -> Value {
        self.write(&whole, true)
    }

    fn opening(&mut self, index: usize) -> Option<Value> {
        let part = Part { index, ..Part::default() };
        self.prompts.is_some().then(|| self.write(&part, true))
    }

    fn chunks(&mut self, part: Part) -> Vec<Value> {
        let silent = part.text.is_empty() && part.reason.is_none();
        if silent && !self.log_probs && self.prompts.is_none() {
            return Vec::new();
        }
        vec![self.write(&part, false)]
    }

    fn prompts(&self, _: &mut Value) {}
}
