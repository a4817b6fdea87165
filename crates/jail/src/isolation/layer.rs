//! The names of the isolation layers, and the report of which of them are up.

use crate::isolation::IsolationLevel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// One barrier of the jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Root inside the box has no rights outside of it.
    UserNamespace,
    /// Mounts of its own.
    MountNamespace,
    /// Sees and can signal its own processes only; all of them die together.
    PidNamespace,
    /// No network interface, loopback included.
    NetworkNamespace,
    /// Own System V IPC and message queues.
    IpcNamespace,
    /// A host name of its own.
    UtsNamespace,
    /// A root that holds the system, Python and public data, read-only, and nothing else.
    PivotedRoot,
    /// Own sized work dir, `/tmp`, `/dev/shm` and `/proc`.
    PrivateMounts,
    /// Memory per process, processes, file size and open files are bounded.
    ResourceLimits,
    /// All capabilities are gone, in every set.
    Capabilities,
    /// Programs cannot gain rights by being started.
    NoNewPrivileges,
    /// File, TCP, signal and abstract-socket rules that hold even if a mount were wrong.
    Landlock,
    /// System calls outside an allowlist are refused.
    Seccomp,
    /// Memory, processes and processor time are bounded over the whole run by the kernel.
    Cgroup,
}

impl Layer {
    /// All layers, from the outside in.
    pub const ALL: [Self; 14] = [
        Self::UserNamespace,
        Self::MountNamespace,
        Self::PidNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::UtsNamespace,
        Self::PivotedRoot,
        Self::PrivateMounts,
        Self::ResourceLimits,
        Self::Capabilities,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::Seccomp,
        Self::Cgroup,
    ];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user-namespace",
            Self::MountNamespace => "mount-namespace",
            Self::PidNamespace => "pid-namespace",
            Self::NetworkNamespace => "network-namespace",
            Self::IpcNamespace => "ipc-namespace",
            Self::UtsNamespace => "uts-namespace",
            Self::PivotedRoot => "pivoted-root",
            Self::PrivateMounts => "private-mounts",
            Self::ResourceLimits => "resource-limits",
            Self::Capabilities => "capabilities",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Cgroup => "cgroup",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no layer is called `{given}`; one of {}", Layer::ALL.map(Layer::name).join(", "))]
pub struct UnknownLayer {
    /// The word that was given.
    pub given: String,
}

impl FromStr for Layer {
    type Err = UnknownLayer;
    fn from_str(given: &str) -> Result<Self, UnknownLayer> {
        let found = Self::ALL.into_iter().find(|layer| layer.name() == given);
        found.ok_or_else(|| UnknownLayer { given: given.to_owned() })
    }
}

/// Whether a layer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LayerState {
    /// It holds for every run.
    Up,
    /// It does not hold for any run.
    Down {
        /// Why the layer is missing.
        reason: String,
    },
}

/// Which layers hold in a sandbox; part of every report made with it.
///
/// # Examples
/// ```rust
/// use jail::isolation::layer::Missing;
/// use jail::isolation::{IsolationLevel, Layer, Protection};
///
/// let reason = "the control group is not writable".to_owned();
/// let protection = Protection::except([Missing { layer: Layer::Cgroup, reason }]);
/// assert!(protection.is_up(Layer::Seccomp));
/// assert_eq!(protection.tier(), Some(IsolationLevel::T2));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protection {
    layers: BTreeMap<Layer, LayerState>,
}

impl Protection {
    /// All layers up except the given ones.
    pub fn except(down: impl IntoIterator<Item = Missing>) -> Self {
        let mut layers: BTreeMap<_, _> = Layer::ALL.map(|layer| (layer, LayerState::Up)).into();
        for Missing { layer, reason } in down {
            layers.insert(layer, LayerState::Down { reason });
        }
        Self { layers }
    }

    /// Each layer and its state, from the outside in.
    pub fn iter(&self) -> impl Iterator<Item = (Layer, &LayerState)> {
        self.layers.iter().map(|(layer, state)| (*layer, state))
    }

    /// Whether `layer` is up.
    pub fn is_up(&self, layer: Layer) -> bool {
        self.layers.get(&layer) == Some(&LayerState::Up)
    }

    /// The strongest tier whose layers are all up; none if not even the weakest has them.
    pub fn tier(&self) -> Option<IsolationLevel> {
        let stands = |tier: &IsolationLevel| {
            self.iter().all(|(layer, state)| *state == LayerState::Up || !tier.needs(layer))
        };
        IsolationLevel::ALL.into_iter().find(stands)
    }
}

/// A layer that is not up, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// The layer that is missing.
    pub layer: Layer,
    /// Why it is not up.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_agree_with_serde() {
        for layer in Layer::ALL {
            assert_eq!(layer.name().parse(), Ok(layer));
            assert_eq!(serde_json::to_value(layer).unwrap(), layer.name());
        }
        assert!("firewall".parse::<Layer>().unwrap_err().to_string().contains("seccomp"));
    }

    #[test]
    fn layer_not_reported_as_missing_is_up() {
        let reason = "no support".to_owned();
        let protection = Protection::except([Missing { layer: Layer::Landlock, reason }]);
        assert!(!protection.is_up(Layer::Landlock));
        assert_eq!(protection.iter().filter(|(_, state)| **state == LayerState::Up).count(), 13);
    }

    #[test]
    fn the_tier_follows_from_the_layers() {
        let without = |layers: &[Layer]| {
            let missing = |layer: &Layer| Missing { layer: *layer, reason: String::new() };
            Protection::except(layers.iter().map(missing)).tier()
        };
        assert_eq!(without(&[]), Some(IsolationLevel::T1));
        assert_eq!(without(&[Layer::Landlock]), Some(IsolationLevel::T1));
        assert_eq!(without(&[Layer::Cgroup, Layer::Landlock]), Some(IsolationLevel::T2));
        let none = [Layer::UserNamespace, Layer::PivotedRoot, Layer::Cgroup];
        assert_eq!(without(&none), Some(IsolationLevel::T3));
        assert_eq!(without(&[Layer::UserNamespace, Layer::Landlock]), None);
        assert_eq!(without(&[Layer::Seccomp]), None);
    }
}
