//! Means, their errors, quantiles, and what resampling says of them.

use rand::RngExt;
use tasks::stream::Stream;

/// The 97.5 % quantile of the standard normal distribution, for intervals of 95 %.
pub const Z: f64 = 1.96;

/// The arithmetic mean; 0 without values.
pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len();
    if n == 0 { 0.0 } else { values.sum::<f64>() / n as f64 }
}

/// The sample standard deviation (ddof 1) over the square root of the count; 0 below two values.
pub fn standard_error(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let center = mean(values.iter().copied());
    let variance = values.iter().map(|value| (value - center).powi(2)).sum::<f64>() / (n - 1.0);
    (variance / n).sqrt()
}

/// The quantile at `share` in \[0, 1\] of the finite values: type 7 of Hyndman and Fan (1996), the
/// default of `NumPy`. `None` without any.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut ordered: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    ordered.sort_by(f64::total_cmp);
    let last = ordered.len().checked_sub(1)?;
    let mut below = 0;
    while below < last && (below + 1) as f64 <= share * last as f64 {
        below += 1;
    }
    let above = (below + 1).min(last);
    let part = share * last as f64 - below as f64;
    Some(ordered[below] + part * (ordered[above] - ordered[below]))
}

/// The 95 % score interval of the share `count` / `total` (Wilson 1927), in [0, 1]. Nothing is known of
/// a share of nothing.
pub fn wilson(count: usize, total: usize) -> (f64, f64) {
    if total == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (total as f64, count as f64 / total as f64);
    let square = Z * Z / n;
    let middle = p + square / 2.0;
    let reach = (square * (p * (1.0 - p) + square / 4.0)).sqrt();
    let end = |value: f64| (value / (1.0 + square)).clamp(0.0, 1.0);
    // At both ends of the range the formula is exact, its rounding is not.
    let low = if count == 0 { 0.0 } else { end(middle - reach) };
    let high = if count == total { 1.0 } else { end(middle + reach) };
    (low, high)
}

/// Samples that a bootstrap draws, and signs that [`sign_flip`] draws where it cannot try all.
pub const DRAWS: usize = 10_000;

/// Most differences of which [`sign_flip`] tries all signs.
pub const EXACT_FLIPS: usize = 20;

/// What a bootstrap says of a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapError {
    /// The standard deviation of the samples' means (ddof 1).
    pub error: f64,
    /// Their 2.5 % and 97.5 % quantiles.
    pub interval: (f64, f64),
}

/// The error of the mean of `values`, from the means of [`DRAWS`] samples of as many values with
/// replacement (Efron 1979, percentile intervals). Give one value per cluster, such as the mean of
/// a competition's seeds, for a cluster bootstrap. `None` without values.
pub fn bootstrap(values: &[f64], stream: Stream) -> Option<BootstrapError> {
    if values.is_empty() {
        return None;
    }
    let mut rng = stream.rng();
    let mut sample_mean = || {
        let sample = (0..values.len()).map(|_| values[rng.random_range(0..values.len())]);
        mean(sample)
    };
    let means: Vec<f64> = (0..DRAWS).map(|_| sample_mean()).collect();
    let interval = (quantile(&means, 0.025)?, quantile(&means, 0.975)?);
    Some(BootstrapError { error: standard_error(&means) * (DRAWS as f64).sqrt(), interval })
}

/// The error of the mean of the cells of a table of tasks by seeds, `None` where there is none: both
/// tasks and seeds are drawn again with replacement, [`DRAWS`] times (Owen 2007, "The pigeonhole
/// bootstrap"), since runs of one task, and runs of one seed, are alike. With one seed it is the
/// bootstrap over tasks. `None` without cells.
///
/// # Examples
/// ```rust
/// use evals::statistics::bootstrap_crossed;
/// use tasks::stream::Stream;
///
/// let cells = [vec![Some(0.1), Some(0.3)], vec![Some(0.5), None]];
/// let (low, high) = bootstrap_crossed(&cells, Stream::root(0)).expect("cells").interval;
/// assert!(low >= 0.1 && low < 0.3 && high > 0.3 && high <= 0.5);
/// ```
pub fn bootstrap_crossed(cells: &[Vec<Option<f64>>], stream: Stream) -> Option<BootstrapError> {
    let seeds = cells.iter().map(Vec::len).max()?;
    cells.iter().flatten().flatten().next()?;
    let mut rng = stream.rng();
    let mut sample_mean = || {
        let columns: Vec<usize> = (0..seeds).map(|_| rng.random_range(0..seeds)).collect();
        let (mut sum, mut count) = (0.0, 0.0_f64);
        for _ in 0..cells.len() {
            let row = &cells[rng.random_range(0..cells.len())];
            for value in columns.iter().filter_map(|&column| row.get(column).copied().flatten()) {
                sum += value;
                count += 1.0;
            }
        }
        // A sample of missing cells alone says nothing.
        (count > 0.0).then(|| sum / count)
    };
    let means: Vec<f64> = (0..DRAWS).filter_map(|_| sample_mean()).collect();
    let interval = (quantile(&means, 0.025)?, quantile(&means, 0.975)?);
    let error = standard_error(&means) * (means.len() as f64).sqrt();
    Some(BootstrapError { error, interval })
}

