//! Messages over a WebSocket, as clients of OpenEnv send and read them: one JSON object each.

use super::task_choice::Reset;
use super::tools::{Call, ToolCall};
use crate::env::Action;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a client asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientRequest {
    Reset(Reset),
    Step(StepCall),
    State,
    /// A message of JSON-RPC, for MCP over the same connection.
    Mcp(Value),
    Close,
}

/// A message of type `step`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepCall {
    /// Which tools there are. Takes no turn, and needs no episode.
    ListTools,
    /// The use of a tool, or an action.
    Call(Call),
}

/// The data of a step that states its type.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum TypedStep {
    ListTools {},
    CallTool {
        tool_name: String,
        #[serde(default)]
        arguments: Map<String, Value>,
    },
    Action {
        action: Action,
    },
}

impl StepCall {
    /// Reads the data of a step. A type may be left out where the other keys leave no doubt:
    /// `{"code": ..}` is a call of `python`, and `{"tool_name": ..}` one of that tool.
    fn parse(mut data: Map<String, Value>) -> Result<Self, serde_json::Error> {
        // Every action of OpenEnv may have it; nothing here reads it.
        data.remove("metadata");
        if !data.contains_key("type") {
            if data.contains_key("code") && !data.contains_key("tool_name") {
                let code = data.remove("code");
                data.insert("arguments".to_owned(), json!({"code": code}));
                data.insert("tool_name".to_owned(), "python".into());
            }
            if !data.contains_key("tool_name") {
                return Err(serde_json::Error::custom(
                    "a step is {\"code\": SCRIPT}, {\"tool_name\": NAME, \"arguments\": {..}} or \
                     {\"type\": \"list_tools\"}",
                ));
            }
            data.insert("type".to_owned(), "call_tool".into());
        }
        Ok(match serde_json::from_value(Value::Object(data))? {
            TypedStep::ListTools {} => Self::ListTools,
            TypedStep::CallTool { tool_name, arguments } => {
                Self::Call(Call::Tool(ToolCall { tool: tool_name, arguments }))
            }
            TypedStep::Action { action } => Self::Call(Call::Action(action)),
        })
    }
}

/// The outer form of every message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    r#type: String,
    data: Option<Map<String, Value>>,
}

/// Kinds of errors, by the names that clients know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Code {
    InvalidJson,
    UnknownType,
    ValidationError,
    ExecutionError,
    CapacityReached,
    SessionError,
}

/// A message that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProtocolError {
    pub(super) code: Code,
    pub(super) message: String,
    /// Whether the same may work in another session: later, or on another server.
    pub(super) retryable: bool,
}

impl ProtocolError {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: false }
    }

    /// The same, of something that another session may be granted.
    pub(super) fn retryable(self) -> Self {
        Self { retryable: true, ..self }
    }

    /// The message as JSON for the client.
    pub(super) fn to_json(&self) -> String {
        let mut data = json!({"message": self.message, "code": self.code});
        if self.retryable {
            data["retryable"] = true.into();
        }
        json!({"type": "error", "data": data}).to_string()
    }
}

impl ClientRequest {
    pub(super) fn parse(text: &str) -> Result<Self, ProtocolError> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            ProtocolError::new(Code::InvalidJson, format!("invalid JSON: {error}"))
        })?;
        let invalid = |error: serde_json::Error| {
            ProtocolError::new(Code::ValidationError, format!("invalid message: {error}"))
        };
        if !value.is_object() {
            let message = "invalid message: it is no JSON object";
            return Err(ProtocolError::new(Code::ValidationError, message));
        }
        let Envelope { r#type, data } = serde_json::from_value(value).map_err(invalid)?;
        let data = data.unwrap_or_default();
        match r#type.as_str() {
            "reset" => Reset::parse(data).map(Self::Reset),
            "step" => StepCall::parse(data).map(Self::Step).map_err(invalid),
            "state" => Ok(Self::State),
            "mcp" => Ok(Self::Mcp(Value::Object(data))),
            "close" => Ok(Self::Close),
            other => {
                let known = "`reset`, `step`, `state`, `mcp` and `close`";
                let message = format!("`{other}` is no type of message here; there are {known}");
                Err(ProtocolError::new(Code::UnknownType, message))
            }
        }
    }
}

/// What a client gets for a reset or a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerReply {
    pub(super) observation: Value,
    pub(super) reward: Option<f64>,
    pub(super) done: bool,
}

impl ServerReply {
    pub(super) fn to_json(&self) -> String {
        let Self { observation, reward, done } = self;
        let data = json!({"observation": observation, "reward": reward, "done": done});
        json!({"type": "observation", "data": data}).to_string()
    }
}

/// The answer to `state`.
pub(super) fn state(state: &Value) -> String {
    json!({"type": "state", "data": state}).to_string()
}

