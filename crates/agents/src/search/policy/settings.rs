//! Which policy, with its settings.

use super::{Drafts, Evolution, Greedy, Mcts, MlMaster, Policy, setting};
use serde::{Deserialize, Deserializer, Serialize};

/// A policy with its settings, as files and command lines name it.
///
/// | `policy` | search |
/// | --- | --- |
/// | `aide` | [`Greedy`] with AIDE's settings |
/// | `aira-greedy` | [`Greedy`] with AIRA's settings |
/// | `aira-mcts` | [`Mcts`] |
/// | `aira-evo` | [`Evolution`] |
/// | `ml-master` | [`MlMaster`] |
/// | `drafts` | [`Drafts`]: best-of-n |
///
/// Settings that are left out have the defaults of their policy. A setting beyond its limits is an
/// error when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum PolicySettings {
    /// The policy of AIDE.
    Aide(Greedy),
    /// AIRA's greedy search.
    AiraGreedy(#[serde(deserialize_with = "aira_greedy")] Greedy),
    /// AIRA's Monte Carlo tree search.
    AiraMcts(Mcts),
    /// AIRA's evolutionary search.
    AiraEvo(Evolution),
    /// ML-Master's search.
    MlMaster(MlMaster),
    /// Best-of-n.
    Drafts(Drafts),
}

impl PolicySettings {
    /// The policy to ask for decisions.
    pub fn policy(&self) -> &dyn Policy {
        match self {
            Self::Aide(policy) | Self::AiraGreedy(policy) => policy,
            Self::AiraMcts(policy) => policy,
            Self::AiraEvo(policy) => policy,
            Self::MlMaster(policy) => policy,
            Self::Drafts(policy) => policy,
        }
    }
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self::Aide(Greedy::default())
    }
}

/// [`Greedy`], with AIRA's settings where none are given.
fn aira_greedy<'de, D: Deserializer<'de>>(from: D) -> Result<Greedy, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct AiraGreedy {
        #[serde(deserialize_with = "setting::at_least_one")]
        drafts: usize,
        #[serde(deserialize_with = "setting::share")]
        debug_probability: f64,
        debug_depth: u32,
    }
    impl Default for AiraGreedy {
        fn default() -> Self {
            let Greedy { drafts, debug_probability, debug_depth } = Greedy::AIRA;
            Self { drafts, debug_probability, debug_depth }
        }
    }
    let AiraGreedy { drafts, debug_probability, debug_depth } = AiraGreedy::deserialize(from)?;
    Ok(Greedy { drafts, debug_probability, debug_depth })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<PolicySettings, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn each_policy_has_a_name_and_its_own_defaults() {
        let all = [
            ("aide", PolicySettings::Aide(Greedy::default())),
            ("aira-greedy", PolicySettings::AiraGreedy(Greedy::AIRA)),
            ("aira-mcts", PolicySettings::AiraMcts(Mcts::default())),
            ("aira-evo", PolicySettings::AiraEvo(Evolution::default())),
            ("ml-master", PolicySettings::MlMaster(MlMaster::default())),
            ("drafts", PolicySettings::Drafts(Drafts {})),
        ];
        for (name, settings) in all {
            assert_eq!(read(json!({ "policy": name })), Ok(settings));
            let written = serde_json::to_value(settings).unwrap();
            assert_eq!(written["policy"], name);
            assert_eq!(read(written), Ok(settings));
        }
    }

    #[test]
    fn settings_that_are_left_out_are_those_of_the_policy() {
        let greedy = Greedy { debug_depth: 7, ..Greedy::AIRA };
        let read = read(json!({ "policy": "aira-greedy", "debug_depth": 7 }));
        assert_eq!(read, Ok(PolicySettings::AiraGreedy(greedy)));
    }

    #[test]
    fn unknown_settings_and_values_beyond_their_limits_are_refused() {
        for (given, expected) in [
            (json!({ "policy": "drafts", "children": 3 }), "unknown field `children`"),
            (json!({ "policy": "aira-greedy", "children": 3 }), "unknown field `children`"),
            (json!({ "policy": "best" }), "unknown variant `best`"),
            (json!({ "policy": "aira-mcts", "children": 0 }), "expected at least 1, got 0"),
            (json!({ "policy": "aira-mcts", "exploration": -1.0 }), "of at least 0, got -1"),
            (json!({ "policy": "aira-evo", "temperature": 0.0 }), "a number above 0, got 0"),
            (json!({ "policy": "aide", "debug_probability": 1.5 }), "in [0, 1], got 1.5"),
        ] {
            let error = read(given.clone()).unwrap_err();
            assert!(error.contains(expected), "{given}: {error}");
        }
    }
}