/// The two-sided p value of paired differences under the hypothesis that each could as well have
/// the other sign (Fisher's randomisation test): the share of all signs whose sum is as far from 0
/// as the one that was found. Differences of 0 say nothing and are left out; without any other, 1.
///
/// Exact up to [`EXACT_FLIPS`] differences; beyond, from [`DRAWS`] draws of the signs, among which
/// the signs that were found count as one more.
pub fn sign_flip(differences: &[f64], stream: Stream) -> f64 {
    let sizes: Vec<f64> =
        differences.iter().filter(|value| **value != 0.0).map(|value| value.abs()).collect();
    let found = differences.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order may differ in the last bits.
    let bound = found - 1e-9 * sizes.iter().sum::<f64>();
    if sizes.len() <= EXACT_FLIPS {
        return far_sums(&sizes, 0.0, bound) as f64 / (1_u64 << sizes.len()) as f64;
    }
    let mut rng = stream.rng();
    let mut is_far = || {
        let signed = sizes.iter().map(|size| if rng.random::<bool>() { *size } else { -size });
        signed.sum::<f64>().abs() >= bound
    };
    let far = (0..DRAWS).filter(|_| is_far()).count();
    (far + 1) as f64 / (DRAWS + 1) as f64
}

/// How many signs of `sizes`, added to `sum`, give a sum at least as far from 0 as `bound`.
fn far_sums(sizes: &[f64], sum: f64, bound: f64) -> u64 {
    match sizes {
        [] => u64::from(sum.abs() >= bound),
        [size, rest @ ..] => far_sums(rest, sum + size, bound) + far_sums(rest, sum - size, bound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_agrees_with_numpy() {
        // np.quantile([1, 3, 4, 7, 10], [0.05, 0.25, 0.5, 0.75, 0.95, 0, 1]), numpy 2.3
        let values = [4.0, 1.0, 3.0, 10.0, 7.0, f64::NAN];
        let shares = [0.05, 0.25, 0.5, 0.75, 0.95, 0.0, 1.0];
        for (share, expected) in shares.into_iter().zip([1.4, 3.0, 4.0, 7.0, 9.4, 1.0, 10.0]) {
            let found = quantile(&values, share).unwrap();
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn wilson_agrees_with_scipy() {
        // scipy 1.17.1: binomtest(k, n).proportion_ci(method="wilson"), to the digits of Z
        for (count, total, low, high) in [
            (30, 100, 0.218_948_852_949, 0.395_848_546_333),
            (0, 20, 0.0, 0.161_125_158_053),
            (159, 200, 0.733_743_019_476, 0.845_138_237_962),
        ] {
            let found = wilson(count, total);
            assert!((found.0 - low).abs() < 1e-5 && (found.1 - high).abs() < 1e-5, "{found:?}");
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        assert_eq!(wilson(3, 3).1, 1.0);
    }

    #[test]
    fn standard_error_of_one_value_is_zero() {
        assert_eq!(standard_error(&[3.0]), 0.0);
        // scipy.stats.sem([1, 2, 4])
        assert!((standard_error(&[1.0, 2.0, 4.0]) - 0.881_917_103_688_197_5).abs() < 1e-15);
        assert_eq!(mean([].into_iter()), 0.0);
    }

    #[test]
    fn standard_error_agrees_with_scipy() {
        // scipy.stats.sem(values), scipy 1.17
        let cases: [(&[f64], f64); 5] = [
            (&[33.3, 27.3, 31.8], 1.802_775_637_731_99),
            (&[0.0, 100.0], 50.0),
            (&[4.5, 9.1, 13.6, 18.2, 22.7], 3.217_359_165_526_91),
            (&[68.2, 68.2, 68.2], 0.0),
            (&[0.001, 2000.0, 5.0], 665.834_730_495_071),
        ];
        for (values, expected) in cases {
            let found = standard_error(values);
            assert!((found - expected).abs() < 1e-12, "{values:?}: {found}");
        }
    }

    #[test]
    fn sign_flip_agrees_with_scipy_where_it_tries_all_signs() {
        const THIRD: f64 = 1.0 / 3.0;
        // scipy.stats.permutation_test((values,), np.sum, permutation_type="samples",
        //     n_resamples=np.inf).pvalue, scipy 1.17, with "two-sided"
        let cases: [(&[f64], f64); 9] = [
            (&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.03125),
            (&[1.0, 1.0, 1.0, 1.0, 1.0], 0.0625),
            (&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0], 0.125),
            (&[1.0, 1.0, 1.0, -1.0], 0.625),
            (&[THIRD, 2.0 * THIRD, -THIRD, 1.0], 0.375),
            (&[0.5, -0.5, 1.0, 1.0, 1.0, 0.5], 0.125),
            (&[-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0], 0.070_312_5),
            (
                &[
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    THIRD,
                    -2.0 * THIRD,
                    -2.0 * THIRD,
                ],
                0.116_333_007_812_5,
            ),
            (
                &[
                    1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0,
                    -1.0, -1.0, -1.0,
                ],
                0.030_883_789_062_5,
            ),
        ];
        for (values, expected) in cases {
            let found = sign_flip(values, Stream::root(0));
            assert!((found - expected).abs() < 1e-12, "{values:?}: {found}");
        }
        assert_eq!(sign_flip(&[], Stream::root(0)), 1.0);
        assert_eq!(sign_flip(&[0.0, 0.0], Stream::root(0)), 1.0);
    }

    #[test]
    fn sign_flip_of_many_differences_is_near_the_exact_value() {
        // 2 * scipy.stats.binom.cdf(k, n, 0.5) with k of n signs negative: 7 of 22, 9 of 24, 12 of 30
        for (negative, all, expected) in
            [(7_u64, 22_u64, 0.133_801), (9_u64, 24_u64, 0.307_456), (12_u64, 30_u64, 0.361_595)]
        {
            let values: Vec<f64> =
                (0..all).map(|at| if at < negative { -1.0 } else { 1.0 }).collect();
            let found = sign_flip(&values, Stream::root(1).index(all));
            assert!((found - expected).abs() < 0.02, "{negative} of {all}: {found}");
            assert_eq!(found, sign_flip(&values, Stream::root(1).index(all)));
        }
    }

    #[test]
    fn crossed_bootstrap_has_the_error_of_tasks_and_of_seeds() {
        // Additive cells: the mean of a sample is the sum of two independent means, so that the error
        // is sqrt(var(tasks) / tasks + var(seeds) / seeds), with ddof 0, and the quantiles are those of
        //   rng = np.random.default_rng(0); t, s = np.arange(8) / 8, np.array([0, .3, .9])
        //   m = rng.choice(t, (10**6, 8)).mean(1) + rng.choice(s, (10**6, 3)).mean(1)
        //   np.quantile(m, [.025, .975])  # .406, 1.322: numpy 2.4
        let tasks: Vec<f64> = (0..8).map(|at| f64::from(at) / 8.0).collect();
        let seeds = [0.0, 0.3, 0.9];
        let row = |task: &f64| seeds.iter().map(|seed| Some(task + seed)).collect();
        let cells: Vec<Vec<Option<f64>>> = tasks.iter().map(row).collect();
        let found = bootstrap_crossed(&cells, Stream::root(3)).unwrap();
        let variance = |values: &[f64]| {
            let center = mean(values.iter().copied());
            mean(values.iter().map(|value| (value - center).powi(2)))
        };
        let expected = (variance(&tasks) / 8.0 + variance(&seeds) / 3.0).sqrt();
        assert!((found.error - expected).abs() < 0.02 * expected, "{found:?}, {expected}");
        let (low, high) = found.interval;
        assert!((low - 0.406).abs() < 0.03 && (high - 1.322).abs() < 0.03, "{found:?}");
        // One seed: the bootstrap over tasks.
        let one: Vec<Vec<Option<f64>>> = tasks.iter().map(|task| vec![Some(*task)]).collect();
        let (crossed, plain) = (
            bootstrap_crossed(&one, Stream::root(4)).unwrap(),
            bootstrap(&tasks, Stream::root(4)).unwrap(),
        );
        assert!((crossed.error - plain.error).abs() < 0.02 * plain.error, "{crossed:?} {plain:?}");
        assert_eq!(bootstrap_crossed(&[vec![None]], Stream::root(3)), None);
        assert_eq!(bootstrap_crossed(&[], Stream::root(3)), None);
    }

    #[test]
    fn bootstrap_of_shares_has_the_error_of_a_binomial() {
        // sqrt(p (1 - p) / n); 2.5 % and 97.5 % of scipy.stats.binom(n, p) / n, scipy 1.17
        for (ones, all, error, low, high) in [
            (5_u64, 22_u64, 0.089_346_067, 0.045_454_545, 0.409_090_909),
            (6_u64, 24_u64, 0.088_388_348, 0.083_333_333, 0.416_666_667),
            (3_u64, 62_u64, 0.027_252_045, 0.000_000_000, 0.112_903_226),
            (31_u64, 62_u64, 0.063_500_064, 0.370_967_742, 0.629_032_258),
        ] {
            let values: Vec<f64> = (0..all).map(|at| f64::from(u8::from(at < ones))).collect();
            let found = bootstrap(&values, Stream::root(2).index(all)).unwrap();
            assert!((found.error - error).abs() < 0.02 * error, "{ones} of {all}: {found:?}");
            // One step of the lattice, since the quantiles of draws may fall beside it.
            let step = 1.0 / all as f64 + 1e-12;
            assert!((found.interval.0 - low).abs() <= step, "{ones} of {all}: {found:?}");
            assert!((found.interval.1 - high).abs() <= step, "{ones} of {all}: {found:?}");
        }
        assert_eq!(bootstrap(&[], Stream::root(2)), None);
        let same = BootstrapError { error: 0.0, interval: (0.5, 0.5) };
        assert_eq!(bootstrap(&[0.5; 4], Stream::root(2)), Some(same));
    }
}
