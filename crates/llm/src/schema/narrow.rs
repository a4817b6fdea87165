//! The part of a schema that every provider takes.

use crate::chat::AnswerSchema;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// Most objects within each other.
const MOST_LEVELS: usize = 4;

/// A type whose schema some providers refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema at `{path}` is not one that every provider takes: {what}")]
pub struct SchemaError {
    /// Where, for example `items.name`.
    path: String,
    /// What is wrong, and what to do.
    what: String,
}

impl AnswerSchema {
    /// The schema of a type, narrowed.
    ///
    /// # Errors
    /// [`SchemaError`] if the type cannot be narrowed: maps, enumerations with data, tuples,
    /// recursive types, more than 4 levels, structs without `deny_unknown_fields`.
    ///
    /// # Examples
    /// ```rust
    /// use llm::{AnswerSchema, schema};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// #[serde(deny_unknown_fields)]
    /// struct Story {
    ///     title: String,
    /// }
    ///
    /// let schema = AnswerSchema::from_type::<Story>("story")?;
    /// assert_eq!(schema.json["required"][0], "title");
    /// let story: Story = schema::parse("Here it is:\n```json\n{\"title\": \"Ice\"}\n```")?;
    /// assert_eq!(story.title, "Ice");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_type<T: JsonSchema>(name: &str) -> Result<Self, SchemaError> {
        Ok(Self { name: name.to_owned(), json: narrow(schemars::schema_for!(T).as_value())? })
    }
}

/// The part of `schema` that every provider takes.
///
/// # Errors
/// [`SchemaError`] if that is less than what `schema` says, apart from bounds.
pub fn narrow(schema: &Value) -> Result<Value, SchemaError> {
    let narrower = Narrower { definitions: schema.get("$defs"), open: Vec::new() };
    let narrowed = narrower.narrow(schema, "", 0)?;
    if narrowed["type"] == "object" {
        Ok(narrowed)
    } else {
        Err(error("", "the whole answer is an object"))
    }
}

fn error(path: &str, what: &str) -> SchemaError {
    let path = if path.is_empty() { "." } else { path };
    SchemaError { path: path.to_owned(), what: what.to_owned() }
}

#[derive(Clone)]
struct Narrower<'a> {
    definitions: Option<&'a Value>,
    /// Definitions that are being replaced.
    open: Vec<&'a str>,
}

impl<'a> Narrower<'a> {
    fn narrow(&self, schema: &'a Value, path: &str, level: usize) -> Result<Value, SchemaError> {
        let fields = schema.as_object().ok_or_else(|| error(path, "it takes any value"))?;
        let mut narrowed = self.narrow_form(fields, path, level)?;
        let notes = [description(fields), bounds(fields), description_of(&narrowed)];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        if let Some(object) = narrowed.as_object_mut().filter(|_| !notes.is_empty()) {
            object.insert("description".to_owned(), json!(notes.join(" ")));
        }
        Ok(narrowed)
    }

    fn narrow_form(
        &self,
        fields: &'a Map<String, Value>,
        path: &str,
        level: usize,
    ) -> Result<Value, SchemaError> {
        if let Some(reference) = fields.get("$ref") {
            return self.narrow_reference(reference, path, level);
        }
        if let Some(options) = fields.get("anyOf").and_then(Value::as_array) {
            return self.narrow_nullable(options, path, level);
        }
        if let Some(options) = fields.get("oneOf").and_then(Value::as_array) {
            return narrow_words(options, path);
        }
        if fields.contains_key("allOf") {
            return Err(error(path, "`allOf` is not taken; flatten the type"));
        }
        if let Some(word) = fields.get("const") {
            return word_list(&[word], path);
        }
        if let Some(words) = fields.get("enum").and_then(Value::as_array) {
            return word_list(&words.iter().collect::<Vec<_>>(), path);
        }
        match fields.get("type") {
            Some(Value::Array(types)) => {
                let plain: Vec<&Value> = types.iter().filter(|name| **name != "null").collect();
                let [plain] = plain[..] else {
                    return Err(error(path, "a value has one type, or one and `null`"));
                };
                let mut without_null = fields.clone();
                without_null.insert("type".to_owned(), plain.clone());
                // The text of a scalar or an array holds no definitions that would be borrowed.
                let inner = Narrower { definitions: self.definitions, open: self.open.clone() }
                    .narrow_plain(&without_null, path, level)?;
                Ok(json!({"anyOf": [inner, {"type": "null"}]}))
            }
            Some(_) => self.narrow_plain(fields, path, level),
            None => Err(error(path, "it takes any value; name a type")),
        }
    }

