//! Requests to a chat model, completions, and why there is none.

use serde::{Deserialize, Serialize};
use std::io;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The caller.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its text.
    pub content: String,
}

impl Message {
    /// A message of `role`.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }
}

/// How much a reasoning model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// No thoughts.
    None,
    /// As few as the model can.
    Minimal,
    /// Few.
    Low,
    /// The usual amount.
    Medium,
    /// Many.
    High,
    /// As many as the model can.
    Max,
}

impl Effort {
    /// The word that both protocols use.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }
}

/// The JSON schema that an answer must have, in the subset of [`crate::schema`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerSchema {
    /// A name of letters, digits and underscores.
    pub name: String,
    /// The schema.
    pub json: serde_json::Value,
}

/// Everything that determines an answer.
///
/// | field | meaning | default of [`Request::new`] |
/// | --- | --- | --- |
/// | `model` | the provider's name of the model | – |
/// | `messages` | the conversation; the last message is the user's | – |
/// | `schema` | the form of the answer, `None` for free text | `None` |
/// | `temperature` | 0 to 2, `None` for the provider's default | `None` |
/// | `top_p` | above 0, at most 1, `None` for the provider's default | `None` |
/// | `max_tokens` | most tokens to generate, thoughts included | – |
/// | `stop` | texts that end the answer | none |
/// | `seed` | seed of the provider's sampler | `None` |
/// | `effort` | how much the model thinks | `None` |
/// | `sample` | tells answers to one prompt apart; is not sent | 0 |
///
/// # Examples
/// ```rust
/// use llm::{Message, Request, Role};
///
/// let request = Request::new("some-model", vec![Message::new(Role::User, "2 + 2?")], 16);
/// let again = Request { sample: 1, ..request.clone() };
/// assert_ne!(request.key(), again.key(), "a second answer to one prompt has its own key");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The provider's name of the model.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The form of the answer.
    #[serde(default)]
    pub schema: Option<AnswerSchema>,
    /// Sampling temperature, 0 for greedy.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Nucleus sampling: the probability mass that is kept.
    #[serde(default)]
    pub top_p: Option<f64>,
    /// Most tokens to generate, thoughts included.
    pub max_tokens: u32,
    /// Texts that end the answer.
    #[serde(default)]
    pub stop: Vec<String>,
    /// Seed of the provider's sampler.
    #[serde(default)]
    pub seed: Option<u64>,
    /// How much the model thinks.
    #[serde(default)]
    pub effort: Option<Effort>,
    /// Tells several answers to one prompt apart. It is part of the key and not sent.
    #[serde(default)]
    pub sample: u64,
}

impl Request {
    /// A request for free text with the provider's defaults.
    pub fn new(model: impl Into<String>, messages: Vec<Message>, max_tokens: u32) -> Self {
        Self {
            model: model.into(),
            messages,
            schema: None,
            temperature: None,
            top_p: None,
            max_tokens,
            stop: Vec::new(),
            seed: None,
            effort: None,
            sample: 0,
        }
    }

    /// The content address: BLAKE3 over the canonical JSON of all fields, in hexadecimal. It depends
    /// on no endpoint and no key.
    pub fn key(&self) -> String {
        let value = serde_json::to_value(self).expect("a request has string keys only");
        let mut text = String::new();
        write_canonical(&value, &mut text);
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// Checks what no provider accepts.
    ///
    /// # Errors
    /// [`ChatError::Invalid`].
    pub fn check(&self) -> Result<(), ChatError> {
        let invalid = |what: &str| Err(ChatError::Invalid { what: what.to_owned() });
        let system =
            self.messages.iter().take_while(|message| message.role == Role::System).count();
        if self.messages.iter().skip(system).any(|message| message.role == Role::System) {
            return invalid("system messages come first");
        }
        if self.messages.last().is_none_or(|message| message.role != Role::User) {
            return invalid("the last message is the user's");
        }
        if self.messages.iter().any(|message| message.content.is_empty()) {
            return invalid("a message has a text");
        }
        if self.max_tokens == 0 {
            return invalid("`max_tokens` is at least 1");
        }
        if self.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
            return invalid("`temperature` is a number from 0 to 2");
        }
        if self.top_p.is_some_and(|value| !(value > 0.0 && value <= 1.0)) {
            return invalid("`top_p` is above 0 and at most 1");
        }
        if self.schema.as_ref().is_some_and(|schema| !is_schema_name(&schema.name)) {
            return invalid("the name of a schema has 1 to 64 letters, digits and underscores");
        }
        Ok(())
    }

