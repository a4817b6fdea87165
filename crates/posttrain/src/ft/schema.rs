//! The settings of the trainer, as `rl schema sft` lists them, and training settings that agree with it.
//!
//! `TOML of a planner + schema + limits -> TrainConfig`, or the key that is wrong and what to do.

use super::check::{ErrorClass, Rejection};
use super::settings::{FtLimits, Method};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The version that this program reads.
const VERSION: u32 = 1;
/// Keys that the run sets itself.
const OURS: [&str; 13] = [
    "attempts",
    "best_of",
    "data",
    "demonstrations",
    "episodes",
    "model",
    "samples",
    "searches",
    "seed",
    "tasks",
    "vocab_size",
    "workers",
    "world",
];
/// The table of rules of episodes, which examples do not have.
const RULES: &str = "rules.";

/// All settings of a command of the trainer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TrainerSchema {
    version: u32,
    /// The settings in the trainer's order.
    settings: Vec<TrainerSetting>,
}

/// A setting of the trainer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TrainerSetting {
    /// Its dotted key.
    pub key: String,
    /// `boolean`, `integer`, `number`, `string`, `choice`, `list` or `table`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The type of the items of a list.
    #[serde(default)]
    pub items: Option<String>,
    /// What a choice can be.
    #[serde(default)]
    pub choices: Vec<TrainerChoice>,
    /// Its default for each size of model.
    #[serde(default)]
    pub default: BTreeMap<String, Json>,
    /// The accepted values in words.
    #[serde(default)]
    pub range: Option<String>,
    /// What it is for.
    pub doc: String,
}

/// A value of a choice.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TrainerChoice {
    /// As it is written.
    pub value: Json,
}

/// What of a model decides about settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BaseFacts {
    /// Most tokens that it can read, where its configuration says so.
    pub most_positions: Option<u64>,
}

/// Training settings that agree with the schema and the limits of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainConfig {
    text: String,
    values: BTreeMap<String, Value>,
}

impl TrainConfig {
    /// The settings file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value of a dotted key; `None` if it is left to its default.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// The settings by dotted keys.
    pub fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }
}

impl TrainerSchema {
    /// Reads what the trainer prints.
    ///
    /// # Errors
    /// What is wrong with it, as a clause.
    pub fn read(text: &str) -> Result<Self, String> {
        let schema: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if schema.version != VERSION {
            let found = schema.version;
            return Err(format!(
                "its schema has version {found}, and this program reads {VERSION}"
            ));
        }
        if schema.settings.is_empty() {
            return Err("its schema has no settings".to_owned());
        }
        Ok(schema)
    }

    /// What a planner may set: all but what the run sets itself.
    pub fn settings(&self) -> impl Iterator<Item = &TrainerSetting> {
        self.settings.iter().filter(|setting| !is_ours(&setting.key))
    }

    /// Reads settings as a planner wrote them.
    ///
    /// # Errors
    /// A rejection of the class `CONFIG` that names the key.
    pub fn check(
        &self,
        text: &str,
        limits: &FtLimits,
        base: BaseFacts,
    ) -> Result<TrainConfig, Rejection> {
        let wrong = |message: String| Rejection::new(ErrorClass::Config, message);
        let table = text
            .parse::<Table>()
            .map_err(|error| wrong(format!("train.toml cannot be read: {error}")))?;
        let mut values = BTreeMap::new();
        self.flatten("", &table, &mut values);
        for (key, value) in &values {
            self.check_value(key, value).map_err(wrong)?;
        }
        let config = TrainConfig { text: text.to_owned(), values };
        config.within(limits, base).map_err(wrong)?;
        Ok(config)
    }

    /// The values below `table` by dotted keys. A table that is a setting's own value stays one.
    fn flatten(&self, prefix: &str, table: &Table, values: &mut BTreeMap<String, Value>) {
        for (name, value) in table {
            let key = format!("{prefix}{name}");
            let own = self.settings.iter().find(|setting| setting.key == key);
            match (value, own.map(|setting| setting.kind.as_str())) {
                (Value::Table(inner), None | Some("table")) => {
                    // A table may be there for its defaults alone.
                    if inner.is_empty() {
                        values.insert(key, value.clone());
                    } else {
                        self.flatten(&format!("{key}."), inner, values);
                    }
                }
                _ => drop(values.insert(key, value.clone())),
            }
        }
    }

