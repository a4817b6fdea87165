//! The ways of training that are told apart.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// A way of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Imitation of examples: of an expert, of a teacher, or written by hand.
    Sft,
    /// Several models were made into one.
    Merge,
    /// Imitation of own successes: rejection fine-tuning, expert iteration.
    Rft,
    /// Imitation of an expert on the policy's own states.
    Dagger,
    /// Group-relative policy optimisation, and its variants.
    Grpo,
    /// Proximal policy optimisation, with a critic.
    Ppo,
    /// Direct preference optimisation.
    Dpo,
    /// The other preference losses that are told apart: KTO, ORPO.
    KtoOrpo,
    /// Training of another kind.
    Other,
    /// The base, as it is.
    Copy,
    /// No training.
    None,
}

impl Route {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Sft,
        Self::Merge,
        Self::Rft,
        Self::Dagger,
        Self::Grpo,
        Self::Ppo,
        Self::Dpo,
        Self::KtoOrpo,
        Self::Other,
        Self::Copy,
        Self::None,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sft => "sft",
            Self::Merge => "merge",
            Self::Rft => "rft",
            Self::Dagger => "dagger",
            Self::Grpo => "grpo",
            Self::Ppo => "ppo",
            Self::Dpo => "dpo",
            Self::KtoOrpo => "kto_orpo",
            Self::Other => "other",
            Self::Copy => "copy",
            Self::None => "none",
        }
    }

    /// Whether the weights were changed.
    pub fn is_training(self) -> bool {
        !matches!(self, Self::Copy | Self::None)
    }

    /// Whether its updates are driven by a reward of fresh rollouts.
    pub fn is_policy_gradient(self) -> bool {
        matches!(self, Self::Grpo | Self::Ppo)
    }

    /// Whether a run in the mode `sft-only` may use it.
    pub fn is_supervised(self) -> bool {
        matches!(self, Self::Sft | Self::Merge | Self::Rft | Self::Dagger | Self::Copy | Self::None)
    }

    /// The way of training that settings of `rl` are of, by the keys that only one trainer has.
    pub fn of_settings(settings: &Map<String, Value>) -> Self {
        let is_set = |key: &str| match settings.get(key) {
            Some(Value::Array(all)) => !all.is_empty(),
            Some(value) => !value.is_null(),
            None => false,
        };
        if is_set("models") {
            Self::Merge
        } else if is_set("group_size") {
            Self::Grpo
        } else if is_set("beta") || is_set("pairs") {
            Self::Dpo
        } else if is_set("episodes") || is_set("searches") {
            Self::Rft
        } else if is_set("epochs") {
            Self::Sft
        } else {
            Self::Other
        }
    }

    /// The way of training that a command line of the toolbox asks for; none if it trains nothing.
    pub fn of_command(program: &str, arguments: &[String]) -> Option<Self> {
        if program != "rl" {
            return None;
        }
        let has = |flag: &str| {
            let is_it = |word: &String| {
                word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            };
            arguments.iter().any(is_it)
        };
        match arguments.first().map(String::as_str)? {
            "sft" if has("--episodes") || has("--searches") => Some(Self::Rft),
            "sft" => Some(Self::Sft),
            "train" => Some(Self::Grpo),
            "prefer" => Some(Self::Dpo),
            "merge" => Some(Self::Merge),
            _ => None,
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_those_of_the_files() {
        for route in Route::ALL {
            assert_eq!(serde_json::to_value(route).unwrap(), route.name());
        }
    }

    #[test]
    fn settings_name_their_trainer() {
        for (settings, route) in [
            (json!({"epochs": 4, "demonstrations": "ladder"}), Route::Sft),
            (json!({"epochs": 4, "episodes": []}), Route::Sft),
            (json!({"epochs": 4, "episodes": ["a"]}), Route::Rft),
            (json!({"epochs": 1, "group_size": 4}), Route::Grpo),
            (json!({"epochs": 1, "beta": 0.1}), Route::Dpo),
            (json!({"models": ["a", "b"]}), Route::Merge),
            (json!({"seed": 1}), Route::Other),
        ] {
            assert_eq!(Route::of_settings(settings.as_object().unwrap()), route, "{settings}");
        }
    }

    #[test]
    fn command_lines_name_their_way_of_training_and_evaluation_is_none() {
        for (line, route) in [
            ("sft --world d", Some(Route::Sft)),
            ("sft --world d --episodes e", Some(Route::Rft)),
            ("sft --episodes=e", Some(Route::Rft)),
            ("sft --episodes-of-war", Some(Route::Sft)),
            ("train --world d", Some(Route::Grpo)),
            ("merge --model a --model b", Some(Route::Merge)),
            ("prefer", Some(Route::Dpo)),
            ("eval --world d", None),
            ("", None),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(Route::of_command("rl", &words), route, "{line}");
            assert_eq!(Route::of_command("posttrain", &words), None);
        }
    }
}
