//! What a gateway is opened with.

use super::account::Caps;
use camino::Utf8Path;
use llm::{ChatError, EndpointError, Endpoints, MicroUsd, PriceList};
use serde::{Deserialize, Serialize};

/// What a gateway is opened with.
///
/// | field | meaning |
/// | --- | --- |
/// | `models` | each `endpoint:name`, or `replay:FILE`, a recording |
/// | `caps` | tokens and money over the whole run, at most |
/// | `endpoints` | where models are served, with keys |
/// | `prices` | what they cost |
/// | `is_recorded` | whether plain conversations are kept, for `replay:FILE` |
#[derive(Debug, Clone)]
pub struct GatewaySettings {
    /// The models that may be asked, at least one.
    pub models: Vec<String>,
    /// What they may take.
    pub caps: Caps,
    /// Where models are served.
    pub endpoints: Endpoints,
    /// What they cost.
    pub prices: PriceList,
    /// Whether conversations are recorded.
    pub is_recorded: bool,
}

/// What of the settings makes a run what it is, as `run.toml` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayRecord {
    /// The models.
    pub models: Vec<String>,
    /// Tokens read and written, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a US dollar, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro: Option<u64>,
}

impl GatewaySettings {
    /// What of them makes a run what it is.
    pub fn record(&self) -> GatewayRecord {
        GatewayRecord {
            models: self.models.clone(),
            tokens: self.caps.tokens,
            cost_micro: self.caps.cost.map(|MicroUsd(micro)| micro),
        }
    }

    /// Whether `model`, as an agent names it, is one of the models.
    pub fn names(&self, model: &str) -> bool {
        let is = |known: &String| {
            known == model || known.split_once(':').is_some_and(|(_, name)| name == model)
        };
        self.models.iter().any(is)
    }
}

/// Why there is no gateway.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// No model is named.
    #[error("a gateway needs a model; name some with --gateway-models")]
    NoModel,
    /// A model is named twice.
    #[error("the model `{0}` is named twice; leave one out")]
    Twice(String),
    /// A model's endpoint cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Money is limited, and what a model costs is not known.
    #[error(
        "--gateway-cost needs the price of `{0}`, which is unknown; add to the file of --prices, in US \
         dollars per million tokens:\n[[price]]\nmodel = \"{0}\"\ninput = \"…\"\noutput = \"…\""
    )]
    Price(String),
    /// A recording cannot be read or written.
    #[error("failed to use the recording `{path}`")]
    Recording {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: ChatError,
    },
    /// The system has no address, thread or file for it.
    #[error("failed to open the gateway to chat models")]
    Io(#[from] std::io::Error),
}

impl GatewayError {
    /// Whether the caller has to change something.
    pub fn is_the_callers(&self) -> bool {
        !matches!(self, Self::Io(_))
    }

    pub(super) fn recording(path: &Utf8Path) -> impl FnOnce(ChatError) -> Self {
        move |source| Self::Recording { path: path.to_string(), source }
    }
}
