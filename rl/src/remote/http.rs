//! JSON over HTTP to one server.
//!
//! Nothing is tried again here: whether a request may be repeated, and where, is its sender's
//! business.

use llm::{ApiKey, error_text};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;

/// Until a connection stands.
const CONNECT: Duration = Duration::from_secs(5);
/// Most bytes of an answer. The log-probabilities of a batch are a few MiB.
const MOST_ANSWER: usize = 256 << 20;
/// The content type of most requests.
const JSON: &str = "application/json";
/// Characters of an error's text that are shown.
const MOST_MESSAGE: usize = 400;

/// A server's address, and connections to it. Clones share the connections.
#[derive(Debug, Clone)]
pub struct Server {
    address: Url,
    http: reqwest::Client,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The text is no address of a server.
    #[error("`{address}` is no address of a server, such as `http://10.0.0.5:8000`: {why}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// No connection stands, or it broke.
    #[error("{server}: {why}")]
    Connection {
        /// The server's address.
        server: String,
        /// What the connection's library says.
        why: String,
    },
    /// No answer came in time.
    #[error("{server}: no answer to `{path}` within {} s", waited.as_secs())]
    Late {
        /// The server's address.
        server: String,
        /// What was asked.
        path: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The server refused the request.
    #[error("{server}: `{path}` was refused with status {status}: {message}")]
    Status {
        /// The server's address.
        server: String,
        /// What was asked.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer's text.
        message: String,
    },
    /// The answer is not what was asked for.
    #[error("{server}: the answer to `{path}` cannot be used: {what}")]
    Answer {
        /// The server's address.
        server: String,
        /// What was asked.
        path: String,
        /// What is wrong with it.
        what: String,
    },
}

impl ServerError {
    /// The status with which the server refused, if it answered at all.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

impl Server {
    /// The server at `address`, such as `http://10.0.0.5:8000`; a path is kept as a prefix. `key`
    /// is sent as a bearer token. No connection is opened yet.
    ///
    /// # Errors
    /// [`ServerError::Address`].
    pub fn new(address: &str, key: Option<&ApiKey>) -> Result<Self, ServerError> {
        let wrong = |why: String| ServerError::Address { address: address.to_owned(), why };
        let mut url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(wrong("it must begin with `http://` or `https://`".to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
            return Err(wrong("it has a query, a fragment or a user".to_owned()));
        }
        // Paths are joined to folders.
        let prefix = format!("{}/", url.path().trim_end_matches('/'));
        url.set_path(&prefix);
        // One provider for the whole process; another part of it may have set one before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|error| wrong(error.to_string()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("rl/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            // Engines are machines of the user's own: a proxy would send conversations elsewhere.
            .no_proxy()
            .connect_timeout(CONNECT);
        if url.scheme() == "http" {
            // No certificates of the system are needed, and there may be none.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| wrong(error_text(error)))?;
        Ok(Self { address: url, http })
    }

    /// Asks for `path`, such as `health`, and reads JSON.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        timeout: Duration,
    ) -> Result<T, ServerError> {
        let bytes = self.exchange(Method::GET, path, None, timeout).await?;
        self.parse(path, &bytes)
    }

    /// Whether `path` answers with success, whatever it says.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn answers(&self, path: &str, timeout: Duration) -> Result<(), ServerError> {
        self.exchange(Method::GET, path, None, timeout).await.map(drop)
    }

    /// Posts `body` to `path` and reads JSON.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        timeout: Duration,
    ) -> Result<T, ServerError> {
        let bytes = self.tell(path, body, timeout).await?;
        self.parse(path, &bytes)
    }

    /// Posts `body` to `path` and returns the answer's bytes: for calls that are answered by
    /// nothing, or by text.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn tell(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        timeout: Duration,
    ) -> Result<Vec<u8>, ServerError> {
        let body = serde_json::to_vec(body).map_err(|error| self.unusable(path, &error))?;
        self.send(path, JSON, body, timeout).await
    }

    /// Posts bytes of another content type than JSON to `path` and returns the answer's bytes.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn send(
        &self,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, ServerError> {
        self.exchange(Method::POST, path, Some((content_type, body)), timeout).await
    }

    /// Asks for `path` to be deleted.
    ///
    /// # Errors
    /// [`ServerError`].
    pub async fn delete(&self, path: &str, timeout: Duration) -> Result<(), ServerError> {
        self.exchange(Method::DELETE, path, None, timeout).await.map(drop)
    }

    /// An error about an answer that cannot be used.
    pub fn unusable(&self, path: &str, what: &impl fmt::Display) -> ServerError {
        let (server, path) = (self.to_string(), path.to_owned());
        ServerError::Answer { server, path, what: what.to_string() }
    }

    fn parse<T: DeserializeOwned>(&self, path: &str, bytes: &[u8]) -> Result<T, ServerError> {
        serde_json::from_slice(bytes).map_err(|error| self.unusable(path, &error))
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
        timeout: Duration,
    ) -> Result<Vec<u8>, ServerError> {
        let url = self.address.join(path).map_err(|error| self.unusable(path, &error))?;
        let mut request = self.http.request(method, url).timeout(timeout);
        if let Some((content_type, body)) = body {
            request = request.header("content-type", content_type).body(body);
        }
        let broken = |error: reqwest::Error| {
            let server = self.to_string();
            if error.is_timeout() && !error.is_connect() {
                ServerError::Late { server, path: path.to_owned(), waited: timeout }
            } else {
                ServerError::Connection { server, why: error_text(error) }
            }
        };
        let mut response = request.send().await.map_err(broken)?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refusal(path, status, response).await);
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_ANSWER {
                return Err(self.unusable(path, &"it is longer than 256 MiB"));
            }
        }
        Ok(bytes)
    }

    async fn refusal(&self, path: &str, status: StatusCode, response: Response) -> ServerError {
        // The status alone says enough if the text does not arrive.
        let text = response.text().await.unwrap_or_default();
        let message: String = text.trim().chars().take(MOST_MESSAGE).collect();
        let (server, path, status) = (self.to_string(), path.to_owned(), status.as_u16());
        ServerError::Status { server, path, status, message }
    }
}

/// The address, as it is written in settings.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.address.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_written_as_given() {
        for address in ["http://10.0.0.5:8000", "https://engines.example/team/a"] {
            assert_eq!(Server::new(address, None).unwrap().to_string(), address);
            let slashed = format!("{address}/");
            assert_eq!(Server::new(&slashed, None).unwrap().to_string(), address);
        }
        let server = Server::new("https://engines.example/team/a", None).unwrap();
        let joined = server.address.join("v1/models").unwrap();
        assert_eq!(joined.as_str(), "https://engines.example/team/a/v1/models");
        for address in ["10.0.0.5:8000", "ftp://host", "http://me@host", "http://host?x=1", ""] {
            assert!(matches!(Server::new(address, None), Err(ServerError::Address { .. })));
        }
    }
}
