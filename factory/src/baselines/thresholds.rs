//! Milestones from the ladder.

use crate::numeric::rounding::round;
use tasks::task::{Baselines, Formulation};
use tasks::thresholds::Thresholds;

/// Share of the way from R2 to R3 where silver lies.
const SILVER: f64 = 0.4;
/// Share of the way from R2 to R3 where gold lies.
const GOLD: f64 = 0.8;
/// Share of the way from R3 to the ceiling where gold lies for pictures to be brought back.
const BEYOND: f64 = 0.3;

/// median = R1, bronze = R2, silver and gold between R2 and R3; six decimals.
///
/// Bringing pictures back has no transform to be discovered: R3 is a filter that a practised
/// engineer fits at once, and a good one goes beyond it. There, gold lies between R3 and the
/// ceiling, and silver where gold lies elsewhere.
pub fn from_ladder(baselines: &Baselines, formulation: Formulation) -> Thresholds {
    let Baselines { ladder: [_, r1, r2, r3], ceiling } = *baselines;
    let between = |from: f64, to: f64, share: f64| round(from + share * (to - from), 6);
    let (silver, gold) = match formulation {
        Formulation::Reconstruction => (between(r2, r3, GOLD), between(r3, ceiling, BEYOND)),
        _ => (between(r2, r3, SILVER), between(r2, r3, GOLD)),
    };
    Thresholds {
        gold_threshold: gold,
        silver_threshold: silver,
        bronze_threshold: round(r2, 6),
        median_threshold: round(r1, 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::metrics::Direction;

    #[test]
    fn milestones_rise_with_the_ladder_in_either_direction() {
        for (ladder, direction) in [
            ([0.5, 0.6, 0.7, 0.9], Direction::HigherIsBetter),
            ([5.0, 4.0, 3.0, 1.0], Direction::LowerIsBetter),
        ] {
            let baselines = Baselines { ladder, ceiling: ladder[3] };
            let thresholds = from_ladder(&baselines, Formulation::Regression);
            assert!(thresholds.strictly_ordered(ladder[0], direction));
            assert!(!direction.reaches(thresholds.silver_threshold, thresholds.gold_threshold));
        }
    }

    #[test]
    fn gold_for_pictures_lies_between_the_filter_and_the_ceiling() {
        for (ladder, ceiling, direction) in [
            ([15.0, 20.0, 25.0, 29.0], 31.0, Direction::HigherIsBetter),
            ([9.0, 7.0, 5.0, 3.0], 2.0, Direction::LowerIsBetter),
        ] {
            let baselines = Baselines { ladder, ceiling };
            let thresholds = from_ladder(&baselines, Formulation::Reconstruction);
            assert!(thresholds.strictly_ordered(ladder[0], direction));
            assert!(!direction.reaches(ladder[3], thresholds.gold_threshold));
            assert!(direction.reaches(ladder[3], thresholds.silver_threshold));
            assert!(direction.reaches(ceiling, thresholds.gold_threshold));
        }
    }
}