    fn check_value(&self, key: &str, value: &Value) -> Result<(), String> {
        let Some(setting) = self.settings.iter().find(|setting| setting.key == key) else {
            let near = self.settings().max_by(|one, other| {
                strsim::jaro(&one.key, key).total_cmp(&strsim::jaro(&other.key, key))
            });
            let near = near.map_or("", |setting| setting.key.as_str());
            return Err(format!("`{key}` is no setting of the trainer; did you mean `{near}`?"));
        };
        if is_ours(key) {
            return Err(format!("`{key}` is set by the run; leave it out"));
        }
        let of_type = |kind: &str, value: &Value| match kind {
            "boolean" => value.is_bool(),
            "integer" => value.is_integer(),
            "number" => value.is_integer() || value.is_float(),
            "list" => value.is_array(),
            "table" => value.is_table(),
            "choice" => setting.choices.iter().any(|choice| is_choice(value, &choice.value)),
            _ => value.is_str(),
        };
        if !of_type(&setting.kind, value) {
            return Err(format!("`{key}` must be {}, and is {value}", setting.expected()));
        }
        if let (Some(items), Some(values)) = (&setting.items, value.as_array())
            && let Some(value) = values.iter().find(|value| !of_type(items, value))
        {
            return Err(format!("`{key}` must be {}, and has {value}", setting.expected()));
        }
        let Some(number) = number(value) else { return Ok(()) };
        let range = setting.range.as_deref().unwrap_or_default();
        if !number.is_finite() || bounds(range).iter().any(|bound| !bound.holds(number)) {
            return Err(format!("`{key}` must be {range}, and is {value}"));
        }
        Ok(())
    }
}

impl TrainerSetting {
    /// The accepted values in words.
    fn expected(&self) -> String {
        let choices: Vec<String> =
            self.choices.iter().map(|choice| format!("`{}`", word(&choice.value))).collect();
        match self.kind.as_str() {
            "choice" => format!("one of {}", choices.join(", ")),
            "list" if !choices.is_empty() => format!("a list of {}", choices.join(", ")),
            "list" => "a list".to_owned(),
            "integer" => "a whole number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "string" => "a text".to_owned(),
            kind => format!("a {kind}"),
        }
    }
}

impl TrainConfig {
    /// Whether the limits of the run and the model allow the values.
    fn within(&self, limits: &FtLimits, base: BaseFacts) -> Result<(), String> {
        let of = |key: &str| self.get(key).and_then(number);
        if let Some(rate) = of("learning_rate").filter(|rate| *rate > limits.learning_rate) {
            let most = limits.learning_rate;
            return Err(format!("`learning_rate` must be at most {most}, and is {rate}"));
        }
        let is_lora = self.values.keys().any(|key| key == "lora" || key.starts_with("lora."));
        let (method, other) = if is_lora { (Method::Lora, "leave") } else { (Method::Full, "set") };
        if !limits.methods.contains(&method) {
            return Err(match method {
                Method::Lora => {
                    format!("`lora` is not among the ways of training here; {other} it out")
                }
                Method::Full => format!("all weights must not be trained here; {other} `lora`"),
            });
        }
        if let (Some(context), Some(most)) = (of("context"), base.most_positions)
            && context > most as f64
        {
            return Err(format!(
                "`context` must be at most {most}, what the model can read, and is {context}"
            ));
        }
        Ok(())
    }
}

fn is_ours(key: &str) -> bool {
    OURS.contains(&key) || key.starts_with(RULES)
}

fn is_choice(value: &Value, choice: &Json) -> bool {
    match (value, choice) {
        (Value::String(text), Json::String(choice)) => text == choice,
        (Value::Table(table), Json::Object(choice)) => table.keys().eq(choice.keys()),
        _ => false,
    }
}

fn word(choice: &Json) -> String {
    choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// A bound on a number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    AtLeast(f64),
    Above(f64),
    AtMost(f64),
    Below(f64),
}

impl Bound {
    fn holds(self, number: f64) -> bool {
        match self {
            Self::AtLeast(least) => number >= least,
            Self::Above(least) => number > least,
            Self::AtMost(most) => number <= most,
            Self::Below(most) => number < most,
        }
    }
}

