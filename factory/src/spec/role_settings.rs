//! What plays the roles of a corpus: the built-in procedures, chat models, or both.

use crate::spec::limits::RoleLimits;
use llm::Effort;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tasks::stream::Stream;

/// How much of a task a chat model makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleMode {
    /// Nothing: every role is a seeded procedure.
    #[default]
    Builtin,
    /// The prose of the description page.
    Writer,
    /// The story and the hidden rule, as data, and the prose of the page.
    Blueprint,
    /// The story, a program that draws the rows, and the prose of the page. Slots of a kind that
    /// no such program serves are played as in [`RoleMode::Blueprint`].
    Code,
}

impl RoleMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Builtin, Self::Writer, Self::Blueprint, Self::Code];

    /// Its name in flags, files and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Writer => "writer",
            Self::Blueprint => "blueprint",
            Self::Code => "code",
        }
    }

    /// Whether a model writes stories.
    fn has_strategist(self) -> bool {
        matches!(self, Self::Blueprint | Self::Code)
    }
}

impl fmt::Display for RoleMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The value of `--roles`: `builtin`, `MODE:MODEL`, or `MODEL` alone, which is short for
/// `blueprint:MODEL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleChoice {
    /// How much the model makes.
    pub mode: RoleMode,
    /// The model, `endpoint:name` or an endpoint that names its model; `None` for
    /// [`RoleMode::Builtin`].
    pub model: Option<String>,
}

impl FromStr for RoleChoice {
    type Err = RoleSettingsError;

    fn from_str(text: &str) -> Result<Self, RoleSettingsError> {
        let named = |name: &str| RoleMode::ALL.into_iter().find(|mode| mode.name() == name);
        let (first, rest) = match text.split_once(':') {
            Some((first, rest)) => (first, Some(rest)),
            None => (text, None),
        };
        let model = |model: &str| match model {
            "" => Err(RoleSettingsError::NoModel(text.to_owned())),
            model => Ok(Some(model.to_owned())),
        };
        match (named(first), rest) {
            (Some(RoleMode::Builtin), None) => Ok(Self { mode: RoleMode::Builtin, model: None }),
            (Some(RoleMode::Builtin), Some(_)) => Err(RoleSettingsError::NeedlessModel),
            (Some(_), None) => Err(RoleSettingsError::NoModel(text.to_owned())),
            (Some(mode), Some(rest)) => Ok(Self { mode, model: model(rest)? }),
            (None, _) => Ok(Self { mode: RoleMode::Blueprint, model: model(text)? }),
        }
    }
}

/// The table `[roles]` of a file of models, unchecked. What is left out has its default.
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `mode` | how much the model makes | `blueprint` if there is a model, else `builtin` |
/// | `model` | the model of every role that names none | – |
/// | `strategist`, `developer`, `writer` | the model of one role | `model`, if the mode gives the role to a model |
/// | `operator` | the model that writes evaluators | none: the built-in evaluator |
/// | `judge` | the model that reads finished pages | none: pages are not read |
/// | `share` | share of the slots that models play, above 0, at most 1 | 1 |
/// | `effort` | how much a reasoning model thinks | the provider's |
/// | `limits` | see [`ModelLimits`] | |
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolesTable {
    /// How much the model makes.
    pub mode: Option<RoleMode>,
    /// The model of every role that names none.
    pub model: Option<String>,
    /// The model of the data strategist.
    pub strategist: Option<String>,
    /// The model of the ML developer.
    pub developer: Option<String>,
    /// The model of the `MLOps` engineer.
    pub operator: Option<String>,
    /// The model of the technical writer.
    pub writer: Option<String>,
    /// The model that reads the writer's pages.
    pub judge: Option<String>,
    /// Share of the slots that models play.
    pub share: Option<f64>,
    /// How much a reasoning model thinks.
    pub effort: Option<Effort>,
    /// Limits of calls and tokens.
    #[serde(default)]
    pub limits: ModelLimits,
}

/// Limits of what models are asked for at one slot.
///
/// | key | default | range |
/// | --- | --- | --- |
/// | `attempts` | 12 | from 1 |
/// | `repairs` | 2 | from 0 |
/// | `calls_per_slot` | 24 | from 1 |
/// | `tokens_per_slot` | 150000 | from 1 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelLimits {
    /// Largest number of attempts at a slot that models play, those without a call included.
    pub attempts: u64,
    /// How often a refused answer is sent back to the model within one conversation.
    pub repairs: u32,
    /// Largest number of calls at one slot.
    pub calls_per_slot: u64,
    /// Largest number of tokens, read and generated, at one slot.
    pub tokens_per_slot: u64,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { attempts: 12, repairs: 2, calls_per_slot: 24, tokens_per_slot: 150_000 }
    }
}

