//! What an endpoint can do: its protocol, how it is made to answer in a schema, its parameters.

use serde::Deserialize;

/// The wire format of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireProtocol {
    /// OpenAI Chat Completions.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

impl WireProtocol {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// How an endpoint is made to answer in a schema, from the strictest way to the loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The schema is a parameter, and the server enforces it.
    Schema,
    /// The model must call a tool with this schema.
    Tool,
    /// The server enforces some JSON object; the schema is in the prompt.
    JsonObject,
    /// The schema is in the prompt.
    Text,
}

impl SchemaMode {
    /// The next looser way, `None` after the last.
    pub(crate) fn looser(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Tool),
            Self::Tool => Some(Self::JsonObject),
            Self::JsonObject => Some(Self::Text),
            Self::Text => None,
        }
    }
}

/// What an endpoint can do.
///
/// | field | meaning | `openai` | `anthropic` |
/// | --- | --- | --- | --- |
/// | `schema` | how answers get a schema | `schema` | `schema` |
/// | `temperature` | takes `temperature` and `top_p` | true | true |
/// | `seed` | takes `seed` (OpenAI's protocol only) | true | false |
/// | `effort` | takes an effort | true | true |
/// | `stream` | streams answers | true | true |
/// | `stream_usage` | takes `stream_options` (OpenAI's protocol only) | true | false |
/// | `old_max_tokens` | wants `max_tokens`, not `max_completion_tokens` (OpenAI's protocol only) | false | false |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter that servers take or not")]
pub struct Capabilities {
    /// How answers get a schema.
    pub schema: SchemaMode,
    /// Takes `temperature` and `top_p`.
    pub temperature: bool,
    /// Takes `seed`.
    pub seed: bool,
    /// Takes an effort.
    pub effort: bool,
    /// Streams answers.
    pub stream: bool,
    /// Takes `stream_options`.
    pub stream_usage: bool,
    /// Wants `max_tokens` rather than `max_completion_tokens`.
    pub old_max_tokens: bool,
}

impl Capabilities {
    /// Those of OpenAI's own endpoint.
    pub fn openai() -> Self {
        Self {
            schema: SchemaMode::Schema,
            temperature: true,
            seed: true,
            effort: true,
            stream: true,
            stream_usage: true,
            old_max_tokens: false,
        }
    }

    /// Those of Anthropic's own endpoint.
    pub fn anthropic() -> Self {
        Self { seed: false, stream_usage: false, ..Self::openai() }
    }
}

/// Capabilities as a file states them: what is left out has the protocol's default.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapabilityFields {
    schema: Option<SchemaMode>,
    temperature: Option<bool>,
    seed: Option<bool>,
    effort: Option<bool>,
    stream: Option<bool>,
    stream_usage: Option<bool>,
    old_max_tokens: Option<bool>,
}

impl CapabilityFields {
    /// The capabilities, where `default` fills what is left out.
    pub(crate) fn over(&self, default: Capabilities) -> Capabilities {
        Capabilities {
            schema: self.schema.unwrap_or(default.schema),
            temperature: self.temperature.unwrap_or(default.temperature),
            seed: self.seed.unwrap_or(default.seed),
            effort: self.effort.unwrap_or(default.effort),
            stream: self.stream.unwrap_or(default.stream),
            stream_usage: self.stream_usage.unwrap_or(default.stream_usage),
            old_max_tokens: self.old_max_tokens.unwrap_or(default.old_max_tokens),
        }
    }
}