/// The bounds at the beginning of a range in words, such as `at least 0 and below 1`. What cannot be
/// read so is no bound: the trainer's own check comes after this one.
fn bounds(range: &str) -> Vec<Bound> {
    type Kind = (&'static str, fn(f64) -> Bound);
    let mut found = Vec::new();
    let kinds: [Kind; 4] = [
        ("at least ", Bound::AtLeast),
        ("above ", Bound::Above),
        ("at most ", Bound::AtMost),
        ("below ", Bound::Below),
    ];
    for clause in range.split(" and ") {
        let bound = kinds.iter().find_map(|(words, bound)| {
            let rest = clause.strip_prefix(words)?;
            let end = rest.find([' ', ':', ';', ',']).unwrap_or(rest.len());
            Some((bound(rest[..end].parse().ok()?), end == rest.len()))
        });
        let Some((bound, is_whole)) = bound else { break };
        found.push(bound);
        if !is_whole {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> TrainerSchema {
        TrainerSchema::read(include_str!("../../tests/suite/ft/sft_schema.json")).unwrap()
    }

    fn checked(text: &str) -> Result<TrainConfig, String> {
        let base = BaseFacts { most_positions: Some(512) };
        let found = schema().check(text, &FtLimits::default(), base);
        found.map_err(|rejection| {
            assert_eq!(rejection.class, ErrorClass::Config);
            rejection.message
        })
    }

    #[test]
    fn settings_that_agree_with_the_schema_are_taken_with_tables_and_whole_numbers() {
        let text = "epochs = 3\nlearning_rate = 1e-3\ncontext = 384\n[lora]\nrank = 8\nalpha = 16\n\
                    targets = [\"q_proj\"]\n[adam]\nweight_decay = 0";
        let config = checked(text).unwrap();
        assert_eq!(config.get("lora.rank").and_then(Value::as_integer), Some(8));
        assert_eq!(config.text(), text);
        assert!(checked("").is_ok() && checked("[lora]").is_ok());
    }

    #[test]
    fn settings_are_refused_by_key_type_range_and_limit() {
        for (text, expected) in [
            ("epochs = ", "train.toml cannot be read"),
            ("learning_rat = 1e-3", "did you mean `learning_rate`?"),
            ("lora.ranks = 3", "did you mean `lora.rank`?"),
            ("epochs = 1.5", "`epochs` must be a whole number, and is 1.5"),
            ("keep_best = 1", "true or false"),
            ("dtype = \"f64\"", "one of `f32`, `bf16`"),
            ("lora.targets = [\"head\"]", "`lora.targets` must be a list of `q_proj`"),
            ("epochs = 0", "`epochs` must be at least 1, and is 0"),
            ("validation_share = 1.0", "at least 0 and below 1"),
            ("learning_rate = nan", "`learning_rate` must be above 0"),
            ("learning_rate = 10", "at most 0.1, and is 10"),
            ("context = 4096", "at most 512, what the model can read"),
            ("data = [\"other.json\"]", "`data` is set by the run"),
            ("model = \"tiny\"", "`model` is set by the run"),
        ] {
            let found = checked(text).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
        let limits = FtLimits { methods: vec![Method::Full], ..FtLimits::default() };
        let found = schema().check("[lora]\nrank = 4", &limits, BaseFacts::default()).unwrap_err();
        assert!(found.message.contains("leave it out"), "{found}");
        let limits = FtLimits { methods: vec![Method::Lora], ..FtLimits::default() };
        assert!(schema().check("epochs = 1", &limits, BaseFacts::default()).is_err());
    }

    #[test]
    fn ranges_in_words_are_bounds_as_far_as_they_can_be_read() {
        assert_eq!(bounds("at least 0 and below 1"), [Bound::AtLeast(0.0), Bound::Below(1.0)]);
        assert_eq!(bounds("at least 300: bytes and tags"), [Bound::AtLeast(300.0)]);
        assert_eq!(bounds("above 0"), [Bound::Above(0.0)]);
        assert!(bounds("1MiB to 16384GiB").is_empty() && bounds("").is_empty());
    }

    #[test]
    fn schema_of_another_version_is_refused() {
        let found = TrainerSchema::read(r#"{"version": 2, "settings": []}"#).unwrap_err();
        assert!(found.contains("version 2"), "{found}");
        assert!(TrainerSchema::read("{}").is_err());
    }
}
