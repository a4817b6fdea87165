//! What a user says of one item: a line of the file of items.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One item, as a user writes it.
///
/// # Examples
/// ```rust
/// use worlds::custom::read_rows;
///
/// let rows = read_rows("{\"prompt\": \"2 + 2?\", \"truth\": 4, \"answer\": \"2 and 2 are 4.\"}\n")?;
/// assert_eq!(rows[0].truth, 4);
/// assert!(read_rows("{\"question\": \"2 + 2?\"}").is_err());
/// # Ok::<(), worlds::custom::BadRow>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomRow {
    /// What the model is asked.
    pub prompt: String,
    /// What the scorer compares the answer with: any JSON.
    pub truth: Value,
    /// An answer that earns full marks. It makes the item a public example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The system message, where it is not the task's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// A line that is no item.
#[derive(Debug, thiserror::Error)]
pub enum BadRow {
    /// It has other keys, or is no JSON.
    #[error(
        "line {line} is no item: an item is an object of JSON with `prompt` and `truth`, and may have \
         `answer` and `system`"
    )]
    Form {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A text of it is blank.
    #[error("`{key}` in line {line} is blank")]
    Blank {
        /// Its number, from 1.
        line: usize,
        /// The key.
        key: &'static str,
    },
    /// It asks the same as another one.
    #[error("line {line} asks the same as line {first}; leave one of them out")]
    Twice {
        /// Its number, from 1.
        line: usize,
        /// The other one's.
        first: usize,
    },
}

/// Reads a file of items: JSON lines, of which blank ones are passed over.
///
/// # Errors
/// [`BadRow`].
pub fn read_rows(text: &str) -> Result<Vec<CustomRow>, BadRow> {
    let mut rows: Vec<CustomRow> = Vec::new();
    let mut asked = std::collections::HashMap::new();
    for (place, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let line_number = place + 1;
        let row: CustomRow = serde_json::from_str(line)
            .map_err(|source| BadRow::Form { line: line_number, source })?;
        let texts = [("prompt", Some(&row.prompt)), ("answer", row.answer.as_ref())];
        for (key, text) in texts {
            if text.is_some_and(|text| text.trim().is_empty()) {
                return Err(BadRow::Blank { line: line_number, key });
            }
        }
        let question = (row.system.clone(), row.prompt.clone());
        if let Some(first) = asked.insert(question, line_number) {
            return Err(BadRow::Twice { line: line_number, first });
        }
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_items_are_named() {
        let good = "{\"prompt\": \"a\", \"truth\": null}";
        assert_eq!(read_rows(&format!("{good}\n\n")).unwrap().len(), 1);
        for (text, expected) in [
            ("{\"prompt\": \"a\"}", "line 1 is no item"),
            ("{\"prompt\": \"a\", \"truth\": 1, \"label\": 2}", "line 1 is no item"),
            ("{\"prompt\": \" \", \"truth\": 1}", "`prompt` in line 1 is blank"),
            ("{\"prompt\": \"a\", \"truth\": 1, \"answer\": \"\"}", "`answer` in line 1 is blank"),
            (&format!("{good}\n\n{good}"), "line 3 asks the same as line 1"),
        ] {
            let refused = read_rows(text).unwrap_err().to_string();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
