//! Messages of JSON-RPC 2.0, which MCP consists of.

use super::protocol::{Code, ProtocolError};
use serde_json::{Map, Value, json};

/// What a client sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RpcMessage {
    /// Wants an answer.
    Request(RpcRequest),
    /// Wants none: a notification, or an answer to something that was never asked.
    Notice,
}

/// A method to be called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcRequest {
    /// A text or a whole number, which the answer repeats.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// Kinds of errors, by the numbers that clients know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum RpcCode {
    /// No JSON.
    Parse = -32700,
    /// JSON that is no request.
    Request = -32600,
    /// A method that is not there.
    Method = -32601,
    /// Parameters that the method does not take.
    Params = -32602,
    /// The environment failed, or the session has no episode that could take the call.
    Internal = -32603,
    /// The server cannot do it now: its places are taken, or it is shutting down.
    Server = -32000,
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: RpcCode,
    pub(super) message: String,
    pub(super) data: Option<Box<Value>>,
}

impl RpcError {
    pub(super) fn new(code: RpcCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The response with this error. `id` is null where the request's cannot be told.
    pub(super) fn respond(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code as i32, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = (**data).clone();
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

impl From<ProtocolError> for RpcError {
    fn from(error: ProtocolError) -> Self {
        let code = match error.code {
            Code::InvalidJson => RpcCode::Parse,
            Code::UnknownType => RpcCode::Method,
            Code::ValidationError => RpcCode::Params,
            Code::ExecutionError => RpcCode::Internal,
            Code::CapacityReached | Code::SessionError => RpcCode::Server,
        };
        Self::new(code, error.message)
    }
}

/// The response with a result.
pub(super) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

impl RpcMessage {
    /// Reads a message.
    ///
    /// # Errors
    /// [`RpcCode::Request`], with the id that the answer should have.
    pub(super) fn read(message: Value) -> Result<Self, (RpcError, Value)> {
        let invalid =
            |message: &str, id: Value| Err((RpcError::new(RpcCode::Request, message), id));
        let Value::Object(mut message) = message else {
            let what = match message {
                Value::Array(_) => "batches are not taken: send one message at a time",
                _ => "invalid request: it is no JSON object",
            };
            return invalid(what, Value::Null);
        };
        let id = message.remove("id");
        let has_valid_id =
            id.as_ref().is_none_or(|id| id.is_string() || id.is_i64() || id.is_u64());
        if !has_valid_id {
            return invalid("invalid request: `id` is no text and no whole number", Value::Null);
        }
        let known = id.clone().unwrap_or(Value::Null);
        if message.get("jsonrpc") != Some(&json!("2.0")) {
            return invalid("invalid request: `jsonrpc` must be \"2.0\"", known);
        }
        let method = match message.remove("method") {
            Some(Value::String(method)) => method,
            Some(_) => return invalid("invalid request: `method` is no text", known),
            None if message.contains_key("result") || message.contains_key("error") => {
                return Ok(Self::Notice);
            }
            None => return invalid("invalid request: it has no `method`", known),
        };
        let params = match message.remove("params") {
            Some(Value::Object(params)) => params,
            None | Some(Value::Null) => Map::new(),
            Some(_) => {
                return Err((RpcError::new(RpcCode::Params, "`params` is no JSON object"), known));
            }
        };
        Ok(id.map_or(Self::Notice, |id| Self::Request(RpcRequest { id, method, params })))
    }

    /// Reads the text of a message.
    ///
    /// # Errors
    /// As for [`Self::read`], and [`RpcCode::Parse`].
    pub(super) fn parse(text: &[u8]) -> Result<Self, (RpcError, Value)> {
        let message = serde_json::from_slice(text).map_err(|error| {
            (RpcError::new(RpcCode::Parse, format!("invalid JSON: {error}")), Value::Null)
        })?;
        Self::read(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_requests_or_notices() {
        let request =
            RpcMessage::parse(br#"{"jsonrpc": "2.0", "id": 7, "method": "ping"}"#).unwrap();
        let expected = RpcRequest { id: json!(7), method: "ping".to_owned(), params: Map::new() };
        assert_eq!(request, RpcMessage::Request(expected));
        for text in [
            r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#,
        ] {
            assert_eq!(RpcMessage::parse(text.as_bytes()), Ok(RpcMessage::Notice), "{text}");
        }
    }

    #[test]
    fn invalid_messages_have_the_codes_of_json_rpc() {
        for (text, code, id) in [
            ("{", -32700, Value::Null),
            ("{}", -32600, Value::Null),
            ("[]", -32600, Value::Null),
            ("1", -32600, Value::Null),
            (r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#, -32600, json!(1)),
            (r#"{"jsonrpc": "2.0", "id": 1}"#, -32600, json!(1)),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": 2}"#, -32600, json!(1)),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, -32600, Value::Null),
            (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, -32600, Value::Null),
            (
                r#"{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": [1]}"#,
                -32602,
                json!("a"),
            ),
        ] {
            let (error, found) = RpcMessage::parse(text.as_bytes()).unwrap_err();
            let response = error.respond(&found);
            assert_eq!(
                (&response["id"], &response["error"]["code"]),
                (&id, &json!(code)),
                "{text}"
            );
            assert_eq!(response["jsonrpc"], "2.0");
        }
    }
}
