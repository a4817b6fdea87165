//! The solvers that rate tasks, by name.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A solver, from the weakest. All see the public folder of a task and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// The best constant for the metric.
    Constant,
    /// Ids, order, names, sizes and times of files, twins across the split, and nothing else.
    Exploiter,
    /// A first look: number columns, cheap statistics of items, one linear model.
    Glance,
    /// A careful engineer: repaired columns, ordinary features of items, models compared by
    /// cross-validation, predictions tuned to the metric.
    Engineer,
    /// An engineer who has met such media: pairs of columns, structure of items, stacked models.
    Specialist,
    /// A small neural network.
    Network,
}

impl Solver {
    /// All solvers, weakest first.
    pub const ALL: [Self; 6] = [
        Self::Constant,
        Self::Exploiter,
        Self::Glance,
        Self::Engineer,
        Self::Specialist,
        Self::Network,
    ];

    /// Those that run unless others are asked for: all but the network, which takes a minute of a
    /// processor on every task.
    pub const DEFAULT: [Self; 5] =
        [Self::Constant, Self::Exploiter, Self::Glance, Self::Engineer, Self::Specialist];

    /// The name as in files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Exploiter => "exploiter",
            Self::Glance => "glance",
            Self::Engineer => "engineer",
            Self::Specialist => "specialist",
            Self::Network => "network",
        }
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no solver has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no solver `{given}`; one of {}", Solver::ALL.map(Solver::name).join(", "))]
pub struct UnknownSolver {
    /// The name that was given.
    given: String,
}

impl FromStr for Solver {
    type Err = UnknownSolver;

    fn from_str(name: &str) -> Result<Self, UnknownSolver> {
        let found = Self::ALL.into_iter().find(|solver| solver.name() == name);
        found.ok_or_else(|| UnknownSolver { given: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_serde_and_are_read_back() {
        for solver in Solver::ALL {
            assert_eq!(serde_json::to_value(solver).unwrap(), solver.name());
            assert_eq!(solver.name().parse(), Ok(solver));
        }
        let error = "oracle".parse::<Solver>().unwrap_err().to_string();
        assert!(error.starts_with("there is no solver `oracle`; one of constant, "), "{error}");
    }
}
