//! How far sampler and trainer are apart on the log-probabilities of the same tokens.

use super::{TrainError, TrainSettings};
use crate::train::learner::UpdateStats;
use crate::train::presets::Dtype;

/// How far they may be apart in f32, in nats.
pub(super) const LOG_PROB_GAP: f64 = 1e-4;
/// How far they may be apart in the mean, whatever the type, in nats. Rounding to bf16 makes about
/// a tenth of that; other weights, or another temperature, make more.
pub(super) const MEAN_GAP: f64 = 0.03;
/// The share of tokens that may be further apart where min-p is on: a token that falls to the
/// other side of its floor by rounding changes the mass of all that are kept.
const OUTLIERS: f64 = 1e-3;

/// Differences between the sampler's log-probabilities and the trainer's, in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogProbGaps {
    pub(super) mean: f64,
    /// What all but one token in a thousand stay within; of fewer tokens, all but one.
    pub(super) high: f64,
    pub(super) largest: f64,
}

impl LogProbGaps {
    /// Of pairs of the sampler's log-probability and the trainer's.
    pub(super) fn new(pairs: impl Iterator<Item = (f32, f32)>) -> Self {
        let mut gaps: Vec<f64> =
            pairs.map(|(sampler, trainer)| f64::from((trainer - sampler).abs())).collect();
        gaps.sort_by(f64::total_cmp);
        let (Some(&largest), count) = (gaps.last(), gaps.len()) else {
            return Self { mean: 0.0, high: 0.0, largest: 0.0 };
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of it"
        )]
        let outliers = ((count as f64 * OUTLIERS) as usize).max(1);
        let high = gaps[count.saturating_sub(outliers + 1)];
        Self { mean: gaps.iter().sum::<f64>() / count as f64, high, largest }
    }

    /// Refuses what cannot be rounding.
    ///
    /// # Errors
    /// [`TrainError::Gap`] or [`TrainError::MeanGap`].
    pub(super) fn check(self, settings: &TrainSettings) -> Result<(), TrainError> {
        if self.mean.is_nan() || self.mean > MEAN_GAP {
            return Err(TrainError::MeanGap { gap: self.mean });
        }
        // Narrower types round more than the tolerance; there single gaps are only reported, as
        // where they are corrected for.
        let must_agree = settings.dtype == Dtype::F32 && settings.tis_cap == 0.0;
        let has_floor = settings.rollout.sampling.min_p > 0.0;
        let gap = if has_floor { self.high } else { self.largest };
        if must_agree && gap > LOG_PROB_GAP {
            return Err(TrainError::Gap { gap });
        }
        Ok(())
    }
}

/// Refuses an update on tokens that the sampler gave other probabilities than rounding explains,
/// as a server with other weights does. For updates at the weights that sampled.
///
/// # Errors
/// [`TrainError::MeanGap`].
pub(super) fn check_mean(found: &UpdateStats) -> Result<(), TrainError> {
    let gap = found.gaps / found.tokens.max(1) as f64;
    if gap.is_nan() || gap > MEAN_GAP {
        return Err(TrainError::MeanGap { gap });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::presets::Scale;

    fn of(gaps: &[f32]) -> LogProbGaps {
        LogProbGaps::new(gaps.iter().map(|gap| (-1.0, gap - 1.0)))
    }

    #[test]
    fn one_token_in_a_thousand_may_fall_off_the_floor_of_min_p_and_none_without_one() {
        let mut settings = TrainSettings::defaults(Scale::Tiny);
        let gaps = |outliers: usize| {
            let mut gaps = vec![1e-6; 3000];
            gaps[..outliers].fill(0.1);
            of(&gaps)
        };
        assert!(settings.rollout.sampling.min_p > 0.0);
        assert!(gaps(3).check(&settings).is_ok());
        assert!(matches!(gaps(4).check(&settings), Err(TrainError::Gap { .. })));
        settings.rollout.sampling.min_p = 0.0;
        assert!(gaps(0).check(&settings).is_ok());
        assert!(matches!(gaps(1).check(&settings), Err(TrainError::Gap { .. })));
        settings.tis_cap = 2.0;
        assert!(gaps(4).check(&settings).is_ok(), "it is corrected for");
    }

    #[test]
    fn other_weights_are_refused_in_any_type() {
        let settings = TrainSettings::defaults(Scale::Large);
        assert_eq!(settings.dtype, Dtype::Bf16);
        assert!(of(&[0.01, 0.02, 0.04]).check(&settings).is_ok());
        for gaps in [&[0.02, 0.02, 0.08][..], &[f32::NAN, 0.0]] {
            let error = of(gaps).check(&settings).unwrap_err();
            assert!(matches!(error, TrainError::MeanGap { .. }));
        }
        for (gaps, tokens, is_refused) in [(0.2, 10, false), (0.4, 10, true), (0.0, 0, false)] {
            let found = UpdateStats { gaps, tokens, ..UpdateStats::default() };
            assert_eq!(check_mean(&found).is_err(), is_refused, "{gaps} over {tokens}");
        }
        assert!(
            check_mean(&UpdateStats { gaps: f64::NAN, tokens: 1, ..Default::default() }).is_err()
        );
        assert_eq!(of(&[]), LogProbGaps { mean: 0.0, high: 0.0, largest: 0.0 });
        assert_eq!(of(&[0.5]).high, 0.5, "there is no other token");
    }
}
