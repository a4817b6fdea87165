//! How often roles are asked before an attempt, or a whole slot, is given up.

use serde::{Deserialize, Serialize};

/// Limits of the attempts at a slot, and of the calls of each role within one attempt.
///
/// A role is asked again within an attempt only if a repeated call can differ; a built-in role
/// is asked once.
///
/// | field | default | range |
/// | --- | --- | --- |
/// | `attempts` | 5 | from 1 |
/// | `strategist` | 3 | from 1 |
/// | `developer` | 5, as in the paper | from 1 |
/// | `operator` | 3, as in the paper | from 1 |
/// | `writer` | 3 | from 1 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleLimits {
    /// Largest number of attempts per slot. More would select tasks that pass verification by
    /// chance.
    pub attempts: u64,
    /// Largest number of calls of the data strategist per attempt.
    pub strategist: u64,
    /// Largest number of calls of the ML developer per attempt.
    pub developer: u64,
    /// Largest number of calls of the `MLOps` engineer per attempt.
    pub operator: u64,
    /// Largest number of calls of the technical writer per attempt.
    pub writer: u64,
}

impl Default for RoleLimits {
    /// The limits of every corpus whose record names none; so these numbers never change.
    fn default() -> Self {
        Self { attempts: 5, strategist: 3, developer: 5, operator: 3, writer: 3 }
    }
}

impl RoleLimits {
    /// Whether these are the limits that a record leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name of the first limit that is 0, if any.
    pub fn zero(&self) -> Option<&'static str> {
        let Self { attempts, strategist, developer, operator, writer } = *self;
        [
            ("attempts", attempts),
            ("strategist", strategist),
            ("developer", developer),
            ("operator", operator),
            ("writer", writer),
        ]
        .into_iter()
        .find_map(|(name, limit)| (limit == 0).then_some(name))
    }
}
