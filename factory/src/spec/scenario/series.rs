//! Stories about several series over time.

use super::table::causes_of;
use super::{Cause, Causes, Follows, NumberColumn, NumberTarget, WordColumn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A story about series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesScenario {
    /// Heading of the task's description page.
    pub title: String,
    /// Two sentences of background.
    pub story: String,
    /// The series column and the names of the series.
    pub series: WordColumn,
    /// The time column: whole steps.
    pub step: String,
    /// The position in the season, and its length.
    pub season: String,
    /// Length of a season, in steps.
    pub period: usize,
    /// Drivers that are known ahead.
    pub drivers: Vec<NumberColumn>,
    /// The column that names the regime, known ahead.
    pub regime: WordColumn,
    /// What moves the target, in one line; none where that is not known.
    #[serde(default)]
    pub causes: Vec<Causes>,
    /// How the drivers go together.
    #[serde(default)]
    pub follows: Vec<Follows>,
    /// The number column that is forecast.
    pub target: NumberTarget,
}

impl SeriesScenario {
    /// What moves the target; empty where the story does not say.
    pub fn causes(&self) -> &[Cause] {
        causes_of(&self.causes, &self.target.name)
    }
}
