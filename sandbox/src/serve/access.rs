//! Who may use a server.

use axum::http::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::str::FromStr;

/// A secret that clients must show: as `Authorization: Bearer SECRET`, or as the password of
/// `Authorization: Basic`, which is what a client sends that was given a URL such as
/// `http://agent:SECRET@host:8000`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(blake3::Hash);

/// A secret that anybody could guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token has at least 16 characters; `openssl rand -hex 16` makes a good one")]
pub struct WeakToken;

impl FromStr for Token {
    type Err = WeakToken;
    fn from_str(secret: &str) -> Result<Self, WeakToken> {
        if secret.chars().count() < 16 {
            return Err(WeakToken);
        }
        Ok(Self(blake3::hash(secret.as_bytes())))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Whether the headers of a request show it. Takes the same time for every wrong secret:
    /// hashes are compared, and those in constant time.
    pub(super) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let Some((scheme, value)) = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
        else {
            return false;
        };
        let shown = if scheme.eq_ignore_ascii_case("bearer") {
            value.trim().as_bytes().to_vec()
        } else if scheme.eq_ignore_ascii_case("basic") {
            let Ok(pair) = STANDARD.decode(value.trim()) else { return false };
            match pair.iter().position(|byte| *byte == b':') {
                Some(colon) => pair[colon + 1..].to_vec(),
                None => return false,
            }
        } else {
            return false;
        };
        blake3::hash(&shown) == self.0
    }
}

/// Whether a page in a browser sent the request. None has any business here, and a page from
/// anywhere could otherwise use a server on its reader's own machine.
pub(super) fn is_from_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_in_two_ways_and_never_printed() {
        assert_eq!("open sesame".parse::<Token>(), Err(WeakToken));
        let token: Token = "open sesame, please".parse().unwrap();
        let shows = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            token.is_shown(&headers)
        };
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        assert!(shows("Bearer open sesame, please"));
        assert!(shows("bearer  open sesame, please"));
        assert!(shows(&basic("agent:open sesame, please")));
        for wrong in [
            "Bearer open",
            "Bearer",
            "open sesame, please",
            "Digest open sesame, please",
            "Basic !",
        ] {
            assert!(!shows(wrong), "{wrong}");
        }
        assert!(!shows(&basic("open sesame, please")) && !shows(&basic("open sesame, please:")));
        assert!(!token.is_shown(&HeaderMap::new()));
        assert_eq!(format!("{token:?}"), "Token(..)");
    }
}
