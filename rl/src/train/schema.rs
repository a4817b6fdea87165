//! What settings a command has: every key with its type, its defaults, its range and its meaning.
//!
//! Nothing of it is written down here. Keys, types and meanings are those of the settings' own types and
//! their doc comments; defaults are what a command gives to each size of policy; a range is what the
//! check says when it refuses a value.

use crate::run::settings::{SettingsError, Validate};
use crate::train::presets::Scale;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The version of [`SettingsSchema`].
const VERSION: u32 = 1;

/// Settings that can be described.
pub trait Described:
    JsonSchema + Serialize + DeserializeOwned + Validate<Error = SettingsError>
{
    /// Defaults for a policy of this size.
    fn of_scale(scale: Scale) -> Self;

    /// Valid settings: these defaults, with a value for what has none.
    fn example(scale: Scale) -> Self;
}

/// The settings of a command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingsSchema {
    version: u32,
    /// The command, such as `sft`.
    pub command: &'static str,
    /// All of them, in the order of the settings file.
    pub settings: Vec<SettingSchema>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingSchema {
    /// Its dotted key, as in `--set KEY=VALUE`.
    pub key: String,
    /// `boolean`, `integer`, `number`, `string`, `choice`, `list`, or `table`: one that may be left out
    /// as a whole, whose keys follow.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The type of the items of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<&'static str>,
    /// What a choice, or each item of a list of choices, can be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// The default for each size of policy; null where there is none. Of the keys of a table that is
    /// left out: what they are once the table is there.
    pub default: BTreeMap<&'static str, Value>,
    /// Values that are accepted, in words; none where the type says it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// What it is for.
    pub doc: String,
}

/// A value of a choice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// As it is written. A map has a single key, and the value belongs below it.
    pub value: Value,
    /// What it means; left out where its name says it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// Sizes of policies and the names of their defaults.
const SCALES: [(Scale, &str); 3] =
    [(Scale::Tiny, "tiny"), (Scale::Small, "small"), (Scale::Large, "large")];

impl SettingsSchema {
    /// The settings `S` of a command.
    pub fn of<S: Described>(command: &'static str) -> Self {
        let mut generator =
            SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true).into_generator();
        let root = S::json_schema(&mut generator);
        let defaults = SCALES.map(|(scale, name)| (name, value_of(&S::of_scale(scale))));
        let mut found = Vec::new();
        walk("", &root, &defaults, &mut found);
        for setting in &mut found {
            setting.range = range_of::<S>(setting).or_else(|| setting.range.take());
        }
        Self { version: VERSION, command, settings: found }
    }
}

fn value_of(settings: &impl Serialize) -> Value {
    serde_json::to_value(settings).expect("settings have a form in JSON")
}

/// Adds the properties of `object`, whose keys begin with `prefix`.
fn walk(
    prefix: &str,
    object: &Schema,
    defaults: &[(&'static str, Value); 3],
    found: &mut Vec<SettingSchema>,
) {
    let Some(properties) = object.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let key = format!("{prefix}{name}");
        let (inner, is_optional) = without_null(property);
        let doc = doc_of(property);
        let is_table = inner.contains_key("properties");
        let default = default_of(&key, property, defaults);
        if is_table && !is_optional {
            walk(&format!("{key}."), &inner_schema(inner), defaults, found);
            continue;
        }
        let (kind, items, choices) =
            if is_table { ("table", None, Vec::new()) } else { kind_of(inner) };
        let least = inner.get("minimum").map(|least| format!("at least {least}"));
        found.push(SettingSchema {
            key: key.clone(),
            kind,
            items,
            choices,
            default,
            range: least,
            doc,
        });
        if is_table {
            walk(&format!("{key}."), &inner_schema(inner), defaults, found);
        }
    }
}

fn inner_schema(object: &Map<String, Value>) -> Schema {
    Schema::from(object.clone())
}

/// The schema of a value that is there, and whether it may be absent.
fn without_null(property: &Value) -> (&Map<String, Value>, bool) {
    let object = property.as_object().expect("a property is described by an object");
    let is_null = |it: &Value| it["type"] == "null";
    let branches = object.get("anyOf").and_then(Value::as_array);
    if let Some(branches) = branches.filter(|branches| branches.iter().any(is_null)) {
        let present = branches.iter().find(|it| !is_null(it)).and_then(Value::as_object);
        return (present.unwrap_or(object), true);
    }
    let kinds = object.get("type").and_then(Value::as_array);
    (object, kinds.is_some_and(|kinds| kinds.contains(&json!("null"))))
}

/// The type of a value, that of its items, and what it can be.
fn kind_of(schema: &Map<String, Value>) -> (&'static str, Option<&'static str>, Vec<Choice>) {
    if let Some(choices) = choices_of(schema) {
        return ("choice", None, choices);
    }
    let kind = schema.get("type").and_then(|kind| match kind {
        Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null")?.as_str(),
        kind => kind.as_str(),
    });
    match kind {
        Some("boolean") => ("boolean", None, Vec::new()),
        Some("integer") => ("integer", None, Vec::new()),
        Some("number") => ("number", None, Vec::new()),
        Some("array") => {
            let items = schema.get("items").and_then(Value::as_object).map(kind_of);
            let (items, _, choices) = items.unwrap_or(("string", None, Vec::new()));
            ("list", Some(items), choices)
        }
        _ => ("string", None, Vec::new()),
    }
}

/// The values of an enumeration.
fn choices_of(schema: &Map<String, Value>) -> Option<Vec<Choice>> {
    let plain = |value: &Value| Choice { value: value.clone(), doc: String::new() };
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().filter(|value| !value.is_null()).map(plain).collect());
    }
    let branches = schema.get("oneOf").and_then(Value::as_array)?;
    let choice = |branch: &Value| {
        let value = match (branch.get("const"), branch.get("properties")) {
            (Some(value), _) => value.clone(),
            // A variant with fields: a table of one key.
            (None, Some(fields)) => fields.clone(),
            (None, None) => return branch["enum"].as_array().cloned().unwrap_or_default(),
        };
        vec![value]
    };
    let all = branches.iter().flat_map(|branch| {
        choice(branch).into_iter().map(|value| Choice {
            value: if value.is_object() { variant(&value) } else { value },
            doc: doc_of(branch),
        })
    });
    Some(all.collect())
}

