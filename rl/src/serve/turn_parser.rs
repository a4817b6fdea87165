//! Splits the text of a turn into reasoning, content and tool calls, as OpenAI's clients expect.
//!
//! ```text
//! <think>REASONING</think>CONTENT<tool_call>\n{"name": NAME, "arguments": {…}}\n</tool_call>
//! <think>REASONING</think>CONTENT<tool_call>\npython\n<code>\nSCRIPT\n</code>\n</tool_call>
//! ```
//! The second form, which policies write whose `tool_call_format` is `code`, becomes a call of
//! `python` with the argument `code`. Nothing is trimmed: joined with the tags, the parts are the
//! sampled text, except for scripts in that form and white space after a call. A call that has
//! neither form or is never closed is content.

use super::text::settled;
use agents::grammar::ToolCallFormat;
use sandbox::env::Action;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

const THINK: (&str, &str) = ("<think>", "</think>");
const CALL: (&str, &str) = ("<tool_call>", "</tool_call>");

/// A part of the message that a turn is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessagePart {
    /// Text between the tags of reasoning.
    Reasoning(String),
    /// Text outside of all tags.
    Content(String),
    /// A call of a tool.
    ToolCall {
        /// The name of the tool.
        name: String,
        /// The arguments, a JSON object as the model wrote it.
        arguments: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParserState {
    /// Before the first character, where reasoning may begin.
    Start,
    Reasoning,
    Content,
    ToolCall,
    /// After a call, where white space is skipped.
    AfterToolCall,
}

/// Parses a turn while it is generated.
#[derive(Debug)]
pub(super) struct TurnParser {
    state: ParserState,
    /// Whether there are tools to call.
    has_tools: bool,
    /// Text that may be the beginning of a tag.
    held: String,
}

#[derive(Deserialize)]
struct ToolCallBody<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl TurnParser {
    /// `reasoning`: `None` if reasoning is not separated from content, else whether the prompt
    /// ends with the opening tag. `has_tools`: whether there are tools to call.
    pub(super) fn new(reasoning: Option<bool>, has_tools: bool) -> Self {
        let state = match reasoning {
            None => ParserState::Content,
            Some(false) => ParserState::Start,
            Some(true) => ParserState::Reasoning,
        };
        Self { state, has_tools, held: String::new() }
    }

    /// Adds text and returns the parts that no later text can change.
    pub(super) fn push(&mut self, text: &str) -> Vec<MessagePart> {
        self.held.push_str(text);
        let mut parts = Vec::new();
        while self.read(&mut parts) {}
        parts.retain(
            |part| !matches!(part, MessagePart::Reasoning(text) | MessagePart::Content(text) if text.is_empty()),
        );
        parts
    }

    /// The rest, at the end of the turn.
    pub(super) fn finish(&mut self) -> Option<MessagePart> {
        let held = std::mem::take(&mut self.held);
        match self.state {
            ParserState::Reasoning => Some(MessagePart::Reasoning(held)),
            ParserState::ToolCall => Some(MessagePart::Content(format!("{}{held}", CALL.0))),
            ParserState::Start | ParserState::Content | ParserState::AfterToolCall => Some(MessagePart::Content(held)),
        }
        .filter(
            |part| !matches!(part, MessagePart::Reasoning(text) | MessagePart::Content(text) if text.is_empty()),
        )
    }

    /// Parses up to the next change of state. Returns whether there may be more to parse.
    fn read(&mut self, parts: &mut Vec<MessagePart>) -> bool {
        match self.state {
            ParserState::Start => {
                if self.held.starts_with(THINK.0) {
                    self.held.drain(..THINK.0.len());
                    self.state = ParserState::Reasoning;
                } else if THINK.0.starts_with(&self.held) {
                    return false;
                } else {
                    self.state = ParserState::Content;
                }
                true
            }
            ParserState::Reasoning => {
                let (text, closed) = self.until(THINK.1);
                parts.push(MessagePart::Reasoning(text));
                if closed {
                    self.state = ParserState::Content;
                }
                closed
            }
            ParserState::Content if self.has_tools => {
                let (text, opened) = self.until(CALL.0);
                parts.push(MessagePart::Content(text));
                if opened {
                    self.state = ParserState::ToolCall;
                }
                opened
            }
            ParserState::Content => {
                parts.push(MessagePart::Content(std::mem::take(&mut self.held)));
                false
            }
            ParserState::ToolCall => {
                let Some(at) = end_of_call(&self.held) else { return false };
                let rest = self.held.split_off(at + CALL.1.len());
                let body = std::mem::replace(&mut self.held, rest);
                let call = call(&body[..at]);
                self.state =
                    if call.is_some() { ParserState::AfterToolCall } else { ParserState::Content };
                parts.push(
                    call.unwrap_or_else(|| MessagePart::Content(format!("{}{body}", CALL.0))),
                );
                true
            }
            ParserState::AfterToolCall => {
                let blanks = self.held.len() - self.held.trim_start().len();
                self.held.drain(..blanks);
                if self.held.is_empty() {
                    return false;
                }
                self.state = ParserState::Content;
                true
            }
        }
    }

    /// Removes and returns the text before `tag`, and whether the tag was found. Without the tag,
    /// only text that cannot be its beginning.
    fn until(&mut self, tag: &str) -> (String, bool) {
        let found = self.held.find(tag);
        let (end, next) = match found {
            Some(at) => (at, at + tag.len()),
            None => [settled(&self.held, &[tag]); 2].into(),
        };
        let rest = self.held.split_off(next);
        let mut text = std::mem::replace(&mut self.held, rest);
        text.truncate(end);
        (text, found.is_some())
    }
}

/// Where the closing tag of a call begins; `None` while it may be still to come. A script may print
/// such a tag, so the first one counts behind which the call is whole, or the first of all if another
/// call begins before there is such a one.
fn end_of_call(held: &str) -> Option<usize> {
    let mut ends = held.match_indices(CALL.1).map(|(at, _)| at);
    let first = ends.next()?;
    if !is_within_script(&held[..first]) {
        return Some(first);
    }
    let next_call = held[first..].find(CALL.0).map_or(held.len(), |at| first + at);
    let whole = ends.take_while(|&at| at < next_call).find(|&at| !is_within_script(&held[..at]));
    whole.or_else(|| (next_call < held.len()).then_some(first))
}

/// Whether the beginning of a call ends within its script.
fn is_within_script(body: &str) -> bool {
    let body = body.trim();
    if body.starts_with('{') {
        return serde_json::from_str::<IgnoredAny>(body).is_err_and(|error| error.is_eof());
    }
    body.starts_with("python") && body.contains("<code>") && !body.ends_with("</code>")
}

fn call(body: &str) -> Option<MessagePart> {
    let turn = format!("{}{body}{}", CALL.0, CALL.1);
    if let Action::Python { code } = ToolCallFormat::Code.parse(&turn).action {
        let arguments = json!({"code": code}).to_string();
        return Some(MessagePart::ToolCall { name: "python".into(), arguments });
    }
    let call: ToolCallBody<'_> = serde_json::from_str(body).ok()?;
    let arguments = call.arguments.map_or("{}", RawValue::get);
    arguments
        .starts_with('{')
        .then(|| MessagePart::ToolCall { name: call.name, arguments: arguments.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, reasoning: Option<bool>, has_tools: bool) -> Vec<MessagePart> {
        let mut parser = TurnParser::new(reasoning, has_tools);
        let mut parts = parser.push(text);
        parts.extend(parser.finish());
        parts
    }

    fn reasoning(text: &str) -> MessagePart {
        MessagePart::Reasoning(text.into())
    }

    fn content(text: &str) -> MessagePart {
        MessagePart::Content(text.into())
    }

    fn call(name: &str, arguments: &str) -> MessagePart {
        MessagePart::ToolCall { name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn turn_with_tags_is_split_into_parts() {
        let turn = "<think>\nhm <tool_call>\n</think>\n\nNow.<tool_call>\n{\"name\": \"python\", \"arguments\": {\"z\": 1.0, \"a\": \"</b>\"}}\n</tool_call>\n\n<tool_call>{\"name\":\"score\"}</tool_call> \n";
        let parts = read(turn, Some(false), true);
        assert_eq!(
            parts,
            [
                reasoning("\nhm <tool_call>\n"),
                content("\n\nNow."),
                call("python", "{\"z\": 1.0, \"a\": \"</b>\"}"),
                call("score", "{}"),
            ]
        );
        assert_eq!(read("a</think>b", Some(true), false), [reasoning("a"), content("b")]);
        assert_eq!(read("<think>a", Some(false), true), [reasoning("a")]);
        assert_eq!(read("<thin", Some(false), true), [content("<thin")]);
        for (text, prompt) in [("<think>a</think>b", None), (" <think>a</think>b", Some(false))] {
            assert_eq!(read(text, prompt, true), [content(text)]);
        }
        assert_eq!(
            read("<tool_call>{}</tool_call>", None, false),
            [content("<tool_call>{}</tool_call>")]
        );
    }

    #[test]
    fn script_between_code_tags_is_a_call_of_python() {
        let script = "print('</tool_call>')\nx = \"é\\n\"";
        let expected = json!({"code": script}).to_string();
        for format in ToolCallFormat::ALL {
            let turn = format.python_turn("try", script);
            let parts = read(&turn, Some(false), true);
            let [thought, blank, MessagePart::ToolCall { name, arguments }] = &parts[..] else {
                panic!("{}: {parts:?}", format.name())
            };
            assert_eq!((thought, blank), (&reasoning("try"), &content("\n")));
            assert_eq!(name, "python");
            let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
            assert_eq!(arguments.to_string(), expected);
            assert_eq!(read(&turn, None, false), [content(&turn)]);
        }
        // A tag in a script that is never closed does not swallow the next call.
        let parts = read(
            "<tool_call>{\"a</tool_call>b<tool_call>{\"name\": \"f\"}</tool_call>",
            None,
            true,
        );
        assert_eq!(parts.last(), Some(&call("f", "{}")));
    }

    #[test]
    fn broken_tool_call_is_content() {
        for text in [
            "<tool_call>{\"name\": \"x\", \"arguments\": {}",
            "<tool_call>x</tool_call>",
            "<tool_call>\npython\nprint(1)\n</tool_call>",
            "<tool_call>\npython\n<code>\nprint(1)\n</tool_call>",
            "<tool_call>{\"arguments\": {}}</tool_call>\n.",
            "<tool_call>{\"name\": \"x\", \"arguments\": \"y\"}</tool_call>",
            "<tool_call>[]",
        ] {
            let joined: String = read(text, None, true)
                .into_iter()
                .map(|part| match part {
                    MessagePart::Content(words) => words,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(joined, text);
        }
    }

    proptest! {
        #[test]
        fn parts_do_not_depend_on_chunks(
            chunks in prop::collection::vec("(</?think>|</?tool_call>|python|</?code>|<|t|\\{\"name\":\"f\"\\}|\\{\"| |\n|</){0,4}", 0..8),
            reasoning in prop::option::of(any::<bool>()), has_tools: bool,
        ) {
            let join = |parts: Vec<MessagePart>| {
                let mut joined: Vec<MessagePart> = Vec::new();
                for part in parts {
                    match (joined.last_mut(), part) {
                        (Some(MessagePart::Content(text)), MessagePart::Content(more))
                        | (Some(MessagePart::Reasoning(text)), MessagePart::Reasoning(more)) => text.push_str(&more),
                        (_, part) => joined.push(part),
                    }
                }
                joined
            };
            let mut parser = TurnParser::new(reasoning, has_tools);
            let mut parts: Vec<MessagePart> = chunks.iter().flat_map(|chunk| parser.push(chunk)).collect();
            parts.extend(parser.finish());
            prop_assert_eq!(join(parts), join(read(&chunks.concat(), reasoning, has_tools)));
        }
    }
}
