//! JSON whose bytes must be the same in every build.

use serde_json::{Map, Value};

/// The value with the keys of every object in alphabetical order.
///
/// `serde_json` keeps keys in this order itself unless some crate of a build asks it for the order
/// in which they were written. What is hashed or compared by its bytes must not depend on which
/// programs were built together.
pub fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            let fields = fields.into_iter().map(|(name, field)| (name, sorted(field)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = serde_json::from_str(r#"{"b": [{"z": 1, "a": null}], "a": {"y": 2, "x": 3}}"#);
        assert_eq!(
            sorted(value.unwrap()).to_string(),
            r#"{"a":{"x":3,"y":2},"b":[{"a":null,"z":1}]}"#
        );
    }
}
