//! The messages of a request.

use super::api_error::ApiError;
use super::parameters::Parameters;
use crate::text::template::{ChatMessage, ChatRole, FunctionCall, ToolCall};
use minijinja::Value as Any;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A message of a request. Other keys are ignored: no chat template reads them.
#[derive(Deserialize)]
struct MessageParam {
    role: ChatRole,
    content: Option<Content>,
    #[serde(alias = "reasoning")]
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<ToolCallParam>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`content` must be a string or a list of text parts")]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ContentPart {
    Text { text: String },
}

#[derive(Deserialize)]
struct ToolCallParam {
    id: Option<String>,
    function: FunctionParam,
}

#[derive(Deserialize)]
struct FunctionParam {
    name: String,
    /// A JSON object, or a string that holds one.
    arguments: Box<RawValue>,
}

/// The messages of a conversation.
///
/// # Errors
/// An [`ApiError`] if there are none, or one is invalid.
pub(super) fn messages(parameters: &mut Parameters) -> Result<Vec<ChatMessage>, ApiError> {
    let invalid = |message: String| ApiError::invalid("messages", message);
    let messages: Option<Vec<MessageParam>> = parameters.take("messages")?;
    let messages = messages.filter(|messages| !messages.is_empty());
    let messages = messages.ok_or_else(|| invalid("`messages` is missing or empty".into()))?;
    messages.into_iter().map(|message| message.read().map_err(invalid)).collect()
}

impl MessageParam {
    fn read(self) -> Result<ChatMessage, String> {
        let content = self.content.map(|content| match content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let texts: Vec<String> =
                    parts.into_iter().map(|ContentPart::Text { text }| text).collect();
                texts.join("\n")
            }
        });
        let tool_calls: Vec<ToolCall> = self
            .tool_calls
            .unwrap_or_default()
            .into_iter()
            .map(ToolCallParam::read)
            .collect::<Result<_, _>>()?;
        let may_lack_content = self.role == ChatRole::Assistant
            && (!tool_calls.is_empty() || self.reasoning_content.is_some());
        if content.is_none() && !may_lack_content {
            return Err("a message has no `content`".into());
        }
        Ok(ChatMessage {
            role: self.role,
            content,
            reasoning_content: self.reasoning_content,
            tool_calls,
            tool_call_id: self.tool_call_id,
            name: self.name,
        })
    }
}

impl ToolCallParam {
    /// The call with its arguments as a map, as chat templates expect them.
    fn read(self) -> Result<ToolCall, String> {
        let FunctionParam { name, arguments } = self.function;
        let text = serde_json::from_str::<String>(arguments.get());
        let text = text.as_deref().unwrap_or(arguments.get());
        let arguments: Any = serde_json::from_str(text).map_err(|error| {
            format!("the arguments of a call of `{name}` are not JSON: {error}")
        })?;
        Ok(ToolCall { id: self.id, r#type: "function", function: FunctionCall { name, arguments } })
    }
}
