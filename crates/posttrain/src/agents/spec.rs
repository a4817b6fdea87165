//! `agent.toml`: what an agent is, and what it needs.

use super::mode::Mode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Variables that the workspace sets, which an agent cannot set for itself.
pub(crate) const RESERVED: [&str; 21] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "BASE_MODEL",
    "CHAT_MODEL",
    "CHAT_PROTOCOL",
    "CUDA_VISIBLE_DEVICES",
    "DATA_PATH",
    "GRADING_SERVER_URL",
    "GRADING_TOKEN",
    "HOME",
    "MODEL_PATH",
    "MODE",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OUTPUT_DIR",
    "PATH",
    "SEED",
    "TASK",
    "TMPDIR",
    "TOOLBOX",
    "WORKSPACE",
];

/// What an agent names as its chat model that asks whichever the run has.
pub const ANY_MODEL: &str = "any";

/// What `agent.toml` says.
///
/// # Examples
/// ```rust
/// use posttrain::agents::{AgentSpec, Need};
///
/// let text = r#"
/// name = "mine"
/// description = "Fine-tunes once and submits."
/// start = ["bash", "start.sh"]
/// needs = ["rl"]
/// modes = ["free", "sft-only"]
/// "#;
/// let spec = AgentSpec::from_toml(text)?;
/// assert_eq!(spec.needs, [Need::Rl]);
/// # Ok::<(), posttrain::agents::SpecError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    /// Its name: lower-case letters, digits, `-` and `/`.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// The program and its arguments. A word that is the name of a file in the agent's folder stands
    /// for that file.
    pub start: Vec<String>,
    /// Variables of its environment, beside those of the workspace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// What it cannot do without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// The chat model that it asks, or [`ANY_MODEL`]. An agent without one gets no gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The modes that it knows.
    pub modes: Vec<Mode>,
}

/// Something that an agent cannot do without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Need {
    /// The program `rl` in the toolbox.
    Rl,
    /// A GPU.
    Gpu,
    /// A chat model, behind the gateway.
    Model,
    /// Node.js.
    Node,
    /// A host of the network, which a box does not reach.
    Host(String),
}

impl TryFrom<String> for Need {
    type Error = String;
    fn try_from(given: String) -> Result<Self, String> {
        match given.as_str() {
            "rl" => Ok(Self::Rl),
            "gpu" => Ok(Self::Gpu),
            "model" => Ok(Self::Model),
            "node" => Ok(Self::Node),
            _ => match given.strip_prefix("host:") {
                Some(host) if !host.is_empty() => Ok(Self::Host(host.to_owned())),
                _ => Err(format!("`{given}` is no need; one of rl, gpu, model, node, host:NAME")),
            },
        }
    }
}

impl From<Need> for String {
    fn from(need: Need) -> Self {
        match need {
            Need::Rl => "rl".to_owned(),
            Need::Gpu => "gpu".to_owned(),
            Need::Model => "model".to_owned(),
            Need::Node => "node".to_owned(),
            Need::Host(host) => format!("host:{host}"),
        }
    }
}

/// Why an `agent.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It has other keys or types.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A value is wrong.
    #[error("`{key}` {what}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong with its value.
        what: String,
    },
}

impl AgentSpec {
    /// Reads the text of an `agent.toml`.
    ///
    /// # Errors
    /// [`SpecError`].
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        let spec: Self = toml::from_str(text)?;
        let wrong = |key, what: &str| Err(SpecError::Value { key, what: what.to_owned() });
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c);
        if spec.name.is_empty() || !spec.name.chars().all(plain) {
            return wrong("name", "has lower-case letters, digits, `-` and `/`, at least one");
        }
        if spec.start.first().is_none_or(String::is_empty) {
            return wrong("start", "names a program");
        }
        if spec.modes.is_empty() {
            return wrong("modes", "has at least one of free, sft-only, rl-oriented, multi");
        }
        if let Some(name) = spec.env.keys().find(|name| RESERVED.contains(&name.as_str())) {
            let what = format!("sets {name}, which the workspace sets");
            return Err(SpecError::Value { key: "env", what });
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = 'a'\ndescription = 'd'\nstart = ['sh']\nmodes = ['free']\n";

    #[test]
    fn needs_are_read_as_written() {
        let text =
            format!("{GOOD}needs = ['rl', 'gpu', 'node', 'host:api.example.org', 'model']\n");
        let spec = AgentSpec::from_toml(&text).unwrap();
        assert_eq!(spec.needs[3], Need::Host("api.example.org".to_owned()));
        assert_eq!(AgentSpec::from_toml(&toml::to_string(&spec).unwrap()).unwrap(), spec);
    }

    #[test]
    fn wrong_values_are_refused_with_their_key() {
        for (wrong, key) in [
            (GOOD.replace("'a'", "'A b'"), "name"),
            (GOOD.replace("['sh']", "[]"), "start"),
            (GOOD.replace("['free']", "[]"), "modes"),
            (GOOD.replace("['free']", "['other']"), "other"),
            (format!("{GOOD}needs = ['network']\n"), "host:NAME"),
            (format!("{GOOD}[env]\nGRADING_TOKEN = 'x'\n"), "GRADING_TOKEN"),
            (format!("{GOOD}[env]\nOPENAI_API_KEY = 'x'\n"), "OPENAI_API_KEY"),
            (format!("{GOOD}cmd = 'x'\n"), "cmd"),
        ] {
            let error = AgentSpec::from_toml(&wrong).unwrap_err().to_string();
            assert!(error.contains(key), "{wrong}: {error}");
        }
    }
}
