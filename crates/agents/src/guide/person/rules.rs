//! What a scripted person says when, as a TOML file has it.

use crate::guide::guidance::LONGEST_GUIDANCE;
use crate::guide::ids::GuidanceId;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use tasks::units::Span;

/// Longest name of a scripted person: numbers are added to it.
const LONGEST_NAME: usize = 48;

/// A scripted person.
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `name` | its name, and the beginning of the names of its pieces | `person` |
/// | `seed` | seed of its draws | 0 |
/// | `latency_turns` | turns that the agent takes before what is said of a turn is sent | 0 |
/// | `latency` | time that passes before it is sent, over a server | 0 s |
/// | `miss` | share of chances that are not taken, 0 to 1 | 0 |
/// | `wrong` | share of pieces that are bad advice, 0 to 1 | 0 |
/// | `misleads` | the bad advice, one of which is drawn | none |
/// | `leaves_after` | turns of a run that it reads before it leaves | all |
/// | `rule` | what it says when; of several that fit, the first | – |
///
/// # Examples
/// ```rust
/// use agents::guide::person::PersonRules;
///
/// let rules = PersonRules::from_toml(
///     r#"
///     miss = 0.5
///     [[rule]]
///     name = "import"
///     observation = "ModuleNotFoundError"
///     say = ["That module is not installed; use another one.", "Look at what is installed."]
///     about = true
///     drop = "turn"
///     "#,
/// )?;
/// assert_eq!((rules.miss, rules.rules[0].say.len()), (0.5, 2));
/// # Ok::<(), agents::guide::person::BadPersonRules>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PersonRules {
    /// Its name, and the beginning of the names of its pieces.
    pub name: String,
    /// The seed of its draws.
    pub seed: u64,
    /// Turns that the agent takes before what is said of a turn is sent.
    pub latency_turns: u32,
    /// Time that passes before it is sent, over a server. In lockstep no time passes.
    pub latency: Span,
    /// Share of chances that are not taken.
    pub miss: f64,
    /// Share of pieces that are bad advice.
    pub wrong: f64,
    /// The bad advice.
    pub misleads: Vec<String>,
    /// Turns of a run that it reads before it leaves; all by default.
    pub leaves_after: Option<u32>,
    /// What it says when.
    #[serde(rename = "rule")]
    pub rules: Vec<PersonRule>,
}

/// One thing that a scripted person says, and when. All conditions that are given must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonRule {
    /// Its name, of which there is one.
    pub name: String,
    /// A text that the observation contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<String>,
    /// A text that what the agent wrote contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrote: Option<String>,
    /// A text that nothing that the agent has written so far contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_wrote: Option<String>,
    /// How the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeFlag>,
    /// The first turn, from 0, at which it is said.
    #[serde(default)]
    pub from: u32,
    /// The last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
    /// How often it is said in one run at most.
    #[serde(default = "once")]
    pub times: u32,
    /// Wordings, one of which is drawn.
    pub say: Vec<String>,
    /// Whether it is about the turn.
    #[serde(default)]
    pub about: bool,
    /// What the agent should not learn from.
    #[serde(default)]
    pub drop: DropFlag,
}

fn once() -> u32 {
    1
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeFlag {
    /// It was malformed, or its script failed.
    Failed,
    /// It did not fail.
    Fine,
}

/// Turns that the agent should not learn from, for what is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropFlag {
    /// None.
    #[default]
    Nothing,
    /// The turn that it is said of.
    Turn,
    /// All since the one of which something was said before, that turn included.
    Since,
}

impl Default for PersonRules {
    fn default() -> Self {
        Self {
            name: "person".to_owned(),
            seed: 0,
            latency_turns: 0,
            latency: Span::seconds(0),
            miss: 0.0,
            wrong: 0.0,
            misleads: Vec::new(),
            leaves_after: None,
            rules: Vec::new(),
        }
    }
}

