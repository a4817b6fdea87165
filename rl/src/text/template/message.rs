//! The messages of a conversation, in the form that chat templates expect.

use agents::guide::advice::advice_message;
use minijinja::Value;
use serde::{Deserialize, Serialize};

/// The role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The rules of the conversation; `developer` in newer clients of OpenAI.
    #[serde(alias = "developer")]
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// One message of a conversation.
#[derive(Debug, Clone, Serialize)]
pub struct ChatMessage {
    /// The role of the message's author.
    pub role: ChatRole,
    /// The text; `None` for an assistant that only calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The reasoning of an assistant before the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// The tools that an assistant calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The id of the call whose result a tool message is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The name of the message's author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ChatMessage {
    /// A message of text alone.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self {
            role,
            content: Some(content.into()),
            reasoning_content: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
        }
    }

    /// A piece of advice of a person, as the model reads it.
    pub fn advice(advice: &str) -> Self {
        Self::new(ChatRole::User, advice_message(advice))
    }
}

/// The call of a tool.
#[derive(Debug, Clone, Serialize)]
pub struct ToolCall {
    /// The id of the call, unique in the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Always `function`.
    pub r#type: &'static str,
    /// The function and its arguments.
    pub function: FunctionCall,
}

/// A function and its arguments.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionCall {
    /// The name of the function.
    pub name: String,
    /// A map, its keys in the order in which they were written.
    pub arguments: Value,
}