    fn narrow_reference(
        &self,
        reference: &'a Value,
        path: &str,
        level: usize,
    ) -> Result<Value, SchemaError> {
        let recursive = "the type contains itself; use a text with a grammar";
        if reference == "#" {
            return Err(error(path, recursive));
        }
        let name = reference.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
        let target = name.and_then(|name| Some((name, self.definitions?.get(name)?)));
        let (name, target) = target.ok_or_else(|| error(path, "a reference leads nowhere"))?;
        if self.open.contains(&name) {
            return Err(error(path, recursive));
        }
        let mut inner = self.clone();
        inner.open.push(name);
        inner.narrow(target, path, level)
    }

    fn narrow_nullable(
        &self,
        options: &'a [Value],
        path: &str,
        level: usize,
    ) -> Result<Value, SchemaError> {
        let null = json!({"type": "null"});
        let plain: Vec<&Value> = options.iter().filter(|option| **option != null).collect();
        match plain[..] {
            [plain] if options.len() == 2 => {
                Ok(json!({"anyOf": [self.narrow(plain, path, level)?, {"type": "null"}]}))
            }
            _ => Err(error(path, "a choice between types is not taken; use optional fields")),
        }
    }

    fn narrow_plain(
        &self,
        fields: &Map<String, Value>,
        path: &str,
        level: usize,
    ) -> Result<Value, SchemaError> {
        match fields["type"].as_str() {
            Some("object") => self.narrow_object(fields, path, level + 1),
            Some("array") => {
                if fields.contains_key("prefixItems") {
                    return Err(error(path, "a tuple is not taken; use a struct"));
                }
                let items = fields.get("items").ok_or_else(|| error(path, "items of any type"))?;
                let item_path = format!("{path}[]");
                let items = self.detached(items, &item_path, level)?;
                let mut array = json!({"type": "array", "items": items});
                if let Some(least @ 0..=1) = fields.get("minItems").and_then(Value::as_u64) {
                    array["minItems"] = json!(least);
                }
                Ok(array)
            }
            Some(name @ ("string" | "integer" | "number" | "boolean")) => Ok(json!({"type": name})),
            other => Err(error(path, &format!("the type {other:?} is not taken"))),
        }
    }

    /// Narrows a schema that may not live as long as the definitions.
    fn detached(&self, schema: &Value, path: &str, level: usize) -> Result<Value, SchemaError> {
        let inner: Narrower<'_> = self.clone();
        inner.narrow(schema, path, level)
    }

    fn narrow_object(
        &self,
        fields: &Map<String, Value>,
        path: &str,
        level: usize,
    ) -> Result<Value, SchemaError> {
        if level > MOST_LEVELS {
            return Err(error(path, &format!("it is more than {MOST_LEVELS} objects deep")));
        }
        match fields.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(Value::Object(_)) => {
                return Err(error(path, "a map is not taken; use an array of name and value"));
            }
            _ => return Err(error(path, "add `#[serde(deny_unknown_fields)]` to the struct")),
        }
        let none = Map::new();
        let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let mut narrowed = Map::new();
        for (name, schema) in properties {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            narrowed.insert(name.clone(), self.detached(schema, &path, level)?);
        }
        let names: Vec<&String> = properties.keys().collect();
        Ok(json!({
            "type": "object", "properties": narrowed, "required": names,
            "additionalProperties": false,
        }))
    }
}

/// An enumeration whose words have descriptions of their own.
fn narrow_words(options: &[Value], path: &str) -> Result<Value, SchemaError> {
    let mut words = Vec::new();
    let mut notes = Vec::new();
    for option in options {
        let single = option.get("const").into_iter();
        let several = option.get("enum").and_then(Value::as_array).into_iter().flatten();
        let of_option: Vec<&Value> = single.chain(several).collect();
        if of_option.is_empty() {
            let what = "a choice between types is not taken; use optional fields";
            return Err(error(path, what));
        }
        if let (Some(note), [word]) =
            (option.get("description").and_then(Value::as_str), &of_option[..])
        {
            notes.push(format!("{}: {note}", word.as_str().unwrap_or_default()));
        }
        words.extend(of_option);
    }
    let mut narrowed = word_list(&words, path)?;
    if !notes.is_empty() {
        narrowed["description"] = json!(notes.join(" "));
    }
    Ok(narrowed)
}

