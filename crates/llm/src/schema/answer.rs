//! Answers that follow a schema, wherever they lie in a text.

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

/// Most bytes of an answer.
const MOST_BYTES: usize = 64 << 10;
/// Most braces and brackets within each other in an answer.
const MOST_DEPTH: usize = 32;

/// An answer that does not follow its schema. The message can be sent back to the model.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It is too long.
    #[error("the answer has {0} bytes, and at most {most} are read", most = MOST_BYTES)]
    TooLong(usize),
    /// It has no object.
    #[error("the answer has no JSON object that begins with `{{` and ends with `}}`")]
    NoObject,
    /// Its braces and brackets are nested too deeply.
    #[error("the answer has more than {most} braces and brackets within each other", most = MOST_DEPTH)]
    TooDeep,
    /// It is no JSON, or not of the form that is asked for.
    #[error("the JSON of the answer: {0}")]
    Json(#[from] serde_json::Error),
}

/// Reads the first JSON object of an answer: after thoughts in `<think>…</think>`, and within a
/// fence of three backticks if there is one. Keys that occur twice are refused, and so are unknown
/// fields if the type refuses them, as [`crate::AnswerSchema::from_type`] demands.
///
/// # Errors
/// [`AnswerError`].
pub fn parse<T: DeserializeOwned>(answer: &str) -> Result<T, AnswerError> {
    let text = answer.rsplit_once("</think>").map_or(answer, |(_, after)| after);
    if text.len() > MOST_BYTES {
        return Err(AnswerError::TooLong(text.len()));
    }
    let fenced = text.split_once("```").and_then(|(before, after)| {
        // Backticks within the object are part of a text.
        let inside = after.split_once('\n')?.1;
        (!before.contains('{')).then_some(inside)
    });
    let object = first_object(fenced.unwrap_or(text))?;
    let mut reader = serde_json::Deserializer::from_str(object);
    UniqueKeys.deserialize(&mut reader)?;
    Ok(serde_json::from_str(object)?)
}

/// The first balanced object.
fn first_object(text: &str) -> Result<&str, AnswerError> {
    let start = text.find('{').ok_or(AnswerError::NoObject)?;
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (index, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > MOST_DEPTH {
                    return Err(AnswerError::TooDeep);
                }
            }
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(&text[start..=index]);
                }
            }
            _ => {}
        }
    }
    Err(AnswerError::NoObject)
}

/// Walks through any JSON and refuses a key that occurs twice in an object.
struct UniqueKeys;

impl<'de> DeserializeSeed<'de> for UniqueKeys {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(UniqueKeys)?;
            if !keys.insert(key.clone()) {
                return Err(serde::de::Error::custom(format!("the key `{key}` occurs twice")));
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(UniqueKeys)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Column {
        name: String,
        low: f64,
    }

    #[test]
    fn parse_finds_the_object_in_every_wrapping() {
        let expected = Column { name: "a {b} ``` \"c".to_owned(), low: 1.5 };
        let object = r#"{"name": "a {b} ``` \"c", "low": 1.5}"#;
        for answer in [
            object.to_owned(),
            format!("Here it is: {object} Enjoy!"),
            format!("```json\n{object}\n```\nDone."),
            format!("<think>{{\"name\": 1}} hm</think>\n{object}"),
        ] {
            assert_eq!(parse::<Column>(&answer).unwrap(), expected, "{answer}");
        }
    }

    #[test]
    fn parse_wrong_answers_are_refused_with_the_reason() {
        let said = |answer: &str| parse::<Column>(answer).unwrap_err().to_string();
        for (answer, expected) in [
            ("no object", "no JSON object"),
            (r#"{"name": "a""#, "no JSON object"),
            (r#"{"name": "a", "low": NaN}"#, "line 1 column"),
            (r#"{"name": "a", "low": 1, "low": 2}"#, "`low` occurs twice"),
            (r#"{"name": "a", "low": 1, "high": 2}"#, "unknown field `high`"),
            (r#"{"name": "a"}"#, "missing field `low`"),
            (r#"{"name": "a", "low": 1e999}"#, "out of range"),
        ] {
            assert!(said(answer).contains(expected), "{answer}: {}", said(answer));
        }
        assert!(said(&"{".repeat(40)).contains("within each other"));
        assert!(
            said(&format!("{{\"name\": \"{}\"}}", "x".repeat(70_000))).contains("at most 65536")
        );
    }

    #[test]
    fn parse_nested_duplicate_key_is_refused() {
        let error = parse::<Value>(r#"{"a": [{"b": 1, "b": 2}]}"#).unwrap_err();
        assert!(error.to_string().contains("`b` occurs twice"));
    }

    proptest! {
        #[test]
        fn parse_any_text_never_panics(text in "([{}\\[\\]\":,`\\\\a1é]|</think>|```\n){0,60}") {
            let _ = parse::<Value>(&text);
        }

        #[test]
        fn parse_reads_back_any_object(fields in prop::collection::btree_map(".{0,8}", ".{0,8}", 0..6)) {
            let text = serde_json::to_string(&fields).unwrap();
            let parsed: BTreeMap<String, String> = parse(&text).unwrap();
            prop_assert_eq!(parsed, fields);
        }
    }
}
