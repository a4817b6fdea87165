//! Who may use a server.

use super::refusal::Refusal;
use axum::http::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use std::fmt;
use std::str::FromStr;

/// A secret that clients must show, as `Authorization: Bearer SECRET`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(blake3::Hash);

/// A secret that cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key has at least one character, and no blanks around it")]
pub struct BadKey;

impl FromStr for ApiKey {
    type Err = BadKey;
    fn from_str(secret: &str) -> Result<Self, BadKey> {
        if secret.is_empty() || secret.trim() != secret {
            return Err(BadKey);
        }
        Ok(Self(blake3::hash(secret.as_bytes())))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

impl ApiKey {
    /// Takes the same time for every wrong secret: hashes are compared, and those in constant
    /// time.
    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        shown.and_then(|value| value.split_once(' ')).is_some_and(|(scheme, secret)| {
            scheme.eq_ignore_ascii_case("bearer")
                && blake3::hash(secret.trim().as_bytes()) == self.0
        })
    }
}

/// Turns away who has no business here. Pages in a browser have none: a page from anywhere could
/// otherwise use a server on its reader's own machine.
pub(super) fn admit(key: Option<&ApiKey>, headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(ORIGIN) {
        return Err(Refusal::page());
    }
    match key {
        Some(key) if !key.is_shown(headers) => Err(Refusal::key()),
        _ => Ok(()),
    }
}
