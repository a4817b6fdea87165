//! Tiers: what a host can offer, in three steps.

use crate::jail::Layer;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How strong a sandbox is, strongest first.
///
/// | tier | what stands | what is missing | where |
/// | --- | --- | --- | --- |
/// | `t1` | every layer | nothing | root, or an ordinary user with a control group of its own |
/// | `t2` | all but control groups | memory over many processes is bounded late | any user, where the kernel allows user namespaces |
///
/// Landlock is a second opinion on top of mounts in both: it is up where the kernel has it, and
/// its absence changes no tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Namespaces and control groups.
    T1,
    /// Namespaces.
    T2,
}

impl Tier {
    /// All tiers, strongest first.
    pub const ALL: [Self; 2] = [Self::T1, Self::T2];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::T1 => "t1",
            Self::T2 => "t2",
        }
    }

    /// Whether a sandbox of this tier must have `layer`.
    pub fn needs(self, layer: Layer) -> bool {
        match (self, layer) {
            (_, Layer::Landlock) => false,
            (Self::T1, _) => true,
            (Self::T2, layer) => layer != Layer::Cgroup,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tier is called `{given}`; one of {}", Tier::ALL.map(Tier::name).join(", "))]
pub struct UnknownTier {
    /// What was given.
    pub given: String,
}

impl FromStr for Tier {
    type Err = UnknownTier;
    fn from_str(given: &str) -> Result<Self, UnknownTier> {
        let found = Self::ALL.into_iter().find(|tier| tier.name() == given);
        found.ok_or_else(|| UnknownTier { given: given.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_agree_with_serde() {
        for tier in Tier::ALL {
            assert_eq!(tier.name().parse(), Ok(tier));
            assert_eq!(serde_json::to_value(tier).unwrap(), tier.name());
        }
        assert!("t0".parse::<Tier>().unwrap_err().to_string().contains("t1, t2"));
    }

    #[test]
    fn a_weaker_tier_needs_nothing_that_a_stronger_one_does_not() {
        for layer in Layer::ALL {
            let needed = Tier::ALL.map(|tier| tier.needs(layer));
            assert!(needed.windows(2).all(|pair| pair[0] >= pair[1]), "{layer}: {needed:?}");
        }
    }
}
