//! Isolation levels: the three states of the jail, `t1` to `t3`, depending on the host.

use crate::isolation::Layer;
use crate::isolation::bare::WITHOUT;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How strong a sandbox is, strongest first.
///
/// | tier | what stands | what is missing | where |
/// | --- | --- | --- | --- |
/// | `t1` | every layer | nothing | root, or an ordinary user with a control group of its own |
/// | `t2` | all but control groups | memory over many processes is bounded late | any user, where the kernel allows user namespaces |
/// | `t3` | Landlock, seccomp, resource limits | see [`crate::isolation::bare`] | any user, where the kernel has Landlock with scopes (Linux 6.12) |
///
/// Landlock is a second opinion on top of mounts in the first two: it is up where the kernel has
/// it, and its absence makes neither another. In the third it is what hides the answers.
///
/// # Examples
/// ```rust
/// use jail::isolation::{IsolationLevel, Layer};
///
/// let level: IsolationLevel = "t2".parse()?;
/// assert!(level.needs(Layer::PidNamespace));
/// assert!(!level.needs(Layer::Cgroup));
/// // Stronger levels sort first.
/// assert!(IsolationLevel::T1 < level);
/// # Ok::<(), jail::isolation::tier::UnknownTier>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationLevel {
    /// Namespaces and control groups.
    T1,
    /// Namespaces without control groups.
    T2,
    /// Neither: what cannot be hidden is forbidden.
    T3,
}

impl IsolationLevel {
    /// All tiers, strongest first.
    pub const ALL: [Self; 3] = [Self::T1, Self::T2, Self::T3];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::T1 => "t1",
            Self::T2 => "t2",
            Self::T3 => "t3",
        }
    }

    /// Whether a sandbox of this tier must have `layer`.
    pub fn needs(self, layer: Layer) -> bool {
        match (self, layer) {
            (Self::T1, layer) => layer != Layer::Landlock,
            (Self::T2, layer) => !matches!(layer, Layer::Landlock | Layer::Cgroup),
            (Self::T3, layer) => layer != Layer::Cgroup && !WITHOUT.contains(&layer),
        }
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tier is called `{given}`; one of {}", IsolationLevel::ALL.map(IsolationLevel::name).join(", "))]
pub struct UnknownTier {
    /// The word that was given.
    pub given: String,
}

impl FromStr for IsolationLevel {
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
        for tier in IsolationLevel::ALL {
            assert_eq!(tier.name().parse(), Ok(tier));
            assert_eq!(serde_json::to_value(tier).unwrap(), tier.name());
        }
        assert!("t0".parse::<IsolationLevel>().unwrap_err().to_string().contains("t1, t2, t3"));
    }

    #[test]
    fn every_tier_needs_the_layers_that_hide_answers() {
        let hides =
            |tier: IsolationLevel| tier.needs(Layer::PivotedRoot) || tier.needs(Layer::Landlock);
        assert!(IsolationLevel::ALL.into_iter().all(hides));
        assert!(IsolationLevel::ALL.into_iter().all(|tier| tier.needs(Layer::Seccomp)));
    }

    #[test]
    fn a_weaker_tier_needs_nothing_that_a_stronger_one_does_not() {
        for layer in Layer::ALL.into_iter().filter(|layer| *layer != Layer::Landlock) {
            let needed = IsolationLevel::ALL.map(|tier| tier.needs(layer));
            assert!(needed.windows(2).all(|pair| pair[0] >= pair[1]), "{layer}: {needed:?}");
        }
    }
}
