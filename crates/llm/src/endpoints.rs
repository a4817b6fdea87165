//! All known endpoints by name.
//!
//! `openai` and `anthropic` are built in. Others come from a TOML file, which never holds a key:
//!
//! ```toml
//! [endpoint.local]
//! protocol = "openai"
//! base_url = "http://127.0.0.1:8000/v1"
//! free = true
//! capabilities = { schema = "text", old_max_tokens = true }
//! ```

use crate::capabilities::{CapabilityFields, WireProtocol};
use crate::endpoint::{Endpoint, EndpointError, EndpointFields, default_concurrency};
use camino::Utf8Path;
use fs_err as fs;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointsFile {
    #[serde(default)]
    endpoint: BTreeMap<String, EndpointFields>,
    /// For programs in which models play roles; it is read there.
    #[serde(default, rename = "roles")]
    _roles: IgnoredAny,
}

/// The parts of a model's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    /// Name of the endpoint.
    pub endpoint: &'a str,
    /// The provider's name of the model.
    pub model: &'a str,
    /// Calls cost nothing.
    pub free: bool,
}

/// All known endpoints by name.
///
/// # Examples
/// ```rust
/// # #[cfg(feature = "http")] {
/// use llm::Endpoints;
///
/// let endpoints = Endpoints::from_toml(
///     r#"
///     [endpoint.local]
///     protocol = "openai"
///     base_url = "http://127.0.0.1:8000/v1"
///     free = true
///     "#,
/// )?;
/// let (endpoint, model) = endpoints.resolve("local:qwen3:8b")?;
/// assert_eq!((endpoint.name.as_str(), model), ("local", "qwen3:8b"));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Endpoints {
    entries: BTreeMap<String, EndpointFields>,
    /// Values of environment variables that the built-in endpoints read.
    builtin_keys: BTreeMap<String, Option<String>>,
}

impl fmt::Debug for Endpoints {
    /// Without keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Endpoints {
    /// The built-in ones alone.
    pub fn builtin() -> Self {
        let entry =
            |protocol, base_url: Option<String>, default: &str, key_env: &str| EndpointFields {
                protocol,
                base_url: base_url.unwrap_or_else(|| default.to_owned()),
                key_env: Some(key_env.to_owned()),
                key_file: None,
                concurrency: default_concurrency(),
                requests_per_minute: 0,
                tokens_per_minute: 0,
                capabilities: CapabilityFields::default(),
                model: None,
                ca_file: None,
                insecure: false,
                free: false,
            };
        let openai = entry(
            WireProtocol::OpenAi,
            variable("OPENAI_BASE_URL"),
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
        );
        let anthropic = entry(
            WireProtocol::Anthropic,
            variable("ANTHROPIC_BASE_URL"),
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
        );
        let keys = [
            ("OPENAI_API_KEY", variable("OPENAI_API_KEY")),
            ("ANTHROPIC_API_KEY", variable("ANTHROPIC_API_KEY")),
        ];
        Self {
            entries: [("openai".to_owned(), openai), ("anthropic".to_owned(), anthropic)].into(),
            builtin_keys: keys.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }

    /// The built-in ones and those of a TOML text, which may replace built-in ones.
    ///
    /// # Errors
    /// [`EndpointError::Malformed`].
    pub fn from_toml(text: &str) -> Result<Self, EndpointError> {
        let mut endpoints = Self::builtin();
        let file: EndpointsFile = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|&byte| byte == b'\n').count() + 1;
            EndpointError::Malformed { line, message: error.message().to_owned() }
        })?;
        endpoints.entries.extend(file.endpoint);
        Ok(endpoints)
    }

    /// The built-in ones and those of a TOML file.
    ///
    /// # Errors
    /// [`EndpointError::Io`] and [`EndpointError::Malformed`].
    pub fn from_file(path: &Utf8Path) -> Result<Self, EndpointError> {
        Self::from_toml(&fs::read_to_string(path)?)
    }

    /// The endpoint and the provider's name of a model written `endpoint:name`, or `endpoint` alone
    /// if its `model` is set.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn resolve<'a>(&'a self, model: &'a str) -> Result<(Endpoint, &'a str), EndpointError> {
        let ModelName { endpoint, model, .. } = self.model(model)?;
        Ok((self.endpoint(endpoint)?, model))
    }

    /// The parts of a model's name, written as [`Endpoints::resolve`] takes it. No key is read.
    ///
    /// # Errors
    /// [`EndpointError::Unnamed`], [`EndpointError::Unknown`].
    pub fn model<'a>(&'a self, name: &'a str) -> Result<ModelName<'a>, EndpointError> {
        let (endpoint, model) = match name.split_once(':') {
            Some((endpoint, model)) => (endpoint, Some(model)),
            None => (name, None),
        };
        let unnamed = || EndpointError::Unnamed(name.to_owned());
        if model.is_some_and(str::is_empty) {
            return Err(unnamed());
        }
        let fields = match (self.entries.get(endpoint), model) {
            (Some(fields), _) => fields,
            (None, None) => return Err(unnamed()),
            (None, Some(_)) => return Err(self.unknown(endpoint)),
        };
        let model = model.or(fields.model.as_deref()).ok_or_else(unnamed)?;
        Ok(ModelName { endpoint, model, free: fields.free })
    }

    fn unknown(&self, name: &str) -> EndpointError {
        let known: Vec<String> = self.entries.keys().map(|name| format!("`{name}`")).collect();
        EndpointError::Unknown { name: name.to_owned(), known: known.join(", ") }
    }

    /// The endpoint `name`, with its key.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn endpoint(&self, name: &str) -> Result<Endpoint, EndpointError> {
        let fields = self.entries.get(name).ok_or_else(|| self.unknown(name))?;
        let builtin = |name: &str| self.builtin_keys.get(name).cloned();
        Endpoint::new(name, fields, |name| builtin(name).unwrap_or_else(|| variable(name)))
    }
}

/// The value of an environment variable, `None` if it is not set or empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolve_splits_at_the_first_colon() {
        let endpoints = Endpoints::from_toml(
            "[endpoint.local]\nprotocol = \"anthropic\"\nbase_url = \"http://localhost:1\"",
        )
        .unwrap();
        let (endpoint, model) = endpoints.resolve("local:qwen3:8b").unwrap();
        assert_eq!((endpoint.protocol, model), (WireProtocol::Anthropic, "qwen3:8b"));
        let named = Endpoints::from_toml(
            "[endpoint.local]\nprotocol = \"openai\"\nbase_url = \"http://localhost:1\"\n\
             model = \"qwen3:8b\"\n[roles]\nmodel = \"local\"",
        )
        .unwrap();
        assert_eq!(named.resolve("local").unwrap().1, "qwen3:8b");
        assert_eq!(named.resolve("local:other").unwrap().1, "other");
        for (model, said) in [
            ("local", "`local` is not a model of the form"),
            ("local:", "`local:` is not a model of the form"),
            ("other:m", "there are `anthropic`, `local`, `openai`"),
        ] {
            let error = endpoints.resolve(model).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
