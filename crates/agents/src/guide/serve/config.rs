//! The settings of a guide server, and why it does not start.

use crate::guide::annotators::AnnotatorsError;
use crate::guide::error::StoreError;
use axum::http::Uri;
use camino::Utf8PathBuf;
use std::net::SocketAddr;

/// The settings of a guide server.
#[derive(Debug, Clone)]
pub struct GuideServerConfig {
    /// The folder of its store.
    pub store: Utf8PathBuf,
    /// Where it listens; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// Who may do what. Without a list, only loopback addresses may listen, and whoever reaches them may
    /// do everything, under the name `local`.
    pub annotators: Option<Utf8PathBuf>,
    /// The address that browsers use, such as `https://guide.example.org`, where a proxy is in between.
    pub public_url: Option<String>,
    /// Whether people may only look, and nothing is taken from agents: a conversation is told again in
    /// the store.
    pub is_replay: bool,
}

/// Why a guide server does not start, or fails as a whole.
#[derive(Debug, thiserror::Error)]
pub enum GuideServeError {
    /// An address that other machines can reach, without a list of who may do what.
    #[error(
        "{0} can be reached from other machines; make tokens with `agents guide token NAME --role ROLE` \
         and name their file with `--annotators`, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// A public address that is none.
    #[error("`{0}` is no address for browsers, such as `https://guide.example.org`")]
    PublicUrl(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The list of annotators cannot be used.
    #[error(transparent)]
    Annotators(#[from] AnnotatorsError),
    /// The address is in use or not available.
    #[error("failed to listen on {address}; `--listen` names another address, port 0 a free port")]
    Listen {
        /// The address to listen on.
        address: SocketAddr,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// Threads or signal handlers cannot be set up.
    #[error("failed to set up the server")]
    Runtime(#[source] std::io::Error),
}

/// The address that browsers use, in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicUrl {
    /// As browsers write it in `Origin`.
    pub(super) origin: String,
    /// As they write it in `Host`.
    pub(super) host: String,
    pub(super) is_secure: bool,
}

impl GuideServerConfig {
    /// Checks that the settings fit each other.
    pub(super) fn check(&self) -> Result<Option<PublicUrl>, GuideServeError> {
        if !self.listen.ip().is_loopback() && self.annotators.is_none() {
            return Err(GuideServeError::Open(self.listen));
        }
        let Some(text) = &self.public_url else { return Ok(None) };
        let wrong = || GuideServeError::PublicUrl(text.clone());
        let url: Uri = text.parse().map_err(|_| wrong())?;
        let scheme = url.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"));
        let (Some(scheme), Some(host)) = (scheme, url.authority()) else { return Err(wrong()) };
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
        if !is_bare || host.as_str().contains('@') {
            return Err(wrong());
        }
        let host = host.as_str().to_ascii_lowercase();
        Ok(Some(PublicUrl {
            origin: format!("{scheme}://{host}"),
            is_secure: scheme == "https",
            host,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_open_without_a_list_and_public_addresses_are_bare() {
        let config =
            |listen: &str, annotators: Option<&str>, url: Option<&str>| GuideServerConfig {
                store: "store".into(),
                listen: listen.parse().unwrap(),
                annotators: annotators.map(Into::into),
                public_url: url.map(str::to_owned),
                is_replay: false,
            };
        let open = config("0.0.0.0:1", None, None).check().unwrap_err();
        assert!(open.to_string().contains("--annotators"), "{open}");
        config("0.0.0.0:1", Some("list"), None).check().unwrap();
        let url = config("127.0.0.1:1", None, Some("https://Guide.example.org/")).check().unwrap();
        assert_eq!(url.unwrap().origin, "https://guide.example.org");
        for wrong in
            ["guide.example.org", "ftp://a", "https://a/b", "https://a?b", "https://a@b", ""]
        {
            assert!(config("127.0.0.1:1", None, Some(wrong)).check().is_err(), "{wrong}");
        }
    }
}
