//! Answers as an object of JSON somewhere in a text: `{"answer": "A"}`.

use super::Mistake;
use serde_json::Value;

/// The value of `name` in the last object of JSON in a text that has it.
///
/// # Errors
/// [`Mistake::Empty`] for a blank text, [`Mistake::Truncated`] if the last object that begins is
/// right as far as it goes and has no end, and [`Mistake::Format`] otherwise.
///
/// # Examples
/// ```rust
/// use serde_json::json;
/// use worlds::score::{Mistake, json_field};
///
/// assert_eq!(json_field(r#"Both: {"answer": ["A", "C"]}."#, "answer"), Ok(json!(["A", "C"])));
/// assert_eq!(json_field(r#"{"answer": ["A","#, "answer"), Err(Mistake::Truncated));
/// assert_eq!(json_field("A", "answer"), Err(Mistake::Format));
/// ```
pub fn json_field(text: &str, name: &str) -> Result<Value, Mistake> {
    if text.trim().is_empty() {
        return Err(Mistake::Empty);
    }
    let mut mistake = Mistake::Format;
    for (at, _) in text.rmatch_indices('{') {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(object)) => {
                if let Some(found) = object.get(name) {
                    return Ok(found.clone());
                }
            }
            Some(Err(error)) if error.is_eof() => mistake = Mistake::Truncated,
            _ => {}
        }
    }
    Err(mistake)
}