fn word_list(words: &[&Value], path: &str) -> Result<Value, SchemaError> {
    if words.iter().all(|word| word.is_string()) {
        Ok(json!({"type": "string", "enum": words}))
    } else {
        Err(error(path, "only enumerations of words are taken"))
    }
}

fn description(fields: &Map<String, Value>) -> Option<String> {
    fields.get("description").and_then(Value::as_str).map(str::to_owned)
}

fn description_of(schema: &Value) -> Option<String> {
    schema.as_object().and_then(description)
}

/// The bounds of a value in words.
fn bounds(fields: &Map<String, Value>) -> Option<String> {
    let words = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("multipleOf", "a multiple of"),
        ("minLength", "at least this many characters:"),
        ("maxLength", "at most this many characters:"),
        ("pattern", "matches the regular expression"),
        ("minItems", "at least this many items:"),
        ("maxItems", "at most this many items:"),
    ];
    let mut parts: Vec<String> = words
        .iter()
        .filter_map(|(name, words)| Some(format!("{words} {}", fields.get(*name)?)))
        .collect();
    if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
        parts.push("no item twice".to_owned());
    }
    (!parts.is_empty()).then(|| format!("Bounds: {}.", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    /// A story.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Story {
        /// Its title.
        title: String,
        #[schemars(range(min = 1, max = 9))]
        rows: u32,
        tone: Tone,
        note: Option<String>,
        #[schemars(length(min = 1, max = 4))]
        columns: Vec<Column>,
        main: Option<Column>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Tone {
        /// Without jokes.
        Dry,
        /// With them.
        Light,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Column {
        name: String,
        low: f64,
    }

    fn refusal<T: JsonSchema>() -> String {
        AnswerSchema::from_type::<T>("x").unwrap_err().to_string()
    }

    #[test]
    fn schema_of_a_type_is_narrowed() {
        let schema = AnswerSchema::from_type::<Story>("story").unwrap();
        let column = json!({
            "type": "object", "additionalProperties": false,
            "properties": {"name": {"type": "string"}, "low": {"type": "number"}},
            "required": ["name", "low"],
        });
        let expected = json!({
            "type": "object", "description": "A story.", "additionalProperties": false,
            "properties": {
                "title": {"type": "string", "description": "Its title."},
                "rows": {"type": "integer", "description": "Bounds: at least 1, at most 9."},
                "tone": {"type": "string", "enum": ["dry", "light"],
                    "description": "dry: Without jokes. light: With them."},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "columns": {"type": "array", "items": column, "minItems": 1,
                    "description": "Bounds: at least this many items: 1, at most this many items: 4."},
                "main": {"anyOf": [column, {"type": "null"}]},
            },
        });
        let mut json = schema.json;
        // The order of names depends on the map of `serde_json`.
        let sorted = |value: &Value| {
            let mut names: Vec<String> = serde_json::from_value(value.clone()).unwrap();
            names.sort();
            names
        };
        let names = sorted(&json.as_object_mut().unwrap().remove("required").unwrap());
        assert_eq!(names, ["columns", "main", "note", "rows", "title", "tone"]);
        for place in ["/properties/columns/items", "/properties/main/anyOf/0"] {
            let required = json.pointer_mut(place).unwrap().get_mut("required").unwrap();
            assert_eq!(sorted(required), ["low", "name"]);
            *required = json!(["name", "low"]);
        }
        assert_eq!(json, expected);
    }

    #[test]
    fn schema_that_cannot_be_narrowed_is_refused() {
        #[derive(JsonSchema)]
        struct Open {
            _name: String,
        }
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        struct Recursive {
            _next: Option<Box<Recursive>>,
        }
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        struct Deep<T> {
            _inner: T,
        }
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is of interest")]
        enum WithData {
            Number(u32),
            Word(String),
        }
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        struct Plain {
            _name: String,
        }
        for (said, expected) in [
            (refusal::<Open>(), "deny_unknown_fields"),
            (refusal::<Recursive>(), "contains itself"),
            (
                refusal::<Deep<BTreeMap<String, f64>>>(),
                "`_inner` is not one that every provider takes: a map",
            ),
            (refusal::<Deep<WithData>>(), "choice between types"),
            (refusal::<Deep<(u32, String)>>(), "tuple"),
            (refusal::<Deep<Value>>(), "any value"),
            (refusal::<Deep<Deep<Deep<Deep<Plain>>>>>(), "4 objects deep"),
            (refusal::<String>(), "whole answer"),
        ] {
            assert!(said.contains(expected), "{said}");
        }
        assert!(AnswerSchema::from_type::<Deep<Deep<Deep<Plain>>>>("x").is_ok());
    }
}
