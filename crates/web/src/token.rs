//! Tokens that clients must send.

use axum::http::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// A secret that clients must send: as `Authorization: Bearer SECRET`, or as the password of
/// `Authorization: Basic`, which is what a client sends for a URL such as
/// `http://agent:SECRET@host:8000`. Only its hash is kept, and it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(blake3::Hash);

/// A secret that cannot serve as a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// It is too easy to guess.
    #[error("a token has at least {0} characters; `openssl rand -hex 16` makes a good one")]
    Short(usize),
    /// A client could not send it as it is.
    #[error("a token has no blanks around it")]
    Blanks,
}

impl Token {
    /// A token of at least `shortest` characters.
    ///
    /// # Errors
    /// [`BadToken`].
    pub fn new(secret: &str, shortest: usize) -> Result<Self, BadToken> {
        if secret.chars().count() < shortest {
            return Err(BadToken::Short(shortest));
        }
        if secret.trim() != secret {
            return Err(BadToken::Blanks);
        }
        Ok(Self(blake3::hash(secret.as_bytes())))
    }

    /// The token whose hash is written in hexadecimal digits; `None` if they are no hash.
    pub fn from_hex(hash: &str) -> Option<Self> {
        blake3::Hash::from_hex(hash).ok().map(Self)
    }

    /// Its hash in hexadecimal digits, as files have it. The secret does not follow from it.
    pub fn hex(&self) -> String {
        self.0.to_hex().to_string()
    }

    /// The token that the headers of a request show, whether or not anybody knows it.
    pub fn shown_in(headers: &HeaderMap) -> Option<Self> {
        let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, value) = authorization.and_then(|value| value.split_once(' '))?;
        let secret = if scheme.eq_ignore_ascii_case("bearer") {
            value.trim().as_bytes().to_vec()
        } else if scheme.eq_ignore_ascii_case("basic") {
            let pair = STANDARD.decode(value.trim()).ok()?;
            let colon = pair.iter().position(|byte| *byte == b':')?;
            pair[colon + 1..].to_vec()
        } else {
            return None;
        };
        Some(Self(blake3::hash(&secret)))
    }

    /// Whether the headers of a request carry it. Takes the same time for every wrong secret:
    /// hashes are compared, and those in constant time.
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        Self::shown_in(headers).is_some_and(|shown| shown == *self)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Whether a page in a browser sent the request. A server without pages of its own refuses these:
/// a page from anywhere could otherwise use a server on its reader's own machine.
pub fn is_from_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_accepted_as_bearer_and_basic_and_never_printed() {
        assert_eq!(Token::new("open sesame", 16), Err(BadToken::Short(16)));
        assert_eq!(Token::new(" key", 1), Err(BadToken::Blanks));
        assert_eq!(Token::new("", 1), Err(BadToken::Short(1)));
        let token = Token::new("open sesame, please", 16).unwrap();
        let accepts = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            token.is_in(&headers)
        };
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        assert!(accepts("Bearer open sesame, please"));
        assert!(accepts("bearer  open sesame, please"));
        assert!(accepts(&basic("agent:open sesame, please")));
        for wrong in [
            "Bearer open",
            "Bearer",
            "open sesame, please",
            "Digest open sesame, please",
            "Basic !",
        ] {
            assert!(!accepts(wrong), "{wrong}");
        }
        assert!(!accepts(&basic("open sesame, please")));
        assert!(!accepts(&basic("open sesame, please:")));
        assert!(!token.is_in(&HeaderMap::new()));
        assert_eq!(format!("{token:?}"), "Token(..)");
        assert_eq!(Token::from_hex(&token.hex()), Some(token));
        assert_eq!(Token::from_hex("open sesame"), None);
    }
}
