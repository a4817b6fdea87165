//! The body of a request as parameters by name.

use super::api_error::ApiError;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The largest body of a request, in bytes.
pub(super) const BODY: usize = 16 << 20;

/// Parameters that do not change a response. They are ignored.
const IGNORED: [&str; 6] = [
    "metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "user",
];

/// The parameters of a request that were not read yet. A request is refused if any are left.
#[derive(Debug)]
pub(super) struct Parameters(BTreeMap<String, Box<RawValue>>);

impl Parameters {
    pub(super) fn parse(body: Result<Bytes, BytesRejection>) -> Result<Self, ApiError> {
        let body = body.map_err(|rejection| match rejection.status() {
            status @ StatusCode::PAYLOAD_TOO_LARGE => {
                ApiError::route(status, format!("the body of a request has at most {BODY} bytes"))
            }
            status => ApiError::route(status, rejection.body_text()),
        })?;
        serde_json::from_slice(&body).map(Self).map_err(|error| {
            ApiError::malformed(format!("the body of the request is not a JSON object: {error}"))
        })
    }

    /// Removes and returns a parameter; `None` if it is missing or null.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        let Some(raw) = self.0.remove(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map_err(|error| ApiError::invalid(name, format!("`{name}` cannot be used: {error}")))
    }

    /// Removes a parameter that is supported only at `values`, which have no effect.
    ///
    /// # Errors
    /// An [`ApiError`] at any other value.
    pub(super) fn neutral(&mut self, name: &str, values: &[Value]) -> Result<(), ApiError> {
        match self.take::<Value>(name)? {
            Some(value) if !values.contains(&value) => Err(ApiError::unsupported(
                name,
                format!("`{name}` is not supported at {value}; leave it out"),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that every parameter that would change the response was read.
    ///
    /// # Errors
    /// An [`ApiError`] that names an unknown parameter.
    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        for name in IGNORED {
            self.0.remove(name);
        }
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(ApiError::unsupported(
                &name,
                format!("`{name}` is not a known parameter; leave it out"),
            )),
        }
    }
}
