//! Keeps the content of messages from opening or closing turns.
//!
//! A template surrounds the content with text of its own, inspects the content and may cut it. The
//! result must be encoded as one text, because a token may cover both. Control tokens in the
//! result must come from the template alone. So before rendering, a mark is inserted into every
//! control token that the content spells, after its first character. The mark is a character that
//! the content does not have; the encoder removes it.

use crate::text::tokenizer::Tokenizer;
use minijinja::Value;
use minijinja::value::{DynObject, ValueKind};
use std::collections::BTreeSet;

/// No private character is left to be the mark.
#[derive(Debug, thiserror::Error)]
#[error("the messages use all 6400 private characters of Unicode's first plane; leave one out")]
pub struct NoMark;

/// A mark for one conversation.
#[derive(Debug)]
pub(super) struct Guard {
    mark: char,
    /// The first two characters of every control token.
    heads: BTreeSet<(char, char)>,
}

impl Guard {
    /// A guard with a mark that occurs nowhere in `contents`.
    pub(super) fn new(tokenizer: &Tokenizer, contents: &[&Value]) -> Result<Self, NoMark> {
        let mut taken = BTreeSet::new();
        for value in contents {
            private_characters(value, &mut taken);
        }
        let mark = PRIVATE.into_iter().find(|mark| !taken.contains(mark)).ok_or(NoMark)?;
        let head = |token: &str| {
            let mut characters = token.chars();
            characters.next().zip(characters.next())
        };
        Ok(Self { mark, heads: tokenizer.control_tokens().filter_map(head).collect() })
    }

    /// The mark, which parts control tokens of the content.
    pub(super) fn mark(&self) -> char {
        self.mark
    }

    /// `value` with the mark in all its strings, however deep.
    pub(super) fn guarded(&self, value: &Value) -> Value {
        match value.kind() {
            ValueKind::String => value.as_str().map_or(Value::UNDEFINED, |s| self.text(s).into()),
            ValueKind::Seq => {
                value.try_iter().into_iter().flatten().map(|item| self.guarded(&item)).collect()
            }
            ValueKind::Map => Value::from_pairs(
                pairs(value).map(|(key, value)| (self.guarded(&key), self.guarded(&value))),
            ),
            _ => value.clone(),
        }
    }

    /// A control token that begins in `text` begins with a head, or with the first character of
    /// one at the very end. Nothing that a template does to the result can put such a token
    /// together again: the mark has no place in it.
    fn text(&self, text: &str) -> String {
        let mut guarded = String::with_capacity(text.len());
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            guarded.push(character);
            let opens = match characters.peek() {
                Some(next) => self.heads.contains(&(character, *next)),
                None => self.heads.iter().any(|(first, _)| *first == character),
            };
            if opens {
                guarded.push(self.mark);
            }
        }
        guarded
    }
}

const PRIVATE: std::ops::RangeInclusive<char> = '\u{E000}'..='\u{F8FF}';

fn private_characters(value: &Value, taken: &mut BTreeSet<char>) {
    match value.kind() {
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            taken.extend(text.chars().filter(|character| PRIVATE.contains(character)));
        }
        ValueKind::Seq => {
            for item in value.try_iter().into_iter().flatten() {
                private_characters(&item, taken);
            }
        }
        ValueKind::Map => {
            for (key, value) in pairs(value) {
                private_characters(&key, taken);
                private_characters(&value, taken);
            }
        }
        _ => (),
    }
}

fn pairs(value: &Value) -> impl Iterator<Item = (Value, Value)> {
    value.as_object().and_then(DynObject::try_iter_pairs).into_iter().flatten()
}