/// Rules that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadPersonRules {
    /// The file cannot be read.
    #[error("failed to read the rules of a person")]
    Io(#[from] std::io::Error),
    /// It is no such file.
    #[error("the rules of a person cannot be read")]
    Toml(#[from] toml::de::Error),
    /// A key has a value that it cannot have.
    #[error("`{key}` of a person is wrong: {why}")]
    Value {
        /// The key.
        key: String,
        /// Why.
        why: String,
    },
    /// In a file.
    #[error("failed to use `{path}`")]
    File {
        /// The file.
        path: Utf8PathBuf,
        /// Why.
        #[source]
        source: Box<Self>,
    },
}

impl PersonRules {
    /// Reads a file.
    ///
    /// # Errors
    /// [`BadPersonRules`].
    pub fn from_file(path: &Utf8Path) -> Result<Self, BadPersonRules> {
        let read = || Self::from_toml(&fs::read_to_string(path)?);
        read().map_err(|source| BadPersonRules::File {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Reads TOML and checks it.
    ///
    /// # Errors
    /// [`BadPersonRules::Toml`] and [`BadPersonRules::Value`].
    pub fn from_toml(text: &str) -> Result<Self, BadPersonRules> {
        let rules: Self = toml::from_str(text)?;
        rules.check()?;
        Ok(rules)
    }

    fn check(&self) -> Result<(), BadPersonRules> {
        let wrong = |key: &str, why: &str| {
            Err(BadPersonRules::Value { key: key.to_owned(), why: why.to_owned() })
        };
        if self.name.len() > LONGEST_NAME || self.name.parse::<GuidanceId>().is_err() {
            return wrong("name", "it needs 1 to 48 of the characters a-z, A-Z, 0-9, `-` and `_`");
        }
        for (key, share) in [("miss", self.miss), ("wrong", self.wrong)] {
            if !(0.0..=1.0).contains(&share) {
                return wrong(key, "it is a share from 0 to 1");
            }
        }
        if self.wrong > 0.0 && self.misleads.is_empty() {
            return wrong("misleads", "`wrong` is above 0, and there is no bad advice to give");
        }
        if self.rules.is_empty() {
            return wrong("rule", "there is none, so nothing would ever be said");
        }
        for rule in &self.rules {
            let key = format!("rule {}", rule.name);
            if self.rules.iter().filter(|other| other.name == rule.name).count() > 1 {
                return wrong(&key, "another one has the same name");
            }
            if rule.say.is_empty() {
                return wrong(&key, "`say` has no wording");
            }
            if rule.to.is_some_and(|to| to < rule.from) {
                return wrong(&key, "`to` is before `from`");
            }
        }
        let said = self.rules.iter().flat_map(|rule| &rule.say).chain(&self.misleads);
        for text in said {
            if text.trim().is_empty() || text.len() > LONGEST_GUIDANCE {
                return wrong("say", "a wording is empty, or longer than 8 KiB");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "[[rule]]\nname = \"a\"\nsay = [\"Look.\"]\n";

    #[test]
    fn defaults_say_one_thing_once_at_any_turn() {
        let rules = PersonRules::from_toml(RULE).unwrap();
        assert_eq!(rules, PersonRules { rules: rules.rules.clone(), ..PersonRules::default() });
        let PersonRule { from, to, times, about, drop, .. } = rules.rules[0].clone();
        assert_eq!((from, to, times, about, drop), (0, None, 1, false, DropFlag::Nothing));
    }

    #[test]
    fn rules_that_make_no_sense_are_refused_with_their_key() {
        let rules = |head: &str, tail: &str| format!("{head}\n{RULE}{tail}\n");
        for (text, key) in [
            (String::new(), "`rule`"),
            (rules("name = \"a b\"", ""), "`name`"),
            (rules("miss = 1.1", ""), "`miss`"),
            (rules("wrong = -0.1", ""), "`wrong`"),
            (rules("wrong = 0.1", ""), "`misleads`"),
            (rules("", "from = 3\nto = 2"), "`rule a`"),
            (rules(RULE, ""), "`rule a`"),
            ("[[rule]]\nname = \"a\"\nsay = []\n".to_owned(), "`rule a`"),
            ("[[rule]]\nname = \"a\"\nsay = [\" \"]\n".to_owned(), "`say`"),
        ] {
            let refused = PersonRules::from_toml(&text).unwrap_err().to_string();
            assert!(refused.contains(key), "{text}: {refused}");
        }
        assert!(matches!(PersonRules::from_toml("rules = 1"), Err(BadPersonRules::Toml(_))));
    }
}