/// `{"dr-grpo": {"length": "integer"}}` for a variant with fields.
fn variant(fields: &Value) -> Value {
    let types = |fields: &Value| -> Map<String, Value> {
        let named = fields.as_object().into_iter().flatten();
        let kind = |it: &Value| it.as_object().map_or("string", |it| kind_of(it).0);
        named.map(|(name, it)| (name.clone(), kind(it).into())).collect()
    };
    let named = fields.as_object().into_iter().flatten();
    named.map(|(name, it)| (name.clone(), Value::Object(types(&it["properties"])))).collect()
}

/// The doc comment on one line, without the brackets of links.
fn doc_of(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace("[`", "`").replace("`]", "`")
}

/// What each size of policy has at a key: what its defaults say, or, of a key that they leave out, what
/// its type says.
fn default_of(
    key: &str,
    property: &Value,
    defaults: &[(&'static str, Value); 3],
) -> BTreeMap<&'static str, Value> {
    let of_type = property.get("default").cloned().unwrap_or_default();
    let pointer = format!("/{}", key.replace('.', "/"));
    let of = |(name, defaults): &(&'static str, Value)| {
        (*name, defaults.pointer(&pointer).cloned().unwrap_or_else(|| of_type.clone()))
    };
    defaults.iter().map(of).collect()
}

/// What the check says of values that it refuses at this key.
fn range_of<S: Described>(setting: &SettingSchema) -> Option<String> {
    let probes = match (setting.kind, setting.default["large"].as_str()) {
        ("integer", _) => vec![json!(0), json!(1_u64 << 40), json!(1)],
        ("number", _) => vec![json!(0.0), json!(-1.0), json!(2.0), json!(1e-4), json!(1e12)],
        // A size or a duration.
        ("string", Some(text)) if text.ends_with('B') => vec![json!("0"), json!("999999GiB")],
        ("string", Some(text)) if text.ends_with(['s', 'm', 'h']) => {
            vec![json!("0s"), json!("9999h")]
        }
        _ => Vec::new(),
    };
    SCALES.iter().find_map(|(scale, _)| {
        let example = value_of(&S::example(*scale));
        probes.iter().find_map(|probe| {
            let mut tried = example.clone();
            put(&mut tried, &setting.key, probe.clone())?;
            let error = serde_json::from_value::<S>(tried).ok()?.verify().err()?;
            error.expected_of(&setting.key)
        })
    })
}

/// Sets a dotted key; none if it lies in a table that is not there.
fn put(settings: &mut Value, key: &str, value: Value) -> Option<()> {
    let mut place = settings;
    let parts: Vec<&str> = key.split('.').collect();
    let (last, path) = parts.split_last()?;
    for part in path {
        place = place.as_object_mut()?.entry(*part).or_insert_with(|| json!({}));
    }
    place.as_object_mut()?.insert((*last).to_owned(), value);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::settings::resolve;
    use crate::train::grpo::TrainSettings;
    use crate::train::prefer::PreferSettings;
    use crate::train::sft::SftSettings;
    use std::collections::BTreeSet;
    use toml::Table;

    /// The names that serde takes in the table at `prefix`, from its refusal of another one.
    fn serde_keys<S: Described>(prefix: &str) -> BTreeSet<String> {
        let mut tried = value_of(&S::example(Scale::Tiny));
        put(&mut tried, &format!("{prefix}no_such_key"), json!(1)).unwrap();
        let error = serde_json::from_value::<S>(tried).err().unwrap().to_string();
        let (_, names) = error
            .split_once("unknown field `no_such_key`, expected ")
            .unwrap_or_else(|| panic!("`{prefix}`: {error}"));
        names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn agrees_with_serde<S: Described>(schema: &SettingsSchema) {
        let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for setting in &schema.settings {
            // Every table on the way to a key is a key of the table around it.
            let mut prefix = String::new();
            for name in setting.key.split('.') {
                tables.entry(prefix.clone()).or_default().insert(name.to_owned());
                prefix = format!("{prefix}{name}.");
            }
        }
        assert!(tables.len() > 3, "{:?}", tables.keys());
        for (prefix, keys) in tables {
            assert_eq!(keys, serde_keys::<S>(&prefix), "the table `{prefix}`");
        }
    }

    fn is_true_of_settings<S>(schema: &SettingsSchema)
    where
        S: Described + PartialEq + std::fmt::Debug,
    {
        agrees_with_serde::<S>(schema);
        for SettingSchema { key, kind, choices, default, doc, .. } in &schema.settings {
            assert!(!doc.is_empty() && !doc.contains("[`"), "`{key}`: {doc}");
            for (scale, name) in SCALES {
                let settings = S::example(scale);
                let is_inside = |table: &&SettingSchema| {
                    table.kind == "table" && key.starts_with(&format!("{}.", table.key))
                };
                let default = &default[name];
                let is_in_table = schema.settings.iter().any(|table| is_inside(&table));
                let own =
                    value_of(&settings).pointer(&format!("/{}", key.replace('.', "/"))).cloned();
                // What the example has a value of its own for has no default worth the name.
                let is_own = own.is_some_and(|own| own != *default);
                if default.is_null() || is_in_table || is_own {
                    continue;
                }
                let assigned = format!("{key}={}", toml_of(default));
                let found: S = resolve(&settings, None, Table::new(), &[assigned]).unwrap();
                assert_eq!(found, settings, "the default of `{key}` for {name}");
            }
            for choice in choices.iter().filter(|choice| choice.value.is_string()) {
                assert!(!choice.doc.is_empty() || key == "lora.targets", "{key}: {choice:?}");
                let value = toml_of(&choice.value);
                let value = if *kind == "list" { format!("[{value}]") } else { value };
                let assigned = [format!("{key}={value}")];
                let settings = S::example(Scale::Large);
                let found: Result<S, _> = resolve(&settings, None, Table::new(), &assigned);
                // A table that is not there needs its other keys, too.
                let ok = found.map_or_else(|error| error.to_string().contains("missing"), |_| true);
                assert!(ok, "{key}: {choice:?}");
            }
        }
    }

    fn toml_of(value: &Value) -> String {
        toml::Value::try_from(value).unwrap().to_string()
    }

    #[test]
    fn schemas_have_the_keys_defaults_and_values_of_settings() {
        is_true_of_settings::<SftSettings>(&SettingsSchema::of::<SftSettings>("sft"));
        is_true_of_settings::<TrainSettings>(&SettingsSchema::of::<TrainSettings>("train"));
        is_true_of_settings::<PreferSettings>(&SettingsSchema::of::<PreferSettings>("prefer"));
    }

    #[test]
    fn ranges_are_what_the_checks_say() {
        let schema = SettingsSchema::of::<TrainSettings>("train");
        let range = |key: &str| {
            let found = schema.settings.iter().find(|setting| setting.key == key);
            found.unwrap_or_else(|| panic!("{key}")).range.clone()
        };
        for (key, expected) in [
            ("tasks_per_step", "at least 1"),
            ("learning_rate", "above 0"),
            ("curriculum.floor", "at most 1"),
            ("lora.rank", "at least 1"),
            ("adam.beta2", "at least 0 and below 1"),
            ("adam.max_grad_norm", "at least 0"),
            ("advantage.epsilon", "at least 0"),
            ("rollout.sampling.top_p", "above 0 and at most 1"),
            ("rules.episode.policy.memory", "1MiB to"),
            ("rules.episode.policy.time_limit", "1ms to"),
            ("seed", "at least 0"),
        ] {
            let found = range(key).unwrap_or_default();
            assert!(found.contains(expected), "{key}: {found}");
        }
        assert_eq!(range("dtype"), None);
    }
}
