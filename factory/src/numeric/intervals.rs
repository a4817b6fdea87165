//! Intervals, distances between distributions, quantiles.

use crate::numeric::draws::floor;
use serde::{Deserialize, Serialize};

/// The 97.5 % quantile of the standard normal distribution, for intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A range that is said to hold a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Lower end, in [0, 1].
    pub low: f64,
    /// Upper end, in [0, 1].
    pub high: f64,
}

impl Interval {
    /// Whether `share` lies within.
    pub fn holds(self, share: f64) -> bool {
        (self.low..=self.high).contains(&share)
    }
}

/// The 95 % score interval of a share (Wilson 1927), with p = `count` / `total`:
///
/// (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n)
///
/// Nothing is known of a share of nothing: \[0, 1\].
pub fn wilson(count: usize, total: usize) -> Interval {
    if total == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, p) = (total as f64, count as f64 / total as f64);
    let square = Z * Z / n;
    let middle = p + square / 2.0;
    let reach = (square * (p * (1.0 - p) + square / 4.0)).sqrt();
    let end = |value: f64| (value / (1.0 + square)).clamp(0.0, 1.0);
    // At both ends of the range the formula is exact, its rounding is not.
    Interval {
        low: if count == 0 { 0.0 } else { end(middle - reach) },
        high: if count == total { 1.0 } else { end(middle + reach) },
    }
}

/// The Jensen-Shannon divergence of two distributions in bits, from 0 to 1 (Lin 1991), of
/// weights that need not sum to 1:
///
/// ½ Σ p log₂ (p / m) + ½ Σ q log₂ (q / m), with m = (p + q) / 2
///
/// Its square root is a distance. 1 if either has no weight at all.
pub fn divergence(p: &[f64], q: &[f64]) -> f64 {
    let (all_p, all_q) = (p.iter().sum::<f64>(), q.iter().sum::<f64>());
    if all_p <= 0.0 || all_q <= 0.0 {
        return 1.0;
    }
    let bits = |a: f64, m: f64| if a > 0.0 { a * libm::log2(a / m) } else { 0.0 };
    let terms = p.iter().zip(q).map(|(p, q)| {
        let (p, q) = (p / all_p, q / all_q);
        let m = f64::midpoint(p, q);
        f64::midpoint(bits(p, m), bits(q, m))
    });
    terms.sum::<f64>().clamp(0.0, 1.0)
}

/// The divergence that `count` independent draws from a distribution over `kinds` have from it
/// on average: the divergence is χ² / (8 n ln 2) to second order, and χ² is `kinds` − 1 on
/// average.
pub fn chance_divergence(kinds: usize, count: usize) -> f64 {
    let freedom = kinds.saturating_sub(1) as f64;
    (freedom / (8.0 * count.max(1) as f64 * std::f64::consts::LN_2)).min(1.0)
}

/// Points that tell a distribution, by linear interpolation between ordered values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantiles {
    /// How many values there are.
    pub count: usize,
    /// The smallest of the values.
    pub least: f64,
    /// 5 % are below.
    pub q05: f64,
    /// A quarter is below.
    pub q25: f64,
    /// Half of the values are below.
    pub median: f64,
    /// Three quarters are below.
    pub q75: f64,
    /// 95 % are below.
    pub q95: f64,
    /// The largest of the values.
    pub most: f64,
}

impl Quantiles {
    /// Of finite values; nothing without any.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let at = |share| quantile(&values, share);
        Some(Self {
            count: values.len(),
            least,
            q05: at(0.05),
            q25: at(0.25),
            median: at(0.5),
            q75: at(0.75),
            q95: at(0.95),
            most,
        })
    }
}