    /// An upper bound of the tokens that a provider reads: a token of a byte-level vocabulary is at
    /// least one byte, and each message has a few control tokens.
    pub(crate) fn most_input_tokens(&self) -> u64 {
        const PER_MESSAGE: usize = 16;
        const PER_REQUEST: usize = 512;
        let messages: usize =
            self.messages.iter().map(|message| message.content.len() + PER_MESSAGE).sum();
        // A schema is sent in a wrapper, and providers may show it to the model in another notation.
        let schema = self.schema.as_ref().map_or(0, |schema| 2 * schema.json.to_string().len());
        (messages + schema + PER_REQUEST) as u64
    }
}

fn is_schema_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// JSON with the keys of every object in order, whichever map `serde_json` was built with.
pub(crate) fn write_canonical(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&serde_json::Value::from(name.as_str()).to_string());
                text.push(':');
                write_canonical(field, text);
            }
            text.push('}');
        }
        serde_json::Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It is complete.
    Stop,
    /// It reached `max_tokens` or the end of the context.
    Length,
    /// The model or its provider declined to answer.
    Refusal,
    /// A filter of the provider removed it.
    Filter,
}

impl Finish {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Refusal => "refusal",
            Self::Filter => "filter",
        }
    }
}

/// Tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// All tokens read, cached ones included.
    pub input: u64,
    /// Of these, read from the provider's prompt cache.
    pub cached: u64,
    /// Of these, written to the provider's prompt cache.
    pub cache_written: u64,
    /// All tokens written, thoughts included.
    pub output: u64,
    /// Of these, thoughts.
    pub thinking: u64,
    /// The provider sent no usage: the numbers are estimates from the lengths of the texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// A token for every three bytes, for servers that send no usage.
    #[cfg(feature = "http")]
    pub(crate) fn estimate(input_bytes: usize, output_bytes: usize) -> Self {
        Self {
            input: input_bytes.div_ceil(3) as u64,
            output: output_bytes.div_ceil(3) as u64,
            estimated: true,
            ..Self::default()
        }
    }
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// Its text. Where the endpoint answers through a forced tool, the tool's arguments as JSON.
    pub text: String,
    /// Its thoughts, where the provider shows them.
    pub thoughts: Option<String>,
    /// Why it ended.
    pub finish: Finish,
    /// The provider's reason for a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Tokens read and written.
    pub usage: Usage,
    /// The model that answered, in the provider's words; may name a date that the request did not.
    pub model: String,
    /// The provider's name of the answer.
    pub id: String,
}

impl Completion {
    /// The completion if it is whole.
    ///
    /// # Errors
    /// [`ChatError::Truncated`] if it was cut, [`ChatError::Refused`] if it was refused or filtered.
    pub fn finished(self) -> Result<Self, ChatError> {
        match self.finish {
            Finish::Stop => Ok(self),
            Finish::Length => Err(ChatError::Truncated { output: self.usage.output }),
            Finish::Refusal => Err(ChatError::Refused { category: self.refusal }),
            Finish::Filter => {
                let category = self.refusal.unwrap_or_else(|| "content_filter".to_owned());
                Err(ChatError::Refused { category: Some(category) })
            }
        }
    }
}

