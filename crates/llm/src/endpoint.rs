//! An endpoint: where models are served, and how it is spoken to.

use crate::capabilities::{Capabilities, CapabilityFields, WireProtocol};
use crate::retry::{RetryPolicy, Timeouts};
use crate::secret::{ApiKey, KeyError};
use camino::Utf8PathBuf;
use fs_err as fs;
use reqwest::Url;
use serde::Deserialize;
use std::io;

/// An endpoint as a file states it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndpointFields {
    pub(crate) protocol: WireProtocol,
    pub(crate) base_url: String,
    pub(crate) key_env: Option<String>,
    pub(crate) key_file: Option<Utf8PathBuf>,
    #[serde(default = "default_concurrency")]
    pub(crate) concurrency: usize,
    #[serde(default)]
    pub(crate) requests_per_minute: u32,
    #[serde(default)]
    pub(crate) tokens_per_minute: u32,
    #[serde(default)]
    pub(crate) capabilities: CapabilityFields,
    pub(crate) model: Option<String>,
    pub(crate) ca_file: Option<Utf8PathBuf>,
    #[serde(default)]
    pub(crate) insecure: bool,
    #[serde(default)]
    pub(crate) free: bool,
}

pub(crate) fn default_concurrency() -> usize {
    16
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

impl Endpoint {
    /// The endpoint `name` of a file, with its key. `variable` gives the values of environment
    /// variables.
    ///
    /// # Errors
    /// [`EndpointError::Setting`], [`EndpointError::Key`], [`EndpointError::Io`].
    pub(crate) fn new(
        name: &str,
        fields: &EndpointFields,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EndpointError> {
        let wrong =
            |what: &str| EndpointError::Setting { name: name.to_owned(), what: what.to_owned() };
        let base_url = base_url(&fields.base_url).map_err(|what| wrong(&what))?;
        let (key, key_hint) = key(name, fields, variable)?;
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
        Ok(Self {
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
}

/// The key of the endpoint `name`, and where it comes from.
fn key(
    name: &str,
    fields: &EndpointFields,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Option<ApiKey>, String), EndpointError> {
    let unusable = |source| EndpointError::Key { name: name.to_owned(), source };
    let wrong = |what| EndpointError::Setting { name: name.to_owned(), what };
    match (&fields.key_env, &fields.key_file) {
        (None, None) => Ok((None, format!("`key_env` of endpoint `{name}`"))),
        (Some(_), Some(_)) => Err(wrong("set either `key_env` or `key_file`".to_owned())),
        (Some(variable_name), None) => {
            let text = variable(variable_name).ok_or_else(|| {
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
    use crate::capabilities::SchemaMode;
    use crate::endpoints::Endpoints;
    use camino::Utf8Path;

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
    fn endpoint_debug_does_not_show_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let lines = format!("base_url = \"https://host\"\nkey_file = \"{}\"", key_file(&dir));
        assert!(!format!("{:?}", endpoint(&lines).unwrap()).contains("abcdefgh"));
    }
}