/// Type 7 of Hyndman and Fan (1996), the default of `NumPy`; `ordered` must not be empty.
pub(crate) fn quantile(ordered: &[f64], share: f64) -> f64 {
    let place = share * (ordered.len() - 1) as f64;
    let below = floor(place);
    let above = (below + 1).min(ordered.len() - 1);
    ordered[below] + (place - below as f64) * (ordered[above] - ordered[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use proptest::prelude::*;
    use tasks::stream::Stream;

    #[test]
    fn wilson_is_scipys() {
        // scipy 1.17.1: binomtest(k, n).proportion_ci(method="wilson")
        for (count, total, low, high) in [
            (30, 100, 0.218_948_852_949_327_64, 0.395_848_546_333_466_67),
            (0, 20, 0.0, 0.161_125_158_052_819_35),
            (159, 200, 0.733_743_019_475_774_8, 0.845_138_237_961_637_9),
        ] {
            let interval = wilson(count, total);
            assert!((interval.low - low).abs() < 1e-12, "{interval:?}");
            assert!((interval.high - high).abs() < 1e-12, "{interval:?}");
        }
        // By hand: p = 1, n = 1 gives (1 + z²/2 - z²/2) / (1 + z²) = 1 / (1 + z²).
        assert!((wilson(1, 1).low - 1.0 / (1.0 + Z * Z)).abs() < 1e-12);
    }

    #[test]
    fn divergence_is_scipys() {
        // scipy 1.17.1: jensenshannon(p, q, base=2) ** 2
        let one = divergence(&[0.5, 0.3, 0.2], &[0.4, 0.4, 0.2]);
        assert!((one - 0.009_185_925_460_812_056).abs() < 1e-14, "{one}");
        assert!((one.sqrt() - 0.095_843_233_776_892_44).abs() < 1e-13);
        let counts = [104.0, 0.0, 21.0, 22.0, 8.0, 4.0];
        let other = divergence(&counts, &[48.7, 24.8, 10.4, 10.3, 3.5, 2.3]);
        assert!((other.sqrt() - 0.370_095_572_278_177_2).abs() < 1e-13, "{other}");
        // By hand: (1, 0) and (½, ½) have m = (¾, ¼): ½ log₂ 4/3 + ½ (½ log₂ 2/3 + ½ log₂ 2).
        let by_hand = 0.5 * (4.0_f64 / 3.0).log2() + 0.25 * (2.0_f64 / 3.0).log2() + 0.25;
        let two = divergence(&[1.0, 0.0], &[1.0, 1.0]);
        assert!((two - by_hand).abs() < 1e-14, "{two}");
        assert_eq!(divergence(&[1.0, 0.0], &[0.0, 1.0]), 1.0);
        assert_eq!(divergence(&[0.0], &[1.0]), 1.0);
    }

    #[test]
    fn chance_alone_has_the_divergence_it_is_said_to_have() {
        let shares = [0.487, 0.248, 0.104, 0.103, 0.035, 0.023];
        let mut draws = Draws::new(Stream::root(7).child("chance"));
        let mut sum = 0.0;
        for _ in 0..400 {
            let mut counts = [0.0; 6];
            for _ in 0..900 {
                counts[draws.weighted(&shares)] += 1.0;
            }
            sum += divergence(&counts, &shares);
        }
        let (found, said) = (sum / 400.0, chance_divergence(6, 900));
        assert!((found / said - 1.0).abs() < 0.15, "{found} for {said}");
    }

    #[test]
    fn quantiles_are_numpys() {
        // numpy 2.4.6: np.quantile([4, 1, 3, 10, 7], [.05, .25, .5, .75, .95])
        let found = Quantiles::of(vec![4.0, 1.0, 3.0, 10.0, 7.0, f64::NAN]).unwrap();
        let values = [found.q05, found.q25, found.median, found.q75, found.q95];
        for (value, expected) in values.into_iter().zip([1.4, 3.0, 4.0, 7.0, 9.4]) {
            assert!((value - expected).abs() < 1e-12, "{found:?}");
        }
        assert_eq!((found.count, found.least, found.most), (5, 1.0, 10.0));
        assert!(Quantiles::of(Vec::new()).is_none());
    }

    fn weights() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        (1_usize..8).prop_flat_map(|kinds| {
            let side = || prop::collection::vec(0.0_f64..100.0, kinds);
            (side(), side())
        })
    }

    proptest! {
        #[test]
        fn a_share_lies_in_its_interval(total in 1_usize..5000, part in 0.0_f64..1.0) {
            let count = floor(part * total as f64);
            let interval = wilson(count, total);
            prop_assert!(interval.holds(count as f64 / total as f64));
            prop_assert!(0.0 <= interval.low && interval.low < interval.high);
            prop_assert!(interval.high <= 1.0);
            let mirrored = wilson(total - count, total);
            prop_assert!((interval.low - (1.0 - mirrored.high)).abs() < 1e-12);
            prop_assert!(wilson(10 * count, 10 * total).high - wilson(10 * count, 10 * total).low
                < interval.high - interval.low);
        }

        #[test]
        fn divergence_is_bounded_symmetric_and_zero_for_the_same((p, q) in weights()) {
            prop_assume!(p.iter().sum::<f64>() > 0.0 && q.iter().sum::<f64>() > 0.0);
            let there = divergence(&p, &q);
            prop_assert!((0.0..=1.0).contains(&there));
            prop_assert!((there - divergence(&q, &p)).abs() < 1e-12);
            let scaled: Vec<f64> = p.iter().map(|weight| 3.0 * weight).collect();
            prop_assert!(divergence(&p, &scaled) < 1e-12);
        }
    }
}