/// What plays the roles of a corpus, checked. It decides the content of the corpus, so it is part
/// of its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSettings {
    /// How much models make.
    pub mode: RoleMode,
    /// The model of the data strategist; `None` where the role is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategist: Option<String>,
    /// The model of the ML developer, which writes generators; `None` where the role is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer: Option<String>,
    /// The model of the `MLOps` engineer, which writes evaluators; `None` where the role is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// The model of the technical writer; `None` where the role is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// The model that reads the pages of the technical writer; `None` where pages are not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// Share of the slots that models play, above 0, at most 1.
    pub share: f64,
    /// How much a reasoning model thinks; `None` for the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Limits of calls and tokens.
    pub limits: ModelLimits,
}

impl Default for RoleSettings {
    /// Built-in roles.
    fn default() -> Self {
        Self {
            mode: RoleMode::Builtin,
            strategist: None,
            developer: None,
            operator: None,
            writer: None,
            judge: None,
            share: 1.0,
            effort: None,
            limits: ModelLimits::default(),
        }
    }
}

/// Why settings of roles cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleSettingsError {
    /// A mode without a model.
    #[error(
        "`--roles {0}` names no model; write `MODE:ENDPOINT:NAME`, for example \
         `writer:openai:NAME`, where MODE is `writer`, `blueprint` or `code`"
    )]
    NoModel(String),
    /// A model for built-in roles.
    #[error("`builtin` takes no model; write `--roles builtin`")]
    NeedlessModel,
    /// The share is out of range.
    #[error("`share` is {0}; it is above 0 and at most 1")]
    Share(String),
    /// A limit that leaves no call.
    #[error("the limit `{0}` is 0; it is at least 1")]
    ZeroLimit(&'static str),
    /// A model for a role that the mode leaves to the built-in procedures.
    #[error("`{role}` names a model, but in mode `{mode}` that role is built in")]
    BuiltinRole {
        /// The key of the role.
        role: &'static str,
        /// The mode.
        mode: RoleMode,
    },
}

impl RoleSettings {
    /// The settings of a table and a flag, of which the flag wins.
    ///
    /// # Errors
    /// [`RoleSettingsError`].
    pub fn new(table: &RolesTable, flag: Option<&RoleChoice>) -> Result<Self, RoleSettingsError> {
        let model = flag.map_or(table.model.as_ref(), |flag| flag.model.as_ref());
        let RolesTable { strategist, developer, operator, writer, judge, .. } = table;
        let any = [model, strategist.as_ref(), developer.as_ref(), writer.as_ref()];
        let usual =
            if any.iter().any(Option::is_some) { RoleMode::Blueprint } else { RoleMode::Builtin };
        let mode = flag.map(|flag| flag.mode).or(table.mode).unwrap_or(usual);
        if mode == RoleMode::Builtin {
            return Ok(Self::default());
        }
        let (has_strategist, has_developer) = (mode.has_strategist(), mode == RoleMode::Code);
        let left_out = [
            ("strategist", strategist, has_strategist),
            ("developer", developer, has_developer),
            ("operator", operator, has_strategist),
        ];
        if let Some((role, ..)) = left_out.iter().find(|(_, own, plays)| own.is_some() && !plays) {
            return Err(RoleSettingsError::BuiltinRole { role, mode });
        }
        let played = |own: &Option<String>, plays: bool| {
            let model = own.as_ref().or(model).cloned();
            match model {
                _ if !plays => Ok(None),
                None => Err(RoleSettingsError::NoModel(mode.to_string())),
                model => Ok(model),
            }
        };
        let share = table.share.unwrap_or(1.0);
        if !(share > 0.0 && share <= 1.0) {
            return Err(RoleSettingsError::Share(share.to_string()));
        }
        let ModelLimits { attempts, calls_per_slot, tokens_per_slot, repairs: _ } = table.limits;
        let zero = [
            ("attempts", attempts),
            ("calls_per_slot", calls_per_slot),
            ("tokens_per_slot", tokens_per_slot),
        ];
        if let Some((name, _)) = zero.into_iter().find(|(_, limit)| *limit == 0) {
            return Err(RoleSettingsError::ZeroLimit(name));
        }
        Ok(Self {
            mode,
            strategist: played(strategist, has_strategist)?,
            developer: played(developer, has_developer)?,
            operator: operator.clone(),
            writer: played(writer, true)?,
            judge: judge.clone(),
            share,
            effort: table.effort,
            limits: table.limits,
        })
    }

    /// Whether every role is built in, as a record without these settings means.
    pub fn is_builtin(&self) -> bool {
        self.mode == RoleMode::Builtin
    }

    /// Whether a model writes programs, which run in a jail: generators or evaluators.
    pub fn has_programs(&self) -> bool {
        self.developer.is_some() || self.operator.is_some()
    }

    /// The names of all models that play a role, each once, in order.
    pub fn models(&self) -> Vec<&str> {
        let Self { strategist, developer, operator, writer, judge, .. } = self;
        let roles = [strategist, developer, operator, writer, judge];
        let mut models: Vec<&str> = roles.into_iter().flatten().map(String::as_str).collect();
        models.sort_unstable();
        models.dedup();
        models
    }

