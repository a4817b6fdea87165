//! What both wire formats share: faults of an answer, and the schema in words.

use crate::chat::{Message, Request, Role, write_canonical};

/// An error that a provider reports in its own format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiFailure {
    /// HTTP status. For an error inside a stream, the status of its type.
    pub(crate) status: u16,
    /// `error.type`, or empty.
    pub(crate) kind: String,
    /// `error.code`, or empty.
    pub(crate) code: String,
    /// `error.param`, or empty.
    pub(crate) parameter: String,
    /// `error.message`, else the beginning of the body.
    pub(crate) message: String,
}

impl ApiFailure {
    /// From the JSON object below `error`; `None` if `value` has no error.
    pub(crate) fn from_json(status: u16, value: &serde_json::Value) -> Option<Self> {
        let error = value.get("error").filter(|error| !error.is_null())?;
        let text = |name: &str| match error.get(name) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(serde_json::Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let message = match error {
            serde_json::Value::String(message) => message.clone(),
            _ => text("message"),
        };
        Some(Self {
            status,
            kind: text("type"),
            code: text("code"),
            parameter: text("param"),
            message: beginning(&message),
        })
    }

    /// From the body of an answer with a status other than 200, whatever it holds.
    pub(crate) fn from_body(status: u16, body: &str) -> Self {
        let parsed: Option<serde_json::Value> = serde_json::from_str(body).ok();
        parsed.and_then(|value| Self::from_json(status, &value)).unwrap_or_else(|| Self {
            status,
            kind: String::new(),
            code: String::new(),
            parameter: String::new(),
            message: beginning(body.trim()),
        })
    }
}

/// The first 500 characters on one line.
fn beginning(text: &str) -> String {
    text.chars().take(500).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What is wrong with an answer that calls several tools.
pub(crate) const SEVERAL_CALLS: &str = "the answer calls several tools where one is asked for";

/// Why an answer with status 200 is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WireFault {
    /// It does not follow the protocol.
    Malformed(String),
    /// It ended before it was complete.
    Cut,
    /// It holds an error.
    Failed(ApiFailure),
}

/// The conversation with the schema in words, for endpoints that take no schema.
pub(crate) fn with_schema_in_words(request: &Request) -> Vec<Message> {
    let mut messages = request.messages.clone();
    if let Some(schema) = &request.schema {
        let mut words =
            "Answer with one JSON object that follows this JSON schema, and with nothing else:\n"
                .to_owned();
        write_canonical(&schema.json, &mut words);
        match messages.first_mut() {
            Some(first) if first.role == Role::System => {
                first.content.push_str("\n\n");
                first.content.push_str(&words);
            }
            _ => messages.insert(0, Message::new(Role::System, words)),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_any_body_has_a_message() {
        let failure = ApiFailure::from_body(502, "<html>\n<b>Bad gateway</b>");
        assert_eq!((failure.status, failure.message.as_str()), (502, "<html> <b>Bad gateway</b>"));
        let failure =
            ApiFailure::from_body(400, r#"{"error":{"message":"m","type":"t","code":7}}"#);
        assert_eq!((failure.kind.as_str(), failure.code.as_str()), ("t", "7"));
        let failure = ApiFailure::from_body(500, r#"{"error":"out of memory"}"#);
        assert_eq!(failure.message, "out of memory");
        assert_eq!(ApiFailure::from_body(500, &"x".repeat(9000)).message.len(), 500);
    }
}
