//! The user's files of examples: what is in them, record by record, and conversations in records.

use crate::text::template::{ChatMessage, ChatRole};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::io;

/// Why files are no examples.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// A file could not be read.
    #[error("failed to read the examples")]
    Io(#[from] io::Error),
    /// A file begins as a list in JSON and is none.
    #[error("`{path}` is no list in JSON; give one, or a JSON object a line")]
    List {
        /// The file.
        path: Utf8PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// A record is no example.
    #[error("`{path}` {place} is no example to learn from")]
    Record {
        /// The file.
        path: Utf8PathBuf,
        /// The place of the record: `line 3`, or `item 3` of a list, from 1.
        place: String,
        /// What is wrong with it.
        #[source]
        source: RecordError,
    },
    /// Files without records.
    #[error("the files of `--data` are empty; give one JSON object a line (docs/WORLDS.md)")]
    Empty,
}

/// Why a record is no example.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not an object with the keys of an example.
    #[error("it must be an object with {expected}")]
    Format {
        /// The keys.
        expected: &'static str,
        /// The parser's error.
        #[source]
        source: serde_json::Error,
    },
    /// Nothing to imitate.
    #[error("it has no message of the assistant, so nothing in it is imitated")]
    NoAnswer,
    /// Two messages of the assistant in a row, or the assistant's first.
    #[error("message {0} is the assistant's and follows no message of another role")]
    Order(usize),
    /// A system message that is not the first.
    #[error("message {0} is the system's and not the first")]
    LateSystem(usize),
    /// Both sides of a pair are the same.
    #[error("`chosen` and `rejected` are the same, so nothing is to be preferred")]
    SameSides,
}

/// Reads all `files`, each one JSON object a line or one list, and gives each record, with a name such
/// as `data.jsonl line 3`, to `parse`.
///
/// # Errors
/// [`RecordsError`] naming the first record that is no example.
pub(super) fn read<T>(
    files: &[Utf8PathBuf],
    parse: impl Fn(&str) -> Result<T, RecordError>,
) -> Result<Vec<(String, T)>, RecordsError> {
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(path)?;
        for (place, record) in records(path, &text)? {
            let name = format!("{} {place}", path.file_name().unwrap_or(path.as_str()));
            let example = parse(record).map_err(|source| RecordsError::Record {
                path: path.clone(),
                place,
                source,
            })?;
            found.push((name, example));
        }
    }
    if found.is_empty() { Err(RecordsError::Empty) } else { Ok(found) }
}

/// The records of a file with their places.
fn records<'t>(path: &Utf8Path, text: &'t str) -> Result<Vec<(String, &'t str)>, RecordsError> {
    if text.trim_start().starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|source| RecordsError::List { path: path.to_owned(), source })?;
        let named =
            |(index, item): (usize, &'t RawValue)| (format!("item {}", index + 1), item.get());
        return Ok(items.into_iter().enumerate().map(named).collect());
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Ok(lines.map(|(index, line)| (format!("line {}", index + 1), line)).collect())
}

/// A message as it is written. Other keys than these are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Message {
    pub(super) role: ChatRole,
    pub(super) content: String,
}

/// A part of a conversation: a text, or messages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Side {
    Text(String),
    Messages(Vec<Message>),
}

impl Side {
    /// The messages; a text is one of `role`.
    pub(super) fn messages(self, role: ChatRole) -> Vec<Message> {
        match self {
            Self::Text(content) => vec![Message { role, content }],
            Self::Messages(messages) => messages,
        }
    }
}

/// The conversation, if a chat template can take these messages one after the other.
///
/// # Errors
/// [`RecordError`] naming the message that is out of order.
pub(super) fn conversation(messages: Vec<Message>) -> Result<Vec<ChatMessage>, RecordError> {
    if !messages.iter().any(|message| message.role == ChatRole::Assistant) {
        return Err(RecordError::NoAnswer);
    }
    for (place, message) in messages.iter().enumerate() {
        let follows = place.checked_sub(1).map(|before| messages[before].role);
        match message.role {
            ChatRole::Assistant
                if matches!(follows, None | Some(ChatRole::Assistant | ChatRole::System)) =>
            {
                return Err(RecordError::Order(place + 1));
            }
            ChatRole::System if place > 0 => return Err(RecordError::LateSystem(place + 1)),
            _ => (),
        }
    }
    let message = |message: Message| ChatMessage::new(message.role, message.content);
    Ok(messages.into_iter().map(message).collect())
}
