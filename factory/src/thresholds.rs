//! Milestones from the ladder.

use sandbox::grade::Thresholds;
use sandbox::task::Baselines;

/// Share of the way from R2 to R3 where silver lies.
const SILVER: f64 = 0.4;
/// Share of the way from R2 to R3 where gold lies.
const GOLD: f64 = 0.8;

/// median = R1, bronze = R2, silver and gold between R2 and R3; six decimals.
pub fn from_ladder(baselines: &Baselines) -> Thresholds {
    let [_, r1, r2, r3] = baselines.ladder;
    let between = |share: f64| crate::table::round(r2 + share * (r3 - r2), 6);
    Thresholds {
        gold_threshold: between(GOLD),
        silver_threshold: between(SILVER),
        bronze_threshold: between(0.0),
        median_threshold: crate::table::round(r1, 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox::grade::Direction;

    #[test]
    fn milestones_rise_with_the_ladder_in_either_direction() {
        for (ladder, direction) in [
            ([0.5, 0.6, 0.7, 0.9], Direction::HigherIsBetter),
            ([5.0, 4.0, 3.0, 1.0], Direction::LowerIsBetter),
        ] {
            let thresholds = from_ladder(&Baselines { ladder, ceiling: ladder[3] });
            assert!(thresholds.strictly_ordered(ladder[0], direction));
            assert!(!direction.reaches(thresholds.silver_threshold, thresholds.gold_threshold));
        }
    }
}