    /// Whether models play a slot of the corpus of this random seed.
    pub fn plays(&self, corpus_seed: u64, slot: u64) -> bool {
        if self.is_builtin() || self.share >= 1.0 {
            return !self.is_builtin();
        }
        let stream = Stream::root(corpus_seed).child("slot").index(slot).child("roles");
        crate::numeric::draws::Draws::new(stream).chance(self.share)
    }

    /// Largest number of attempts at a slot.
    pub fn attempts(&self, builtin: RoleLimits, corpus_seed: u64, slot: u64) -> u64 {
        if self.plays(corpus_seed, slot) { self.limits.attempts } else { builtin.attempts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str) -> Result<RoleChoice, RoleSettingsError> {
        text.parse()
    }

    fn settings(toml: &str, flag: Option<&str>) -> Result<RoleSettings, RoleSettingsError> {
        let table: RolesTable = toml::from_str(toml).unwrap();
        RoleSettings::new(&table, flag.map(|flag| choice(flag).unwrap()).as_ref())
    }

    #[test]
    fn flag_has_a_mode_and_a_model_or_a_model_alone() {
        let parts = |text| choice(text).map(|c| (c.mode, c.model)).unwrap();
        let model = |text: &str| Some(text.to_owned());
        assert_eq!(parts("builtin"), (RoleMode::Builtin, None));
        assert_eq!(parts("writer:local:qwen3:8b"), (RoleMode::Writer, model("local:qwen3:8b")));
        assert_eq!(parts("openai:m"), (RoleMode::Blueprint, model("openai:m")));
        assert_eq!(parts("blueprint:puppet"), (RoleMode::Blueprint, model("puppet")));
    }

    #[test]
    fn flag_without_a_model_is_refused() {
        for text in ["writer", "writer:", "blueprint", ""] {
            let error = choice(text).unwrap_err();
            assert_eq!(error, RoleSettingsError::NoModel(text.to_owned()));
        }
        assert_eq!(choice("builtin:m:n").unwrap_err(), RoleSettingsError::NeedlessModel);
    }

    #[test]
    fn flag_replaces_mode_and_model_of_the_table() {
        let table = "mode = \"blueprint\"\nmodel = \"a:b\"\nwriter = \"c:d\"\nshare = 0.5";
        let of_table = settings(table, None).unwrap();
        assert_eq!(of_table.models(), ["a:b", "c:d"]);
        assert_eq!((of_table.mode, of_table.share), (RoleMode::Blueprint, 0.5));
        let of_flag = settings(table, Some("writer:e:f")).unwrap();
        assert_eq!((of_flag.mode, of_flag.models()), (RoleMode::Writer, vec!["c:d"]));
        assert!(settings(table, Some("builtin")).unwrap().is_builtin());
        assert!(settings("", None).unwrap().is_builtin());
    }

    #[test]
    fn operator_and_judge_are_played_by_models_of_their_own_alone() {
        let plain = settings("model = \"a:b\"\nmode = \"code\"", None).unwrap();
        assert_eq!(plain.developer.as_deref(), Some("a:b"));
        assert_eq!((plain.operator, plain.judge), (None, None));
        let named = "operator = \"c:d\"\njudge = \"e:f\"";
        let named = settings(named, Some("code:a:b")).unwrap();
        assert_eq!(named.models(), ["a:b", "c:d", "e:f"]);
    }

    #[test]
    fn wrong_settings_are_named() {
        for (table, named) in [
            ("model = \"a:b\"\nshare = 0.0", "share"),
            ("model = \"a:b\"\nshare = 1.5", "share"),
            ("model = \"a:b\"\nlimits = { calls_per_slot = 0 }", "calls_per_slot"),
            ("model = \"a:b\"\nmode = \"writer\"\nstrategist = \"c:d\"", "strategist"),
            ("model = \"a:b\"\nmode = \"blueprint\"\ndeveloper = \"c:d\"", "developer"),
            ("model = \"a:b\"\nmode = \"writer\"\noperator = \"c:d\"", "operator"),
            ("mode = \"writer\"", "names no model"),
        ] {
            let error = settings(table, None).unwrap_err().to_string();
            assert!(error.contains(named), "{table}: {error}");
        }
    }

    #[test]
    fn share_of_the_slots_is_played_by_models() {
        let half = settings("model = \"a:b\"\nshare = 0.3", None).unwrap();
        let played = (0..2000).filter(|slot| half.plays(5, *slot)).count();
        assert!((500..700).contains(&played), "{played}");
        let builtin = RoleLimits::default();
        let slot = (0..100).find(|slot| !half.plays(5, *slot)).unwrap();
        assert_eq!(half.attempts(builtin, 5, slot), builtin.attempts);
        assert!((0..100).all(|slot| !RoleSettings::default().plays(5, slot)));
        assert!((0..100).all(|slot| settings("model = \"a:b\"", None).unwrap().plays(5, slot)));
    }
}
