//! Tables as lines of JSON: a line for each value of the first column, with a list of its rows.
//!
//! ```json
//! {"row_id":"a17","visits":[{"load":3.5,"noted_on":"2014-05-02"},{"load":4.1,"noted_on":"2014-06-30"}]}
//! ```
//!
//! Lines stand in the order in which their values first occur, rows in the table's. The columns of
//! a row are sorted by name.

use super::table::{self, Cells};
use polars::prelude::DataFrame;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tasks::json::sorted;

/// Why bytes are no such lines.
#[derive(Debug, thiserror::Error)]
pub enum JsonLinesError {
    /// A line is no JSON.
    #[error("line {line} is no JSON")]
    Json {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A line is no object with a value and a list of objects.
    #[error("line {line} is not {{\"KEY\": \"...\", \"LIST\": [{{...}}, ...]}}")]
    Form {
        /// Its number, from 1.
        line: usize,
    },
}

/// The lines of a table, the rows of each value of the first column in a list of this name.
///
/// # Panics
/// If the table has no column, or the first one holds numbers.
pub fn to_json_lines(table: &DataFrame, list: &str) -> Vec<u8> {
    let names = table.get_column_names();
    let [key, names @ ..] = &names[..] else { panic!("a table has a column") };
    let Some(Cells::Text(keys)) = table::cells(table, key) else { panic!("keys are texts") };
    let columns: Vec<_> =
        names.iter().filter_map(|name| Some((*name, table::cells(table, name)?))).collect();
    let mut place = BTreeMap::new();
    let mut lines: Vec<(&str, Vec<Value>)> = Vec::new();
    for (row, value) in keys.into_iter().enumerate() {
        let line = *place.entry(value).or_insert_with(|| {
            lines.push((value, Vec::new()));
            lines.len() - 1
        });
        let cell = |cells: &Cells<'_>| match cells {
            Cells::Text(texts) => Value::from(texts[row]),
            Cells::Numbers(numbers) => Value::from(numbers[row]),
        };
        let object: Map<String, Value> =
            columns.iter().map(|(name, cells)| (name.to_string(), cell(cells))).collect();
        lines[line].1.push(sorted(Value::Object(object)));
    }
    let mut text = String::new();
    for (value, rows) in lines {
        let line = Map::from_iter([
            (key.to_string(), Value::from(value)),
            (list.to_owned(), Value::from(rows)),
        ]);
        text.push_str(&sorted(Value::Object(line)).to_string());
        text.push('\n');
    }
    text.into_bytes()
}

/// The table of which [`to_json_lines`] made lines, its cells as texts, as [`table::read_csv`] has
/// them. `key` is the name of its first column.
///
/// # Errors
/// [`JsonLinesError`].
pub fn read_json_lines(bytes: &[u8], key: &str) -> Result<DataFrame, JsonLinesError> {
    let mut keys: Vec<String> = Vec::new();
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (index, text) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        if text.is_empty() {
            continue;
        }
        let mut object: Map<String, Value> =
            serde_json::from_slice(text).map_err(|source| JsonLinesError::Json { line, source })?;
        let form = || JsonLinesError::Form { line };
        let value = object.remove(key).as_ref().map(cell).ok_or_else(form)?;
        let lists: Vec<Value> = object.into_values().collect();
        let [Value::Array(rows)] = &lists[..] else { return Err(form()) };
        for row in rows {
            let row = row.as_object().ok_or_else(form)?;
            for (name, value) in row {
                let column = columns.entry(name.clone()).or_default();
                column.resize(keys.len(), String::new());
                column.push(cell(value));
            }
            keys.push(value.clone());
        }
    }
    let rows = keys.len();
    let mut all = vec![table::texts(key, keys)];
    for (name, mut cells) in columns {
        cells.resize(rows, String::new());
        all.push(table::texts(&name, cells));
    }
    Ok(table::from_columns(all))
}

/// A value as the cell of a table.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_key_stand_in_its_line_and_are_read_back() {
        let table = table::from_columns(vec![
            table::texts("id", ["b", "a", "b"]),
            table::texts("on", ["2014-05-02", "2014-06-30", "2015-01-01"]),
            table::numbers("load", &[3.5, 4.0, f64::NAN], 1),
        ]);
        let lines = to_json_lines(&table, "visits");
        assert_eq!(
            String::from_utf8(lines.clone()).unwrap(),
            "{\"id\":\"b\",\"visits\":[{\"load\":3.5,\"on\":\"2014-05-02\"},\
             {\"load\":null,\"on\":\"2015-01-01\"}]}\n\
             {\"id\":\"a\",\"visits\":[{\"load\":4.0,\"on\":\"2014-06-30\"}]}\n"
        );
        let read = read_json_lines(&lines, "id").unwrap();
        assert_eq!(table::cells(&read, "id"), Some(Cells::Text(vec!["b", "b", "a"])));
        assert_eq!(table::cells(&read, "load"), Some(Cells::Text(vec!["3.5", "", "4.0"])));
    }

    #[test]
    fn other_lines_are_refused_with_their_number() {
        let refused = |text: &str| read_json_lines(text.as_bytes(), "id").unwrap_err().to_string();
        assert_eq!(refused("{\"id\":\"a\",\"visits\":[]}\n{\"id\":"), "line 2 is no JSON");
        for text in ["{\"visits\":[]}", "{\"id\":\"a\"}", "{\"id\":\"a\",\"visits\":[7]}"] {
            assert!(refused(text).starts_with("line 1 is not {\"KEY\""), "{text}");
        }
    }
}
