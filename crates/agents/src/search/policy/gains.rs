//! Gains of any size on one scale.

/// The least and the largest of some gains.
///
/// A gain is a metric of which larger is better, see [`Tree::gain`](crate::search::tree::Tree::gain).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GainRange {
    least: f64,
    largest: f64,
}

impl GainRange {
    /// The range of `gains`; `None` if there are none.
    pub(super) fn from_gains(gains: impl Iterator<Item = f64>) -> Option<Self> {
        gains.map(|gain| Self { least: gain, largest: gain }).reduce(|range, gain| Self {
            least: range.least.min(gain.least),
            largest: range.largest.max(gain.largest),
        })
    }

    /// Where `gain` is in the range: 0 for the least, 1 for the largest, 0.5 if all are equal. A
    /// gain beyond an end counts as that end.
    pub(super) fn share(self, gain: f64) -> f64 {
        // Halves, because the difference of two finite numbers need not be finite.
        let width = self.largest / 2.0 - self.least / 2.0;
        if width <= 0.0 {
            return 0.5;
        }
        ((gain / 2.0 - self.least / 2.0) / width).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_run_from_0_to_1_whatever_the_size_of_the_gains() {
        for scale in [1.0, 1e-300, 1.7e308] {
            let gains = [-1.0, 0.0, 1.0].map(|gain| gain * scale);
            let range = GainRange::from_gains(gains.into_iter()).unwrap();
            assert_eq!(gains.map(|gain| range.share(gain)), [0.0, 0.5, 1.0]);
        }
    }

    #[test]
    fn equal_gains_are_in_the_middle_and_none_have_no_range() {
        let range = GainRange::from_gains([-0.3; 4].into_iter()).unwrap();
        assert_eq!(range.share(-0.3), 0.5);
        assert_eq!(GainRange::from_gains(std::iter::empty()), None);
    }

    #[test]
    fn a_gain_beyond_an_end_counts_as_that_end() {
        let range = GainRange::from_gains([1.0, 2.0].into_iter()).unwrap();
        assert_eq!([0.0, 3.0].map(|gain| range.share(gain)), [0.0, 1.0]);
    }
}
