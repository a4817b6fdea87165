//! Milestones from the ladder.

use crate::numeric::rounding::round;
use tasks::task::Baselines;
use tasks::thresholds::Thresholds;

/// Share of the way from R2 to R3 where silver lies.
const SILVER: f64 = 0.4;
/// Share of the way from R2 to R3 where gold lies.
const GOLD: f64 = 0.8;
/// Share of the way from R3 to the ceiling where gold lies for pictures to be brought back.
const BEYOND: f64 = 0.3;

/// Share of the way from R2 to R3 where bronze and silver lie where R2 leaves records unread.
const UNREAD: [f64; 2] = [0.25, 0.5];

/// What has to be found out for a medal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medals {
    /// What a tuned generic pipeline finds is bronze; the rule's transforms are beyond it.
    Transforms,
    /// How pictures are brought back. There is no transform to be discovered: R3 is a filter that a
    /// practised engineer fits at once, and a good one goes beyond it.
    Filter,
    /// What records say of a row. R2 does not read them as they have to be read, and what the rows
    /// say without them is no medal.
    Records,
}

/// Milestones, of six decimals. The median is R1. Bronze is R2, and silver and gold lie between R2
/// and R3; for a filter, silver lies where gold lies elsewhere, and gold between R3 and the ceiling;
/// where records have to be read, bronze lies a quarter of the way from R2 to R3.
pub fn from_ladder(baselines: &Baselines, medals: Medals) -> Thresholds {
    let Baselines { ladder: [_, r1, r2, r3], ceiling } = *baselines;
    let between = |from: f64, to: f64, share: f64| round(from + share * (to - from), 6);
    let beyond = |share| between(r2, r3, share);
    let [bronze, silver, gold] = match medals {
        Medals::Transforms => [beyond(0.0), beyond(SILVER), beyond(GOLD)],
        Medals::Filter => [beyond(0.0), beyond(GOLD), between(r3, ceiling, BEYOND)],
        Medals::Records => [beyond(UNREAD[0]), beyond(UNREAD[1]), beyond(GOLD)],
    };
    Thresholds {
        gold_threshold: gold,
        silver_threshold: silver,
        bronze_threshold: bronze,
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
            let thresholds = from_ladder(&baselines, Medals::Transforms);
            assert!(thresholds.strictly_ordered(ladder[0], direction));
            assert!(!direction.reaches(thresholds.silver_threshold, thresholds.gold_threshold));
        }
    }

    #[test]
    fn what_is_found_without_records_is_no_medal() {
        let baselines = Baselines { ladder: [0.5, 0.6, 0.7, 0.9], ceiling: 0.95 };
        let thresholds = from_ladder(&baselines, Medals::Records);
        let found = [thresholds.bronze_threshold, thresholds.silver_threshold];
        assert_eq!((found, thresholds.gold_threshold), ([0.75, 0.8], 0.86));
    }

    #[test]
    fn gold_for_pictures_lies_between_the_filter_and_the_ceiling() {
        for (ladder, ceiling, direction) in [
            ([15.0, 20.0, 25.0, 29.0], 31.0, Direction::HigherIsBetter),
            ([9.0, 7.0, 5.0, 3.0], 2.0, Direction::LowerIsBetter),
        ] {
            let baselines = Baselines { ladder, ceiling };
            let thresholds = from_ladder(&baselines, Medals::Filter);
            assert!(thresholds.strictly_ordered(ladder[0], direction));
            assert!(!direction.reaches(ladder[3], thresholds.gold_threshold));
            assert!(direction.reaches(ladder[3], thresholds.silver_threshold));
            assert!(direction.reaches(ceiling, thresholds.gold_threshold));
        }
    }
}
