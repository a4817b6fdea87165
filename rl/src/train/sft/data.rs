//! Examples from the user's files, in the formats of TRL's `SFTTrainer`.
//!
//! One JSON object a line:
//!
//! | keys | what is imitated |
//! | --- | --- |
//! | `messages`: \[{`role`, `content`}\] | every message of the assistant |
//! | `prompt`, `completion`: texts, or lists of messages | the completion |
//! | `text` | all of it, as plain text without roles |

use super::error::SftError;
use super::example::Example;
use crate::text::template::{ChatMessage, ChatRole};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Deserialize;

/// Why a line is no example.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not an object with these keys.
    #[error("it must be an object with `messages`, with `prompt` and `completion`, or with `text`")]
    Format(#[source] serde_json::Error),
    /// Nothing to imitate.
    #[error("it has no message of the assistant, so nothing in it is imitated")]
    NoAnswer,
    /// Two messages of the assistant in a row, or the assistant's first.
    #[error("message {0} is the assistant's and follows no message of another role")]
    Order(usize),
    /// A system message that is not the first.
    #[error("message {0} is the system's and not the first")]
    LateSystem(usize),
}

/// A line as it is written.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Messages { messages: Vec<Message> },
    Completion { prompt: Side, completion: Side },
    Text { text: String },
}

#[derive(Debug, Deserialize)]
struct Message {
    role: ChatRole,
    content: String,
}

/// A side of a prompt with its completion.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Side {
    Text(String),
    Messages(Vec<Message>),
}

impl Side {
    fn messages(self, role: ChatRole) -> Vec<Message> {
        match self {
            Self::Text(content) => vec![Message { role, content }],
            Self::Messages(messages) => messages,
        }
    }
}

/// The examples of all `files`, in their order.
///
/// # Errors
/// [`SftError::Data`] naming the first line that is none; [`SftError::Io`].
pub(super) fn read(files: &[Utf8PathBuf]) -> Result<Vec<Example>, SftError> {
    let mut examples = Vec::new();
    for path in files {
        let text = fs::read_to_string(path)?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let example = example(line).map_err(|source| refused(path, number + 1, source))?;
            examples.push(example);
        }
    }
    if examples.is_empty() {
        return Err(SftError::NoExamples);
    }
    Ok(examples)
}

fn refused(path: &Utf8Path, line: usize, source: LineError) -> SftError {
    SftError::Data { path: path.to_owned(), line, source }
}

fn example(line: &str) -> Result<Example, LineError> {
    let messages = match serde_json::from_str(line).map_err(LineError::Format)? {
        Line::Text { text } => return Ok(Example::Text(text)),
        Line::Messages { messages } => messages,
        Line::Completion { prompt, completion } => {
            let mut messages = prompt.messages(ChatRole::User);
            messages.extend(completion.messages(ChatRole::Assistant));
            messages
        }
    };
    check(&messages)?;
    let message = |message: Message| ChatMessage::new(message.role, message.content);
    Ok(Example::Conversation(messages.into_iter().map(message).collect()))
}

/// Whether a chat template can take these messages, one after the other.
fn check(messages: &[Message]) -> Result<(), LineError> {
    let is_answer = |message: &Message| message.role == ChatRole::Assistant;
    if !messages.iter().any(is_answer) {
        return Err(LineError::NoAnswer);
    }
    for (place, message) in messages.iter().enumerate() {
        let follows = place.checked_sub(1).map(|before| messages[before].role);
        match message.role {
            ChatRole::Assistant
                if matches!(follows, None | Some(ChatRole::Assistant | ChatRole::System)) =>
            {
                return Err(LineError::Order(place + 1));
            }
            ChatRole::System if place > 0 => return Err(LineError::LateSystem(place + 1)),
            _ => (),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::text::with_causes;

    fn roles(line: &str) -> Vec<ChatRole> {
        match example(line).unwrap() {
            Example::Conversation(messages) => messages.iter().map(|it| it.role).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_formats_of_trl_are_read() {
        use ChatRole::{Assistant, System, Tool, User};
        let messages = r#"{"messages": [{"role": "system", "content": "s"},
            {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"},
            {"role": "tool", "content": "t"}, {"role": "assistant", "content": "b"}], "source": 1}"#;
        assert_eq!(roles(messages), [System, User, Assistant, Tool, Assistant]);
        assert_eq!(roles(r#"{"prompt": "u", "completion": "a"}"#), [User, Assistant]);
        let both = r#"{"prompt": [{"role": "user", "content": "u"}],
            "completion": [{"role": "assistant", "content": "a"}]}"#;
        assert_eq!(roles(both), [User, Assistant]);
        assert!(
            matches!(example(r#"{"text": "words"}"#), Ok(Example::Text(text)) if text == "words")
        );
    }

    #[test]
    fn lines_that_teach_nothing_or_have_no_order_are_refused_with_their_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("data.jsonl");
        let refusal = |line: &str| {
            fs::write(&path, format!("{{\"text\": \"fine\"}}\n\n{line}\n")).unwrap();
            let error = read(std::slice::from_ref(&path)).unwrap_err();
            let text = with_causes(&error);
            assert!(text.contains("data.jsonl` line 3"), "{text}");
            text
        };
        for (line, expected) in [
            ("{}", "with `messages`, with `prompt` and `completion`, or with `text`"),
            ("nonsense", "it must be an object"),
            (r#"{"messages": [{"role": "user", "content": "u"}]}"#, "no message of the assistant"),
            (
                r#"{"messages": [{"role": "assistant", "content": "a"}]}"#,
                "message 1 is the assistant's",
            ),
            (
                r#"{"messages": [{"role": "user", "content": "u"}, {"role": "system", "content": "s"},
                    {"role": "assistant", "content": "a"}]}"#,
                "message 2 is the system's",
            ),
        ] {
            let found = refusal(&line.replace('\n', " "));
            assert!(found.contains(expected), "{found}");
        }
        fs::write(&path, "\n").unwrap();
        assert!(matches!(read(&[path]), Err(SftError::NoExamples)));
    }
}
