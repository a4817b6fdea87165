//! Addresses of environment servers.

use super::error::RemoteError;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::str::FromStr;
use tungstenite::http::Uri;

/// The port of `sandbox serve`, where an address names none.
const PORT: u16 = 8765;

/// The address of a server, or of several: a host name may stand for many machines, and each of
/// its IP addresses is a server of its own.
///
/// # Examples
/// ```rust
/// use agents::remote::ServerAddress;
///
/// let address: ServerAddress = "http://agent:0123456789abcdef@sandboxes:8000".parse()?;
/// // The token is never shown.
/// assert_eq!(address.to_string(), "http://sandboxes:8000");
/// assert!("https://sandboxes".parse::<ServerAddress>().is_err());
/// # Ok::<(), agents::remote::RemoteError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) token: Option<String>,
}

impl ServerAddress {
    /// Reads a list of addresses, separated by commas.
    ///
    /// # Errors
    /// [`RemoteError::Address`] of the first that cannot be used, or if there is none.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, RemoteError> {
        text.split(',').map(|address| address.trim().parse()).collect()
    }

    /// The same with a token to send, where the address has none itself.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        Self { token: self.token.or_else(|| Some(token.to_owned())), ..self }
    }

    /// Reads an address as `from_str` does, of a server whose port is `port` where it names none.
    ///
    /// # Errors
    /// [`RemoteError::Address`].
    pub fn parse_with_port(text: &str, port: u16) -> Result<Self, RemoteError> {
        read(text, port)
    }

    /// The token in it.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether it has a token in it.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Host and port, as in the header `Host`.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl FromStr for ServerAddress {
    type Err = RemoteError;

    /// Reads `http://HOST`, `http://HOST:PORT` or `http://ANYTHING:TOKEN@HOST:PORT`.
    fn from_str(text: &str) -> Result<Self, RemoteError> {
        read(text, PORT)
    }
}

/// Reads an address, whose port is `port` where it names none.
fn read(text: &str, port: u16) -> Result<ServerAddress, RemoteError> {
    // What stands before an `@` may be a token, which no error may show.
    let shown = match text.rsplit_once('@') {
        Some((_, host)) => format!("http://..@{host}"),
        None => text.to_owned(),
    };
    let wrong = |why: &str| RemoteError::Address { address: shown.clone(), why: why.to_owned() };
    let uri: Uri = text.parse().map_err(|_| wrong("it is no URL"))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            return Err(wrong(
                "TLS is not spoken here; use a tunnel or a proxy on this machine, and its \
                 address",
            ));
        }
        _ => return Err(wrong("it does not begin with `http://`")),
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(wrong("it has more than a host and a port"));
    }
    let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
    let token = authority
        .as_str()
        .rsplit_once('@')
        .map(|(user, _)| user.split_once(':').map_or("", |(_, token)| token))
        .map(|token| percent_decode_str(token).decode_utf8_lossy().into_owned());
    if token.as_deref() == Some("") {
        return Err(wrong("the token belongs behind a colon: `http://agent:TOKEN@host`"));
    }
    let host = authority.host().to_owned();
    if host.is_empty() {
        return Err(wrong("it names no host"));
    }
    Ok(ServerAddress { host, port: authority.port_u16().unwrap_or(port), token })
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_perhaps_a_port_and_a_token() {
        for (text, shown, token) in [
            ("http://a", "http://a:8765", None),
            ("http://a:80/", "http://a:80", None),
            ("http://agent:x%2Fy@10.0.0.1:80", "http://10.0.0.1:80", Some("x/y")),
            ("http://[::1]:80", "http://[::1]:80", None),
        ] {
            let address: ServerAddress = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.token.as_deref()), (shown, token));
            assert!(!format!("{address:?}").contains("x/y"));
        }
        let list = ServerAddress::parse_list("http://a, http://agent:own@b").unwrap();
        let tokens: Vec<_> =
            list.into_iter().map(|address| address.with_token("all").token.unwrap()).collect();
        assert_eq!(tokens, ["all", "own"]);
    }

    #[test]
    fn wrong_addresses_are_refused_with_the_reason_and_without_the_token() {
        for (text, words) in [
            ("", "no URL"),
            ("a:8765", "`http://`"),
            ("https://agent:secret@a", "TLS"),
            ("http://agent:secret@a/ws", "more than a host"),
            ("http://secret@a", "behind a colon"),
            ("ws://a", "`http://`"),
        ] {
            let error = text.parse::<ServerAddress>().unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
