//! Values that programs take and return: what JSON and Python both have.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;

/// A value. A table has its names in their order, in JSON and in Python.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `True` or `False`.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A dictionary whose keys are texts.
    Table(BTreeMap<String, Value>),
}

impl Value {
    /// Whether `found` is equal to it as Python compares: 1, 1.0 and `True` are one number.
    pub fn equals(&self, found: &Json) -> bool {
        match (self, found) {
            (Self::Bool(value), _) => is_number(i64::from(*value), found),
            (Self::Number(value), _) => is_number(*value, found),
            (Self::Text(text), Json::String(found)) => text == found,
            (Self::List(values), Json::Array(found)) => {
                values.len() == found.len()
                    && values.iter().zip(found).all(|(value, found)| value.equals(found))
            }
            (Self::Table(table), Json::Object(found)) => {
                let is_in = |(name, value): (&String, &Self)| {
                    found.get(name).is_some_and(|found| value.equals(found))
                };
                table.len() == found.len() && table.iter().all(is_in)
            }
            _ => false,
        }
    }
}

/// A count of letters or items, as a number of Python.
pub(super) fn whole(count: usize) -> i64 {
    i64::try_from(count).expect("arguments have a few letters or items")
}

fn is_number(value: i64, found: &Json) -> bool {
    match found {
        Json::Bool(found) => value == i64::from(*found),
        Json::Number(found) => found.as_i64().map_or_else(
            || found.as_f64().is_some_and(|found| found == value as f64),
            |found| found == value,
        ),
        _ => false,
    }
}

/// The value as a literal of Python, as `repr` writes it. Texts have no quotes, backslashes or
/// characters that cannot be printed.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |parts: Vec<String>| parts.join(", ");
        match self {
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::List(values) => {
                write!(f, "[{}]", joined(values.iter().map(Self::to_string).collect()))
            }
            Self::Table(table) => {
                let entry = |(name, value): (&String, &Self)| format!("'{name}': {value}");
                write!(f, "{{{}}}", joined(table.iter().map(entry).collect()))
            }
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Number(whole(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> FromIterator<(String, T)> for Value {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Self {
        Self::Table(entries.into_iter().map(|(name, value)| (name, value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_equal_as_in_python() {
        let table = Value::from_iter([("a".to_owned(), 1_i64), ("b".to_owned(), 2)]);
        for (value, found, is_equal) in [
            (Value::from(true), json!(1), true),
            (Value::from(1_i64), json!(true), true),
            (Value::from(2_i64), json!(2.0), true),
            (Value::from(2_i64), json!(2.5), false),
            (Value::from(0_i64), json!(null), false),
            (Value::from(0_i64), json!(""), false),
            (Value::from("a"), json!("a"), true),
            (Value::from("1"), json!(1), false),
            (Value::from(vec![1_i64, 2]), json!([1, 2]), true),
            (Value::from(vec![1_i64, 2]), json!([1]), false),
            (Value::from(vec![1_i64, 2]), json!([2, 1]), false),
            (table.clone(), json!({"b": 2, "a": 1}), true),
            (table.clone(), json!({"b": 2, "a": 1, "c": 1}), false),
            (table, json!({"b": 2, "c": 1}), false),
        ] {
            assert_eq!(value.equals(&found), is_equal, "{value} {found}");
        }
    }

    #[test]
    fn literals_are_those_of_python() {
        let table = Value::from_iter([
            ("b".to_owned(), Value::from(vec![true])),
            ("a".to_owned(), Value::from("x y")),
        ]);
        assert_eq!(table.to_string(), "{'a': 'x y', 'b': [True]}");
        assert_eq!(serde_json::to_string(&table).unwrap(), r#"{"a":"x y","b":[true]}"#);
        let read: Value = serde_json::from_str(r#"{"a":"x y","b":[true]}"#).unwrap();
        assert_eq!(read, table);
    }
}
