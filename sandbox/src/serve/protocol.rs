//! Messages, as clients of OpenEnv send and read them: one JSON object each.

use jail::exec::Mode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a client asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientRequest {
    Reset(Reset),
    Step(StepCall),
    State,
    Close,
}

/// How to begin an episode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Reset {
    /// Chooses the task where none is named.
    pub(super) seed: Option<u64>,
    /// What the client calls the episode.
    pub(super) episode_id: Option<String>,
    /// The task's name. Without it and without a seed, the next in turn.
    pub(super) task: Option<String>,
}

/// The longest name of an episode.
const EPISODE_ID: usize = 255;

/// A message of type `step`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum StepCall {
    /// Which tools there are. Takes no turn, and needs no episode.
    ListTools {
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// The use of a tool.
    CallTool {
        tool_name: String,
        #[serde(default)]
        arguments: Map<String, Value>,
        #[serde(default)]
        metadata: Map<String, Value>,
    },
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
}

impl ProtocolError {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The message as JSON for the client.
    pub(super) fn to_json(&self) -> String {
        let data = json!({"message": self.message, "code": self.code});
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
        let data = Value::Object(data.unwrap_or_default());
        match r#type.as_str() {
            "reset" => {
                let reset: Reset = serde_json::from_value(data).map_err(invalid)?;
                if reset.episode_id.as_ref().is_some_and(|name| name.len() > EPISODE_ID) {
                    let message = format!("`episode_id` is longer than {EPISODE_ID} bytes");
                    return Err(ProtocolError::new(Code::ValidationError, message));
                }
                Ok(Self::Reset(reset))
            }
            "step" => serde_json::from_value(data).map(Self::Step).map_err(invalid),
            "state" => Ok(Self::State),
            "close" => Ok(Self::Close),
            other => {
                let known = "`reset`, `step`, `state` and `close`";
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

/// Why a tool did not do its work, by the names that clients know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolFault {
    ExecutionError,
    InvalidArgs,
    ToolNotFound,
    Timeout,
}

/// The observation of a tool's use.
pub(super) fn tool_answer(
    tool: &str,
    result: &str,
    fault: Option<(ToolFault, &str)>,
    metadata: &Value,
) -> Value {
    let error = fault.map(|(kind, message)| json!({"error_type": kind, "message": message}));
    json!({"tool_name": tool, "result": result, "error": error, "metadata": metadata})
}

/// The tools of every task, with scripts that run in `mode`.
pub(super) fn tools(mode: Mode) -> Value {
    let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let kept = match mode {
        Mode::Script => "It starts afresh each time,",
        Mode::Session => "Variables last, as in a notebook, unless the interpreter ends; it runs",
    };
    let python = format!(
        "Runs a Python script. {kept} in a folder that lasts for the episode, with the task's \
         files, read-only, in `input/`. Write predictions to `submission.csv` there."
    );
    json!([
        {
            "name": "python",
            "description": python,
            "input_schema": {
                "type": "object",
                "properties": {"code": {"type": "string", "description": "the script"}},
                "required": ["code"],
                "additionalProperties": false,
            },
        },
        {
            "name": "score",
            "description": "Says what the present `submission.csv` is worth, as far as the \
                            feedback mode allows.",
            "input_schema": nothing.clone(),
        },
        {
            "name": "submit",
            "description": "Ends the episode; the present `submission.csv` is final.",
            "input_schema": nothing,
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn client_messages_are_parsed() {
        let step =
            |data: &str| ClientRequest::parse(&format!("{{\"type\": \"step\", \"data\": {data}}}"));
        assert!(matches!(
            step("{\"type\": \"list_tools\"}"),
            Ok(ClientRequest::Step(StepCall::ListTools { .. }))
        ));
        let call = step(
            "{\"type\": \"call_tool\", \"tool_name\": \"python\", \"arguments\": {\"code\": \"1\"}, \
             \"metadata\": {}}",
        );
        assert!(
            matches!(call, Ok(ClientRequest::Step(StepCall::CallTool { tool_name, .. })) if tool_name == "python")
        );
        let reset = ClientRequest::parse("{\"type\": \"reset\", \"data\": {\"seed\": 3}}").unwrap();
        assert_eq!(reset, ClientRequest::Reset(Reset { seed: Some(3), ..Reset::default() }));
        assert_eq!(
            ClientRequest::parse("{\"type\": \"reset\"}"),
            Ok(ClientRequest::Reset(Reset::default()))
        );
        assert_eq!(ClientRequest::parse("{\"type\": \"state\"}"), Ok(ClientRequest::State));
        assert_eq!(ClientRequest::parse("{\"type\": \"close\"}"), Ok(ClientRequest::Close));
    }

    #[test]
    fn protocol_errors_have_the_codes_of_openenv() {
        for (text, code) in [
            ("{", Code::InvalidJson),
            ("", Code::InvalidJson),
            ("[1]", Code::ValidationError),
            ("{}", Code::ValidationError),
            ("{\"type\": \"mcp\", \"data\": {}}", Code::UnknownType),
            ("{\"type\": \"reset\", \"data\": {\"sed\": 1}}", Code::ValidationError),
            ("{\"type\": \"reset\", \"data\": {\"seed\": -1}}", Code::ValidationError),
            ("{\"type\": \"reset\", \"data\": []}", Code::ValidationError),
            ("{\"type\": \"reset\", \"more\": 1}", Code::ValidationError),
            ("{\"type\": \"step\", \"data\": {}}", Code::ValidationError),
            ("{\"type\": \"step\", \"data\": {\"type\": \"call_tool\"}}", Code::ValidationError),
        ] {
            assert_eq!(ClientRequest::parse(text).unwrap_err().code, code, "{text}");
        }
        let long = "x".repeat(256);
        let reset = format!("{{\"type\": \"reset\", \"data\": {{\"episode_id\": \"{long}\"}}}}");
        assert_eq!(ClientRequest::parse(&reset).unwrap_err().code, Code::ValidationError);
        let mistake = ProtocolError::new(Code::CapacityReached, "full");
        let data = json!({"message": "full", "code": "CAPACITY_REACHED"});
        let sent: Value = serde_json::from_str(&mistake.to_json()).unwrap();
        assert_eq!(sent, json!({"type": "error", "data": data}));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([{}\\[\\]\":,]|type|data|reset|step|state|1|x){0,30}") {
            let _ = ClientRequest::parse(&text);
        }
    }
}
