//! Endpoints: where models are served, which protocol they speak, and what they can do.
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

use crate::retry::{RetryPolicy, Timeouts};
use crate::secret::{ApiKey, KeyError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use reqwest::Url;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::io;

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
struct CapabilityFields {
    schema: Option<SchemaMode>,
    temperature: Option<bool>,
    seed: Option<bool>,
    effort: Option<bool>,
    stream: Option<bool>,
    stream_usage: Option<bool>,
    old_max_tokens: Option<bool>,
}

impl CapabilityFields {
    fn over(&self, default: Capabilities) -> Capabilities {
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

/// An endpoint as a file states it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointFields {
    protocol: WireProtocol,
    base_url: String,
    key_env: Option<String>,
    key_file: Option<Utf8PathBuf>,
    #[serde(default = "default_concurrency")]
    concurrency: usize,
    #[serde(default)]
    requests_per_minute: u32,
    #[serde(default)]
    tokens_per_minute: u32,
    #[serde(default)]
    capabilities: CapabilityFields,
    model: Option<String>,
    ca_file: Option<Utf8PathBuf>,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    free: bool,
}

fn default_concurrency() -> usize {
    16
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointsFile {
    #[serde(default)]
    endpoint: BTreeMap<String, EndpointFields>,
    /// For programs in which models play roles; it is read there.
    #[serde(default, rename = "roles")]
    _roles: IgnoredAny,
}

/// An endpoint, checked.
///
/// | field | meaning | default |
/// | --- | --- | --- |
/// | `name` | its name in the file and in messages | – |
/// | `protocol` | the wire format | – |
/// | `base_url` | `http` or `https`, without credentials and query | – |
/// | `key` | sent with each request | none |
/// | `key_hint` | where the key comes from, for messages | – |
/// | `concurrency` | most calls at once, 1 to 1024 | 16 |
/// | `requests_per_minute` | most calls a minute, 0 for no limit of ours | 0 |
/// | `tokens_per_minute` | most tokens a minute, 0 for no limit of ours | 0 |
/// | `capabilities` | what it can do | those of its protocol |
/// | `ca` | PEM certificates of further authorities | none |
/// | `free` | calls cost nothing | false |
/// | `timeouts`, `retry` | when to give up | [`Timeouts`], [`RetryPolicy`] |
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// The wire format.
    pub protocol: WireProtocol,
    /// What the protocol's paths are appended to.
    pub base_url: Url,
    /// Sent with each request.
    pub key: Option<ApiKey>,
    /// Where the key comes from.
    pub key_hint: String,
    /// Most calls at once.
    pub concurrency: usize,
    /// Most calls a minute, 0 for no limit of ours.
    pub requests_per_minute: u32,
    /// Most tokens a minute, 0 for no limit of ours.
    pub tokens_per_minute: u32,
    /// What it can do.
    pub capabilities: Capabilities,
    /// PEM certificates of further authorities.
    pub ca: Option<Vec<u8>>,
    /// Calls cost nothing.
    pub free: bool,
    /// When to stop waiting for an answer.
    pub timeouts: Timeouts,
    /// When to try again.
    pub retry: RetryPolicy,
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

/// What is wrong with a model's name, a file of endpoints, or an endpoint.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The file could not be read.
    #[error("failed to read the endpoints")]
    Io(#[from] io::Error),
    /// The file is not of the form that it must have.
    #[error("line {line} of the endpoints: {message}")]
    Malformed {
        /// 1-based.
        line: usize,
        /// What is wrong. It does not quote the line, which may hold a key by mistake.
        message: String,
    },
    /// A model has no endpoint.
    #[error("`{0}` is not a model of the form `endpoint:name`, for example `openai:NAME`")]
    Unnamed(String),
    /// No endpoint has this name.
    #[error("there is no endpoint `{name}`; there are {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// A setting of an endpoint is wrong.
    #[error("endpoint `{name}`: {what}")]
    Setting {
        /// Name of the endpoint.
        name: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The key of an endpoint could not be read.
    #[error("endpoint `{name}` has no key that can be used")]
    Key {
        /// Name of the endpoint.
        name: String,
        /// Why.
        #[source]
        source: KeyError,
    },
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
#[derive(Debug, Clone)]
pub struct Endpoints {
    entries: BTreeMap<String, EndpointFields>,
    /// Values of environment variables that the built-in endpoints read.
    builtin_keys: BTreeMap<String, Option<String>>,
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
        let wrong =
            |what: &str| EndpointError::Setting { name: name.to_owned(), what: what.to_owned() };
        let base_url = base_url(&fields.base_url).map_err(|what| wrong(&what))?;
        let (key, key_hint) = self.key(name, fields)?;
        if base_url.scheme() == "http"
            && key.is_some()
            && !is_loopback(&base_url)
            && !fields.insecure
        {
            return Err(wrong(
                "the key would travel unencrypted; use `https`, or set `insecure = true` on a \
                 network that you trust",
            ));
        }
        if !(1..=1024).contains(&fields.concurrency) {
            return Err(wrong("`concurrency` is a number from 1 to 1024"));
        }
        let default = match fields.protocol {
            WireProtocol::OpenAi => Capabilities::openai(),
            WireProtocol::Anthropic => Capabilities::anthropic(),
        };
        Ok(Endpoint {
            name: name.to_owned(),
            protocol: fields.protocol,
            base_url,
            key,
            key_hint,
            concurrency: fields.concurrency,
            requests_per_minute: fields.requests_per_minute,
            tokens_per_minute: fields.tokens_per_minute,
            capabilities: fields.capabilities.over(default),
            ca: fields.ca_file.as_ref().map(fs::read).transpose()?,
            free: fields.free,
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
        })
    }

    fn key(
        &self,
        name: &str,
        fields: &EndpointFields,
    ) -> Result<(Option<ApiKey>, String), EndpointError> {
        let unusable = |source| EndpointError::Key { name: name.to_owned(), source };
        let wrong = |what| EndpointError::Setting { name: name.to_owned(), what };
        match (&fields.key_env, &fields.key_file) {
            (None, None) => Ok((None, format!("`key_env` of endpoint `{name}`"))),
            (Some(_), Some(_)) => Err(wrong("set either `key_env` or `key_file`".to_owned())),
            (Some(variable_name), None) => {
                let builtin = self.builtin_keys.get(variable_name);
                let value = builtin.cloned().unwrap_or_else(|| variable(variable_name));
                let text = value.ok_or_else(|| {
                    wrong(format!(
                        "the environment variable `{variable_name}` is not set; put the key there"
                    ))
                })?;
                let key = ApiKey::new(&text).map_err(unusable)?;
                Ok((Some(key), format!("the environment variable `{variable_name}`")))
            }
            (None, Some(path)) => {
                let key = ApiKey::from_file(path).map_err(unusable)?;
                Ok((Some(key), format!("the key in `{path}`")))
            }
        }
    }
}

/// The value of an environment variable, `None` if it is not set or empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn base_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| format!("`base_url` is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("`base_url` begins with `http://` or `https://` and a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`base_url` holds no credentials; use `key_env` or `key_file`".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("`base_url` has no query and no fragment".to_owned());
    }
    // A path is appended to the base as if that were a folder.
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Whether a URL's host is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(lines: &str) -> Result<Endpoint, EndpointError> {
        let text = format!("[endpoint.x]\nprotocol = \"openai\"\n{lines}");
        Endpoints::from_toml(&text)?.endpoint("x")
    }

    fn key_file(dir: &tempfile::TempDir) -> Utf8PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = Utf8Path::from_path(dir.path()).unwrap().join("key");
        fs::write(&path, "sk-abcdefgh12345678").unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    #[test]
    fn endpoint_least_fields_has_defaults() {
        let endpoint = endpoint("base_url = \"http://127.0.0.1:8000/v1\"").unwrap();
        assert_eq!(endpoint.base_url.as_str(), "http://127.0.0.1:8000/v1/");
        assert_eq!(endpoint.capabilities, Capabilities::openai());
        assert_eq!(endpoint.concurrency, 16);
        assert!(endpoint.key.is_none() && !endpoint.free);
    }

    #[test]
    fn endpoint_capabilities_stated_replace_defaults() {
        let line =
            "capabilities = { schema = \"json_object\", seed = false, old_max_tokens = true }";
        let endpoint = endpoint(&format!("base_url = \"http://[::1]:1\"\n{line}")).unwrap();
        let expected = Capabilities {
            schema: SchemaMode::JsonObject,
            seed: false,
            old_max_tokens: true,
            ..Capabilities::openai()
        };
        assert_eq!(endpoint.capabilities, expected);
    }

    #[test]
    fn key_over_plain_http_needs_loopback_or_consent() {
        let dir = tempfile::tempdir().unwrap();
        let key = format!("key_file = \"{}\"\n", key_file(&dir));
        for (url, more, accepted) in [
            ("https://host/v1", "", true),
            ("http://localhost:1", "", true),
            ("http://127.0.0.9:1", "", true),
            ("http://[::1]:1", "", true),
            ("http://host/v1", "", false),
            ("http://localhost.host/v1", "", false),
            ("http://10.0.0.1/v1", "", false),
            ("http://10.0.0.1/v1", "insecure = true", true),
        ] {
            let result = endpoint(&format!("base_url = \"{url}\"\n{key}{more}"));
            assert_eq!(result.is_ok(), accepted, "{url}");
        }
    }

    #[test]
    fn endpoint_wrong_settings_are_named() {
        for (lines, named) in [
            ("base_url = \"host\"", "base_url"),
            ("base_url = \"ftp://host\"", "base_url"),
            ("base_url = \"https://user:pass@host\"", "credentials"),
            ("base_url = \"https://host?key=1\"", "query"),
            ("base_url = \"https://host\"\nconcurrency = 0", "concurrency"),
            ("base_url = \"https://host\"\nkey_env = \"LLM_TEST_UNSET_KEY\"", "LLM_TEST_UNSET_KEY"),
            ("base_url = \"https://host\"\nkey_env = \"A\"\nkey_file = \"b\"", "key_file"),
        ] {
            let error = endpoint(lines).unwrap_err();
            assert!(error.to_string().contains(named), "{lines}: {error}");
        }
        let unknown =
            endpoint("base_url = \"https://host\"\napi_key = \"secret-key-1\"").unwrap_err();
        assert!(matches!(unknown, EndpointError::Malformed { line: 4, .. }), "{unknown:?}");
        assert!(!format!("{unknown:?}").contains("secret-key-1"));
    }

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

    #[test]
    fn endpoint_debug_does_not_show_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let lines = format!("base_url = \"https://host\"\nkey_file = \"{}\"", key_file(&dir));
        assert!(!format!("{:?}", endpoint(&lines).unwrap()).contains("abcdefgh"));
    }
}