/// The answer to `mcp`: a response of JSON-RPC.
pub(super) fn mcp(response: &Value) -> String {
    json!({"type": "mcp", "data": response}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn step(data: &str) -> Result<ClientRequest, ProtocolError> {
        ClientRequest::parse(&format!("{{\"type\": \"step\", \"data\": {data}}}"))
    }

    #[test]
    fn client_messages_are_parsed() {
        let listed = step("{\"type\": \"list_tools\", \"metadata\": {}}");
        assert_eq!(listed, Ok(ClientRequest::Step(StepCall::ListTools)));
        let reset = ClientRequest::parse("{\"type\": \"reset\", \"data\": {\"seed\": 3}}").unwrap();
        assert_eq!(reset, ClientRequest::Reset(Reset { seed: Some(3), ..Reset::default() }));
        assert_eq!(
            ClientRequest::parse("{\"type\": \"reset\"}"),
            Ok(ClientRequest::Reset(Reset::default()))
        );
        assert_eq!(ClientRequest::parse("{\"type\": \"state\"}"), Ok(ClientRequest::State));
        assert_eq!(ClientRequest::parse("{\"type\": \"close\"}"), Ok(ClientRequest::Close));
        assert_eq!(
            ClientRequest::parse("{\"type\": \"mcp\", \"data\": {\"id\": 1}}"),
            Ok(ClientRequest::Mcp(json!({"id": 1})))
        );
    }

    #[test]
    fn steps_may_leave_out_their_type_where_it_is_clear() {
        let arguments = Map::from_iter([("code".to_owned(), json!("1"))]);
        let call = ToolCall { tool: "python".to_owned(), arguments };
        for data in [
            "{\"type\": \"call_tool\", \"tool_name\": \"python\", \"arguments\": {\"code\": \"1\"}, \
             \"metadata\": {}}",
            "{\"tool_name\": \"python\", \"arguments\": {\"code\": \"1\"}}",
            "{\"code\": \"1\"}",
            "{\"code\": \"1\", \"metadata\": {}}",
        ] {
            assert_eq!(
                step(data),
                Ok(ClientRequest::Step(StepCall::Call(Call::Tool(call.clone()))))
            );
        }
        let submit = ToolCall { tool: "submit".to_owned(), arguments: Map::new() };
        assert_eq!(
            step("{\"tool_name\": \"submit\"}"),
            Ok(ClientRequest::Step(StepCall::Call(Call::Tool(submit))))
        );
    }

    #[test]
    fn step_of_no_known_form_is_told_the_forms() {
        for data in ["{}", "{\"action\": \"1\"}", "{\"command\": \"ls\", \"metadata\": {}}"] {
            let message = step(data).unwrap_err().message;
            assert!(message.contains("{\"code\": SCRIPT}"), "{message}");
        }
    }

    #[test]
    fn actions_are_those_of_records() {
        for action in [
            Action::Python { code: "1".to_owned() },
            Action::Score,
            Action::Answer,
            Action::Malformed { reason: "no call".to_owned() },
        ] {
            let data = json!({"type": "action", "action": action});
            let call = ClientRequest::Step(StepCall::Call(Call::Action(action)));
            assert_eq!(step(&data.to_string()), Ok(call));
        }
        let unknown = step("{\"type\": \"action\", \"action\": {\"tool\": \"bash\"}}");
        assert_eq!(unknown.unwrap_err().code, Code::ValidationError);
    }

    #[test]
    fn protocol_errors_have_the_codes_of_openenv() {
        for (text, code) in [
            ("{", Code::InvalidJson),
            ("", Code::InvalidJson),
            ("[1]", Code::ValidationError),
            ("{}", Code::ValidationError),
            ("{\"type\": \"bye\", \"data\": {}}", Code::UnknownType),
            ("{\"type\": \"reset\", \"data\": {\"seed\": -1}}", Code::ValidationError),
            ("{\"type\": \"reset\", \"data\": []}", Code::ValidationError),
            ("{\"type\": \"reset\", \"more\": 1}", Code::ValidationError),
            ("{\"type\": \"step\", \"data\": {}}", Code::ValidationError),
            ("{\"type\": \"step\", \"data\": {\"type\": \"call_tool\"}}", Code::ValidationError),
            ("{\"type\": \"step\", \"data\": {\"code\": \"1\", \"x\": 1}}", Code::ValidationError),
            (
                "{\"type\": \"step\", \"data\": {\"code\": \"1\", \"tool_name\": \"score\"}}",
                Code::ValidationError,
            ),
            (
                "{\"type\": \"step\", \"data\": {\"type\": \"list_tools\", \"code\": \"1\"}}",
                Code::ValidationError,
            ),
        ] {
            assert_eq!(ClientRequest::parse(text).unwrap_err().code, code, "{text}");
        }
        let mistake = ProtocolError::new(Code::CapacityReached, "full");
        let data = json!({"message": "full", "code": "CAPACITY_REACHED"});
        let sent: Value = serde_json::from_str(&mistake.to_json()).unwrap();
        assert_eq!(sent, json!({"type": "error", "data": data}));
        let sent: Value = serde_json::from_str(&mistake.retryable().to_json()).unwrap();
        assert_eq!(sent["data"]["retryable"], true);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([{}\\[\\]\":,]|type|data|reset|step|state|1|x){0,30}") {
            let _ = ClientRequest::parse(&text);
        }
    }
}