/// What a call is for. It goes into the record of calls and decides which waiting call goes first;
/// it does not influence the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purpose {
    /// The slot of a corpus or the number of an episode. Lower slots go first.
    pub slot: u64,
    /// The part that the model plays, for example `strategist`.
    pub role: String,
    /// 0-based attempt of that part.
    pub attempt: u32,
    /// 0-based repair within the attempt.
    pub repair: u32,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// No provider accepts the request.
    #[error("the request is invalid: {what}")]
    Invalid {
        /// The rule that it breaks.
        what: String,
    },
    /// The provider refuses the key.
    #[error(
        "the provider refuses the key of endpoint `{endpoint}` (status {status}): {said}; set {hint}"
    )]
    Unauthorised {
        /// Name of the endpoint.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// The provider's message.
        said: String,
        /// Where the key comes from.
        hint: String,
    },
    /// The account has no credit left or has reached its spending limit.
    #[error(
        "the account of endpoint `{endpoint}` has no quota left: {said}; add credit, then go on"
    )]
    Quota {
        /// Name of the endpoint.
        endpoint: String,
        /// The provider's message.
        said: String,
    },
    /// The call might exceed the budget.
    #[error("stopped by the budget: {reason}")]
    Budget {
        /// What is spent and reserved, and what the call may cost.
        reason: String,
    },
    /// The provider rejects the request.
    #[error("the provider rejects the request (status {status}): {said}")]
    Rejected {
        /// HTTP status.
        status: u16,
        /// The provider's message.
        said: String,
    },
    /// The conversation does not fit into the model's context.
    #[error("the conversation does not fit into the context of the model: {said}")]
    ContextTooLong {
        /// The provider's message.
        said: String,
    },
    /// The model or its provider declined to answer.
    #[error("the model refused to answer{}", category.as_deref().map(|name| format!(" ({name})")).unwrap_or_default())]
    Refused {
        /// The provider's reason.
        category: Option<String>,
    },
    /// The answer reached `max_tokens`.
    #[error("the answer was cut after {output} tokens; allow more with `max_tokens`")]
    Truncated {
        /// Tokens written.
        output: u64,
    },
    /// The provider could not be reached or failed, on every try.
    #[error("no answer after {tries} tries; the last one failed because {last}")]
    Unavailable {
        /// Number of tries.
        tries: u32,
        /// Why the last one failed.
        last: String,
    },
    /// The provider's answer does not follow its protocol.
    #[error("the provider does not follow its protocol: {what}")]
    Protocol {
        /// What is wrong.
        what: String,
    },
    /// The recording has no answer to this request.
    #[error("no answer is recorded for request {key}, which begins with `{begin}`{nearest}")]
    NotRecorded {
        /// The request's content address.
        key: String,
        /// The first characters of its last message.
        begin: String,
        /// Where the nearest recorded request differs, or nothing.
        nearest: String,
    },
    /// A line of a recording or of the record of calls is malformed.
    #[error("line {line} of `{path}` is malformed")]
    Recording {
        /// The file.
        path: String,
        /// 1-based.
        line: usize,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// A file of the cache, a recording or the record of calls could not be read or written.
    #[error("failed to read or write a file of chat calls")]
    Io(#[from] io::Error),
}

impl ChatError {
    /// Whether later calls fail for the same reason, so that the run should stop and be continued
    /// once the reason is gone.
    pub fn stops_run(&self) -> bool {
        matches!(
            self,
            Self::Unauthorised { .. }
                | Self::Quota { .. }
                | Self::Budget { .. }
                | Self::Rejected { .. }
                | Self::Io(_)
        )
    }
}

/// Something that answers chat requests.
pub trait ChatModel: Send + Sync {
    /// Answers one request and waits for the answer.
    ///
    /// # Errors
    /// [`ChatError`]. A refusal or a cut answer is a [`Completion`]; see [`Completion::finished`].
    fn complete(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError>;
}

impl<M: ChatModel + ?Sized> ChatModel for &M {
    fn complete(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError> {
        (**self).complete(request, purpose)
    }
}

impl<M: ChatModel + ?Sized> ChatModel for std::sync::Arc<M> {
    fn complete(&self, request: &Request, purpose: &Purpose) -> Result<Completion, ChatError> {
        (**self).complete(request, purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(content: &str) -> Request {
        Request::new("m", vec![Message::new(Role::User, content)], 8)
    }

    #[test]
    fn key_each_field_changed_differs() {
        let base = request("a");
        let schema = AnswerSchema { name: "s".to_owned(), json: json!({"type": "object"}) };
        let others = [
            request("b"),
            Request { model: "n".to_owned(), ..base.clone() },
            Request { schema: Some(schema), ..base.clone() },
            Request { temperature: Some(0.5), ..base.clone() },
            Request { top_p: Some(0.5), ..base.clone() },
            Request { max_tokens: 9, ..base.clone() },
            Request { stop: vec!["x".to_owned()], ..base.clone() },
            Request { seed: Some(0), ..base.clone() },
            Request { effort: Some(Effort::Low), ..base.clone() },
            Request { sample: 1, ..base.clone() },
        ];
        let mut keys: Vec<String> = others.iter().chain([&base]).map(Request::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 1);
    }

    #[test]
    fn key_known_request_is_stable() {
        // Caches and recordings are found by it. `b3sum` of the canonical JSON gives the same.
        let canonical = r#"{"effort":null,"max_tokens":8,"messages":[{"content":"a","role":"user"}],"model":"m","sample":0,"schema":null,"seed":null,"stop":[],"temperature":0.7,"top_p":null}"#;
        let request = Request { temperature: Some(0.7), ..request("a") };
        assert_eq!(request.key(), blake3::hash(canonical.as_bytes()).to_hex().to_string());
    }

    #[test]
    fn canonical_json_object_has_sorted_keys() {
        let mut text = String::new();
        let value = json!({"b": [1, {"d": "\n", "c": null}], "a": 0.1});
        write_canonical(&value, &mut text);
        assert_eq!(text, r#"{"a":0.1,"b":[1,{"c":null,"d":"\n"}]}"#);
    }

    #[test]
    fn finished_each_ending_is_answer_or_error() {
        let completion = |finish| Completion {
            text: "t".to_owned(),
            thoughts: None,
            finish,
            refusal: None,
            usage: Usage { output: 7, ..Usage::default() },
            model: "m".to_owned(),
            id: String::new(),
        };
        assert!(completion(Finish::Stop).finished().is_ok());
        let cut = completion(Finish::Length).finished().unwrap_err();
        assert_eq!(
            cut.to_string(),
            "the answer was cut after 7 tokens; allow more with `max_tokens`"
        );
        let refused = completion(Finish::Refusal).finished().unwrap_err();
        assert_eq!(refused.to_string(), "the model refused to answer");
        let filtered = completion(Finish::Filter).finished().unwrap_err();
        assert_eq!(filtered.to_string(), "the model refused to answer (content_filter)");
    }

    #[test]
    fn check_each_broken_rule_is_named() {
        let base = request("a");
        assert!(base.check().is_ok());
        let message = |role| Message::new(role, "x");
        let schema = |name: &str| AnswerSchema { name: name.to_owned(), json: json!({}) };
        for (request, named) in [
            (Request { messages: Vec::new(), ..base.clone() }, "last message"),
            (Request { messages: vec![message(Role::Assistant)], ..base.clone() }, "last message"),
            (
                Request {
                    messages: vec![message(Role::User), message(Role::System), message(Role::User)],
                    ..base.clone()
                },
                "system messages",
            ),
            (request(""), "text"),
            (Request { max_tokens: 0, ..base.clone() }, "max_tokens"),
            (Request { temperature: Some(f64::NAN), ..base.clone() }, "temperature"),
            (Request { temperature: Some(2.1), ..base.clone() }, "temperature"),
            (Request { top_p: Some(0.0), ..base.clone() }, "top_p"),
            (Request { schema: Some(schema("a b")), ..base.clone() }, "schema"),
        ] {
            let error = request.check().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn upper_bound_of_input_exceeds_bytes() {
        assert!(request(&"é".repeat(100)).most_input_tokens() > 200);
    }
}
