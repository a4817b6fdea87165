//! The milestones of a task, and the best one that a score reaches.

use crate::metrics::Direction;
use serde::{Deserialize, Serialize};

/// The milestones of a task: exactly the four keys of `threshold.json`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Score that counts as gold, the hardest threshold.
    pub gold_threshold: f64,
    /// Between gold and bronze.
    pub silver_threshold: f64,
    /// Score that counts as bronze, the easiest medal.
    pub bronze_threshold: f64,
    /// What a simple honest model reaches.
    pub median_threshold: f64,
}

impl Thresholds {
    /// Those of a task without milestones: no finite score reaches them.
    pub fn unreachable(direction: Direction) -> Self {
        let beyond = match direction {
            Direction::HigherIsBetter => f64::INFINITY,
            Direction::LowerIsBetter => f64::NEG_INFINITY,
        };
        Self {
            gold_threshold: beyond,
            silver_threshold: beyond,
            bronze_threshold: beyond,
            median_threshold: beyond,
        }
    }

    /// From the easiest to the hardest: median, bronze, silver, gold.
    pub fn ascending(&self) -> [(Milestone, f64); 4] {
        [
            (Milestone::Median, self.median_threshold),
            (Milestone::Bronze, self.bronze_threshold),
            (Milestone::Silver, self.silver_threshold),
            (Milestone::Gold, self.gold_threshold),
        ]
    }

    /// The best tier that `score` reaches.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Direction;
    /// use tasks::thresholds::{Milestone, Thresholds};
    ///
    /// let thresholds = Thresholds {
    ///     gold_threshold: 0.1,
    ///     silver_threshold: 0.2,
    ///     bronze_threshold: 0.3,
    ///     median_threshold: 0.5,
    /// };
    /// let direction = Direction::LowerIsBetter;
    /// // A threshold is reached by a score that equals it.
    /// assert_eq!(thresholds.tier(0.2, direction), Some(Milestone::Silver));
    /// assert_eq!(thresholds.tier(0.21, direction), Some(Milestone::Bronze));
    /// assert_eq!(thresholds.tier(0.9, direction), None);
    /// assert!(thresholds.strictly_ordered(0.7, direction), "0.7 is the sample submission's score");
    /// ```
    pub fn tier(&self, score: f64, direction: Direction) -> Option<Milestone> {
        self.ascending()
            .into_iter()
            .rev()
            .find(|(_, threshold)| direction.reaches(score, *threshold))
            .map(|(tier, _)| tier)
    }

    /// Whether gold > silver > bronze > median > `sample`, each strictly better than the next
    /// (SandMLE §4.2, equation 1).
    pub fn strictly_ordered(&self, sample: f64, direction: Direction) -> bool {
        let mut previous = sample;
        self.ascending().into_iter().all(|(_, threshold)| {
            direction.better(threshold, std::mem::replace(&mut previous, threshold))
        })
    }
}

/// The way from the gold threshold to the ceiling, the best score that can be expected: a measure
/// that goes on where milestones end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeyondGold {
    gold: f64,
    ceiling: f64,
    direction: Direction,
}

impl BeyondGold {
    /// From two scores of the task's metric.
    pub fn new(gold: f64, ceiling: f64, direction: Direction) -> Self {
        Self { gold, ceiling, direction }
    }

    /// The share of the way that `score` has come, in [0, 1]: 0 below gold and at gold, 1 at the
    /// ceiling and beyond. Where the ceiling is no better than gold, gold is the whole way.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Direction;
    /// use tasks::thresholds::BeyondGold;
    ///
    /// let way = BeyondGold::new(0.4, 0.2, Direction::LowerIsBetter);
    /// assert_eq!([0.5, 0.4, 0.2, 0.1].map(|score| way.share(score)), [0.0, 0.0, 1.0, 1.0]);
    /// assert!((way.share(0.3) - 0.5).abs() < 1e-12);
    /// ```
    pub fn share(&self, score: f64) -> f64 {
        let Self { gold, ceiling, direction } = *self;
        if !direction.reaches(score, gold) {
            0.0
        } else if direction.better(ceiling, gold) {
            let [score, gold, ceiling] = [score, gold, ceiling].map(|value| direction.gain(value));
            ((score - gold) / (ceiling - gold)).clamp(0.0, 1.0)
        } else {
            1.0
        }
    }
}

/// The milestones by name, from the easiest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Milestone {
    /// At least the median threshold.
    Median,
    /// At least the bronze threshold.
    Bronze,
    /// At least the silver threshold.
    Silver,
    /// At least the gold threshold.
    Gold,
}

impl Milestone {
    /// The name as in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Bronze => "bronze",
            Self::Silver => "silver",
            Self::Gold => "gold",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gold_is_the_whole_way_where_the_ceiling_is_no_better() {
        for ceiling in [0.9, 0.85] {
            let way = BeyondGold::new(0.9, ceiling, Direction::HigherIsBetter);
            assert_eq!([0.89, 0.9, 0.95].map(|score| way.share(score)), [0.0, 1.0, 1.0]);
        }
    }

    proptest! {
        #[test]
        fn share_beyond_gold_is_in_range_and_monotone(
            gold in -2.0..2.0f64, ceiling in -2.0..2.0f64,
            a in -3.0..3.0f64, b in -3.0..3.0f64, higher in any::<bool>(),
        ) {
            let direction =
                if higher { Direction::HigherIsBetter } else { Direction::LowerIsBetter };
            let way = BeyondGold::new(gold, ceiling, direction);
            let (worse, better) = if direction.better(a, b) { (b, a) } else { (a, b) };
            let (low, high) = (way.share(worse), way.share(better));
            prop_assert!(0.0 <= low && low <= high && high <= 1.0, "{low} {high}");
            prop_assert!(low == 0.0 || direction.reaches(worse, gold));
        }
    }
}
