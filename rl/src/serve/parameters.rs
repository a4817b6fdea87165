//! The body of a request, taken apart by name.

use super::refusal::Refusal;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The longest body of a request.
pub(super) const BODY: usize = 16 << 20;

/// Parameters that say nothing about the answer.
const SILENT: [&str; 6] = [
    "metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "user",
];

/// What a request asks for, by name. What is not taken in the end is refused.
#[derive(Debug)]
pub(super) struct Parameters(BTreeMap<String, Box<RawValue>>);

impl Parameters {
    pub(super) fn parse(body: Result<Bytes, BytesRejection>) -> Result<Self, Refusal> {
        let body = body.map_err(|rejection| match rejection.status() {
            status @ StatusCode::PAYLOAD_TOO_LARGE => {
                Refusal::route(status, format!("the body of a request has at most {BODY} bytes"))
            }
            status => Refusal::route(status, rejection.body_text()),
        })?;
        serde_json::from_slice(&body).map(Self).map_err(|error| {
            Refusal::malformed(format!("the body of the request is not a JSON object: {error}"))
        })
    }

    /// A parameter, or nothing where it is missing or null.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Refusal> {
        let Some(raw) = self.0.remove(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map_err(|error| Refusal::invalid(name, format!("`{name}` cannot be used: {error}")))
    }

    /// A parameter that is understood at values that ask for nothing, and at no others.
    pub(super) fn neutral(&mut self, name: &str, values: &[Value]) -> Result<(), Refusal> {
        match self.take::<Value>(name)? {
            Some(value) if !values.contains(&value) => Err(Refusal::unsupported(
                name,
                format!("`{name}` is not supported at {value}; leave it out"),
            )),
            _ => Ok(()),
        }
    }

    /// Makes sure that nothing is left that would change the answer.
    pub(super) fn finish(mut self) -> Result<(), Refusal> {
        for name in SILENT {
            self.0.remove(name);
        }
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(Refusal::unsupported(
                &name,
                format!("`{name}` is not a parameter that is understood here; leave it out"),
            )),
        }
    }
}
