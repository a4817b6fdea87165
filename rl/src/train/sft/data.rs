//! Examples from the user's files, in the formats of TRL's `SFTTrainer` and of Alpaca.
//!
//! One JSON object a line, or one list of such objects:
//!
//! | keys | what is imitated |
//! | --- | --- |
//! | `messages`: \[{`role`, `content`}\] | every message of the assistant |
//! | `prompt`, `completion`: texts, or lists of messages | the completion |
//! | `instruction`, `output`, and if there are any `input`, `system`, `history` | `output`, and the answers in `history` |
//! | `text` | all of it, as plain text without roles |
//!
//! Other keys are ignored, such as the rewards that `rl sample` writes.

use super::example::{Example, NamedExample};
use crate::text::template::ChatRole;
use crate::train::records::{self, Message, RecordError, RecordsError, Side, conversation};
use camino::Utf8PathBuf;
use serde::Deserialize;

/// What a record must have.
const EXPECTED: &str =
    "`messages`, with `prompt` and `completion`, with `instruction` and `output`, or with `text`";

/// A record as it is written.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Record {
    Messages { messages: Vec<Message> },
    Completion { prompt: Side, completion: Side },
    // Before plain text, which the release of Alpaca has beside these.
    Alpaca(Alpaca),
    Text { text: String },
}

/// A record of Alpaca (Taori et al. 2023), with the keys that `LLaMA-Factory` added.
#[derive(Debug, Deserialize)]
struct Alpaca {
    instruction: String,
    #[serde(default)]
    input: Option<String>,
    output: String,
    #[serde(default)]
    system: Option<String>,
    /// Questions and answers before.
    #[serde(default)]
    history: Option<Vec<(String, String)>>,
}

impl Alpaca {
    fn messages(self) -> Vec<Message> {
        let Self { instruction, input, output, system, history } = self;
        let message = |role, content| Message { role, content };
        let written = |text: &String| !text.is_empty();
        let system = system.filter(written).map(|text| message(ChatRole::System, text));
        let mut messages: Vec<Message> = system.into_iter().collect();
        for (question, answer) in history.unwrap_or_default() {
            messages
                .extend([message(ChatRole::User, question), message(ChatRole::Assistant, answer)]);
        }
        let question = match input.filter(written) {
            Some(input) => format!("{instruction}\n{input}"),
            None => instruction,
        };
        messages.extend([message(ChatRole::User, question), message(ChatRole::Assistant, output)]);
        messages
    }
}

/// The examples of all `files`, in their order.
///
/// # Errors
/// [`RecordsError`] naming the first record that is none.
pub(super) fn read(files: &[Utf8PathBuf]) -> Result<Vec<NamedExample>, RecordsError> {
    let named = |(name, example)| NamedExample { name, example };
    Ok(records::read(files, example)?.into_iter().map(named).collect())
}

fn example(record: &str) -> Result<Example, RecordError> {
    let parsed = serde_json::from_str(record)
        .map_err(|source| RecordError::Format { expected: EXPECTED, source })?;
    let messages = match parsed {
        Record::Text { text } => return Ok(Example::Text(text)),
        Record::Messages { messages } => messages,
        Record::Alpaca(alpaca) => alpaca.messages(),
        Record::Completion { prompt, completion } => {
            let mut messages = prompt.messages(ChatRole::User);
            messages.extend(completion.messages(ChatRole::Assistant));
            messages
        }
    };
    Ok(Example::Conversation(conversation(messages)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8Path;
    use fs_err as fs;
    use tasks::text::with_causes;

    fn said(line: &str) -> Vec<(ChatRole, String)> {
        match example(line).unwrap() {
            Example::Conversation(messages) => messages
                .into_iter()
                .map(|message| (message.role, message.content.unwrap_or_default()))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    fn roles(line: &str) -> Vec<ChatRole> {
        said(line).into_iter().map(|(role, _)| role).collect()
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
    fn alpaca_is_read_with_and_without_input_system_and_history() {
        use ChatRole::{Assistant, System, User};
        let plain = r#"{"instruction": "Add.", "input": "", "output": "3", "text": "all of it"}"#;
        assert_eq!(said(plain), [(User, "Add.".into()), (Assistant, "3".into())]);
        let full = r#"{"instruction": "Add.", "input": "1 2", "output": "3", "system": "s",
            "history": [["q", "a"]]}"#;
        let expected =
            [(System, "s"), (User, "q"), (Assistant, "a"), (User, "Add.\n1 2"), (Assistant, "3")];
        assert_eq!(said(full), expected.map(|(role, text)| (role, text.to_owned())));
    }

    #[test]
    fn records_that_teach_nothing_or_have_no_order_are_refused_with_their_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("data.jsonl");
        let refused = |text: String, place: &str| {
            fs::write(&path, text).unwrap();
            let error = read(std::slice::from_ref(&path)).unwrap_err();
            let text = with_causes(&error);
            assert!(text.contains(&format!("data.jsonl` {place}")), "{text}");
            text
        };
        for (record, expected) in [
            ("{}", "with `messages`, with `prompt` and `completion`, with `instruction`"),
            ("17", "it must be an object"),
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
            let record = record.replace('\n', " ");
            let found = refused(format!("{{\"text\": \"fine\"}}\n\n{record}\n"), "line 3");
            assert!(found.contains(expected), "{found}");
            let found = refused(format!("[{{\"text\": \"fine\"}},\n{record}]"), "item 2");
            assert!(found.contains(expected), "{found}");
        }
        fs::write(&path, "\n").unwrap();
        assert!(matches!(read(std::slice::from_ref(&path)), Err(RecordsError::Empty)));
        fs::write(&path, "[{\"text\": \"a\"}, {\"text\": \"b\"}]").unwrap();
        let names: Vec<String> =
            read(std::slice::from_ref(&path)).unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["data.jsonl item 1", "data.jsonl item 2"]);
        fs::write(&path, "[{\"text\": \"a\"}").unwrap();
        assert!(matches!(read(&[path]), Err(RecordsError::List { .. })));
    }
}
