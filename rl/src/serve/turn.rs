//! A model's turn as OpenAI's clients want it: thoughts, words and calls of tools kept apart.
//!
//! ```text
//! <think>THOUGHTS</think>WORDS<tool_call>\n{"name": NAME, "arguments": {…}}\n</tool_call>
//! ```
//! Nothing is trimmed: put together again with the tags, thoughts and words are what was sampled,
//! except for blanks behind a call. What is not what it should be stays words: a call that is no
//! JSON, or is never closed.

use super::text::settled;
use serde::Deserialize;
use serde_json::value::RawValue;

const THINK: (&str, &str) = ("<think>", "</think>");
const CALL: (&str, &str) = ("<tool_call>", "</tool_call>");

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Of what it thinks.
    Thought(String),
    /// Of what it says.
    Words(String),
    /// A tool that it calls, with the arguments as it wrote them.
    Call {
        /// The name of the tool.
        name: String,
        /// The arguments as a JSON object.
        arguments: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first word, where a thought may begin.
    Start,
    Thought,
    Words,
    Call,
    /// Behind a call, where blanks mean nothing.
    Behind,
}

/// Reads a turn as it comes.
#[derive(Debug)]
pub(super) struct TurnReader {
    place: Place,
    calls: bool,
    held: String,
}

#[derive(Deserialize)]
struct Call<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl TurnReader {
    /// `thought`: nothing where thoughts are words like others, else whether the prompt has
    /// already opened one. `calls`: whether there are tools to call.
    pub(super) fn new(thought: Option<bool>, calls: bool) -> Self {
        let place = match thought {
            None => Place::Words,
            Some(false) => Place::Start,
            Some(true) => Place::Thought,
        };
        Self { place, calls, held: String::new() }
    }

    /// Takes more text and returns what is certain.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        while self.read(&mut pieces) {}
        pieces.retain(
            |piece| !matches!(piece, Piece::Thought(text) | Piece::Words(text) if text.is_empty()),
        );
        pieces
    }

    /// What is left when the turn is over.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Thought => Some(Piece::Thought(held)),
            Place::Call => Some(Piece::Words(format!("{}{held}", CALL.0))),
            Place::Start | Place::Words | Place::Behind => Some(Piece::Words(held)),
        }
        .filter(
            |piece| !matches!(piece, Piece::Thought(text) | Piece::Words(text) if text.is_empty()),
        )
    }

    /// Reads up to the next place. Returns whether there may be more to read.
    fn read(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match self.place {
            Place::Start => {
                if self.held.starts_with(THINK.0) {
                    self.held.drain(..THINK.0.len());
                    self.place = Place::Thought;
                } else if THINK.0.starts_with(&self.held) {
                    return false;
                } else {
                    self.place = Place::Words;
                }
                true
            }
            Place::Thought => {
                let (text, closed) = self.until(THINK.1);
                pieces.push(Piece::Thought(text));
                if closed {
                    self.place = Place::Words;
                }
                closed
            }
            Place::Words if self.calls => {
                let (text, opened) = self.until(CALL.0);
                pieces.push(Piece::Words(text));
                if opened {
                    self.place = Place::Call;
                }
                opened
            }
            Place::Words => {
                pieces.push(Piece::Words(std::mem::take(&mut self.held)));
                false
            }
            Place::Call => {
                let Some(at) = self.held.find(CALL.1) else { return false };
                let rest = self.held.split_off(at + CALL.1.len());
                let body = std::mem::replace(&mut self.held, rest);
                let call = call(&body[..at]);
                self.place = if call.is_some() { Place::Behind } else { Place::Words };
                pieces.push(call.unwrap_or_else(|| Piece::Words(format!("{}{body}", CALL.0))));
                true
            }
            Place::Behind => {
                let blanks = self.held.len() - self.held.trim_start().len();
                self.held.drain(..blanks);
                if self.held.is_empty() {
                    return false;
                }
                self.place = Place::Words;
                true
            }
        }
    }

    /// Takes the text before `tag`, and the tag if it is there; else what cannot be part of it.
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

fn call(body: &str) -> Option<Piece> {
    let call: Call<'_> = serde_json::from_str(body).ok()?;
    let arguments = call.arguments.map_or("{}", RawValue::get);
    arguments.starts_with('{').then(|| Piece::Call { name: call.name, arguments: arguments.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, thought: Option<bool>, calls: bool) -> Vec<Piece> {
        let mut reader = TurnReader::new(thought, calls);
        let mut pieces = reader.push(text);
        pieces.extend(reader.finish());
        pieces
    }

    fn thought(text: &str) -> Piece {
        Piece::Thought(text.into())
    }

    fn words(text: &str) -> Piece {
        Piece::Words(text.into())
    }

    fn call(name: &str, arguments: &str) -> Piece {
        Piece::Call { name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn a_turn_is_taken_apart() {
        let turn = "<think>\nhm <tool_call>\n</think>\n\nNow.<tool_call>\n{\"name\": \"python\", \"arguments\": {\"z\": 1.0, \"a\": \"</b>\"}}\n</tool_call>\n\n<tool_call>{\"name\":\"score\"}</tool_call> \n";
        let said = read(turn, Some(false), true);
        assert_eq!(
            said,
            [
                thought("\nhm <tool_call>\n"),
                words("\n\nNow."),
                call("python", "{\"z\": 1.0, \"a\": \"</b>\"}"),
                call("score", "{}"),
            ]
        );
        assert_eq!(read("a</think>b", Some(true), false), [thought("a"), words("b")]);
        assert_eq!(read("<think>a", Some(false), true), [thought("a")]);
        assert_eq!(read("<thin", Some(false), true), [words("<thin")]);
        for (text, place) in [("<think>a</think>b", None), (" <think>a</think>b", Some(false))] {
            assert_eq!(read(text, place, true), [words(text)]);
        }
        assert_eq!(
            read("<tool_call>{}</tool_call>", None, false),
            [words("<tool_call>{}</tool_call>")]
        );
    }

    #[test]
    fn broken_calls_stay_words() {
        for text in [
            "<tool_call>{\"name\": \"x\", \"arguments\": {}",
            "<tool_call>x</tool_call>",
            "<tool_call>{\"arguments\": {}}</tool_call>\n.",
            "<tool_call>{\"name\": \"x\", \"arguments\": \"y\"}</tool_call>",
            "<tool_call>[]",
        ] {
            let said: String = read(text, None, true)
                .into_iter()
                .map(|piece| match piece {
                    Piece::Words(words) => words,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(said, text);
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_depend_on_how_text_comes(
            parts in prop::collection::vec("(</?think>|</?tool_call>|<|t|\\{\"name\":\"f\"\\}| |\n|</){0,4}", 0..8),
            thought in prop::option::of(any::<bool>()), calls: bool,
        ) {
            let join = |pieces: Vec<Piece>| {
                let mut joined: Vec<Piece> = Vec::new();
                for piece in pieces {
                    match (joined.last_mut(), piece) {
                        (Some(Piece::Words(text)), Piece::Words(more))
                        | (Some(Piece::Thought(text)), Piece::Thought(more)) => text.push_str(&more),
                        (_, piece) => joined.push(piece),
                    }
                }
                joined
            };
            let mut reader = TurnReader::new(thought, calls);
            let mut pieces: Vec<Piece> = parts.iter().flat_map(|part| reader.push(part)).collect();
            pieces.extend(reader.finish());
            prop_assert_eq!(join(pieces), join(read(&parts.concat(), thought, calls)));
        }
    }
}
