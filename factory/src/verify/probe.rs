//! Does something that should know nothing of the target go with it? Permutation tests.

use crate::numeric::draws::Draws;
use crate::numeric::moments::moments;
use tasks::metrics::classification::roc_auc;
use tasks::metrics::regression::spearman;
use tasks::stream::Stream;

/// Permutations of a probe, none of which may tell as much: p < 0.01 after Bonferroni's
/// correction for some twelve probes of a task.
pub(crate) const PERMUTATIONS: usize = 2000;
/// A correlation below this is of no use to anyone; for two classes it is 2 · AUC − 1, so that
/// an AUC up to 0.60 is harmless.
pub(crate) const HARMLESS: f64 = 0.2;
/// Standard deviations that the number of runs may be off.
pub(crate) const RUNS: f64 = 3.0;
/// Rows below which a class is no target of its own.
const FEW: usize = 20;
/// Permutations that reach what was seen, after which no more are tried (Besag and Clifford,
/// 1991).
const ENOUGH: usize = 5;

/// What a probe found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Finding {
    /// The strongest effect on any target: a correlation, or standard deviations of runs.
    pub(crate) effect: f64,
    /// Share of permutations whose effect is as large, in (0, 1]; `None` if the effect is too
    /// small.
    pub(crate) p: Option<f64>,
}

impl Finding {
    /// Whether the effect is large enough and no permutation reaches it.
    pub(crate) fn tells(&self) -> bool {
        self.p.is_some_and(|p| p <= 1.0 / (PERMUTATIONS + 1) as f64)
    }

    /// Effect and p-value of the probe if it found signal; `None` otherwise.
    pub(crate) fn telling(&self) -> Option<(f64, f64)> {
        self.p.filter(|_| self.tells()).map(|p| (self.effect, p))
    }
}

/// Classes without an order as one target each; two classes are one target. Of classes with few
/// rows, anything would tell some by chance: they are one target together.
pub(crate) fn flags(values: Vec<f64>, classes: usize) -> Vec<Vec<f64>> {
    if classes <= 2 {
        return vec![values];
    }
    let is = |value: &f64, class: usize| (value - class as f64).abs() < 0.5;
    let count = |class: usize| values.iter().filter(|value| is(value, class)).count();
    let (rare, usual): (Vec<usize>, Vec<usize>) =
        (0..classes).partition(|class| count(*class) < FEW);
    let flag = |of: &[usize]| -> Vec<f64> {
        let held = |value: &f64| of.iter().any(|class| is(value, *class));
        values.iter().map(|value| f64::from(u8::from(held(value)))).collect()
    };
    let rare = (!rare.is_empty()).then(|| flag(&rare));
    usual.into_iter().map(|class| flag(&[class])).chain(rare).collect()
}

/// Does a value per row go with any of the targets? Rows keep their targets together when they
/// are shuffled, so the p-value holds for all targets at once.
pub(crate) fn association(stream: Stream, values: &[f64], targets: &[Vec<f64>]) -> Finding {
    let strongest = |values: &[f64]| {
        let rho = |target: &Vec<f64>| spearman(target, values).unwrap_or(0.0).abs();
        targets.iter().map(rho).fold(0.0, f64::max)
    };
    let effect = targets.iter().map(|target| usefulness(target, values)).fold(0.0, f64::max);
    if effect <= HARMLESS {
        return Finding { effect, p: None };
    }
    let mut shuffled = values.to_vec();
    let seen = strongest(values);
    let p = chance(stream, |draws| {
        draws.shuffle(&mut shuffled);
        strongest(&shuffled) >= seen
    });
    Finding { effect, p: Some(p) }
}

/// |ρ|, or |2 · AUC − 1| where the target is one of two.
fn usefulness(target: &[f64], values: &[f64]) -> f64 {
    let top = target.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = target.iter().copied().fold(f64::INFINITY, f64::min);
    if target.iter().all(|value| *value == low || *value == top) {
        let held: Vec<usize> = target.iter().map(|value| usize::from(*value == top)).collect();
        return roc_auc(&held, values).map_or(0.0, |area| (2.0 * area - 1.0).abs());
    }
    spearman(target, values).unwrap_or(0.0).abs()
}

/// Tests whether the targets of successive rows form too few or too many runs. Blocks of one class,
/// or alternating classes, need not correlate with a row's place.
pub(crate) fn runs(stream: Stream, targets: &[Vec<f64>]) -> Finding {
    let sides: Vec<Vec<bool>> = targets.iter().map(|target| upper(target)).collect();
    let rows = sides.first().map_or(0, Vec::len);
    let mut order: Vec<usize> = (0..rows).collect();
    let strongest = |order: &[usize]| {
        sides.iter().map(|side| runs_score(side, order).abs()).fold(0.0, f64::max)
    };
    let effect = strongest(&order);
    if effect <= RUNS {
        return Finding { effect, p: None };
    }
    let p = chance(stream, |draws| {
        draws.shuffle(&mut order);
        strongest(&order) >= effect
    });
    Finding { effect, p: Some(p) }
}

/// Whether each value is above the median, or of the upper class.
fn upper(values: &[f64]) -> Vec<bool> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let top = sorted.last().copied().unwrap_or(0.0);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    // Of two classes, the upper one may hold more than half of the rows.
    let above = |value: &f64| if median < top { *value > median } else { *value >= top };
    values.iter().map(above).collect()
}

/// Standard deviations by which the number of runs exceeds what chance gives.
///
/// z = (R − μ) / σ with μ = 2ab/n + 1 and σ² = (μ − 1)(μ − 2)/(n − 1), for a rows on one side
/// and b on the other (Wald and Wolfowitz, 1940).
fn runs_score(side: &[bool], order: &[usize]) -> f64 {
    let n = order.len() as f64;
    let a = side.iter().filter(|up| **up).count() as f64;
    let mean = 2.0 * a * (n - a) / n.max(1.0) + 1.0;
    let variance = (mean - 1.0) * (mean - 2.0) / (n - 1.0).max(1.0);
    if variance <= 0.0 {
        return 0.0;
    }
    let runs = 1 + order.windows(2).filter(|pair| side[pair[0]] != side[pair[1]]).count();
    (runs as f64 - mean) / variance.sqrt()
}

/// The share of permutations that reach the observed effect.
fn chance(stream: Stream, mut reaches: impl FnMut(&mut Draws) -> bool) -> f64 {
    let mut draws = Draws::new(stream);
    let mut reached = 0_usize;
    for done in 1..=PERMUTATIONS {
        reached += usize::from(reaches(&mut draws));
        if reached == ENOUGH {
            return reached as f64 / done as f64;
        }
    }
    (reached + 1) as f64 / (PERMUTATIONS + 1) as f64
}

/// Whether a value differs between rows at all.
pub(crate) fn varies(values: &[f64]) -> bool {
    moments(values).1 > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::root(7)
    }

    fn noise(rows: usize) -> Vec<f64> {
        let mut draws = Draws::new(stream().child("noise"));
        (0..rows).map(|_| draws.unit()).collect()
    }

    #[test]
    fn noise_tells_nothing_and_a_copy_tells_all() {
        let target = noise(200);
        let mut other = target.clone();
        Draws::new(stream().child("shuffle")).shuffle(&mut other);
        assert!(!association(stream(), &other, std::slice::from_ref(&target)).tells());
        let copy = association(stream(), &target, &[other, target.clone()]);
        assert!(copy.tells() && (copy.effect - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_class_in_the_middle_is_seen() {
        // The middle class has the largest values: a rank correlation with the class is blind.
        let class: Vec<f64> = (0..150_u32).map(|row| f64::from(row % 3)).collect();
        let noise = noise(150);
        let probe: Vec<f64> = class
            .iter()
            .zip(noise)
            .map(|(class, noise)| noise + f64::from(u8::from(*class == 1.0)))
            .collect();
        let flat = association(stream(), &probe, std::slice::from_ref(&class));
        assert!(!flat.tells(), "{flat:?}");
        assert!(association(stream(), &probe, &flags(class, 3)).tells());
    }

    #[test]
    fn blocks_and_turns_are_seen_by_runs_alone() {
        let place: Vec<f64> = (0..160_u32).map(f64::from).collect();
        for length in [1, 10] {
            let class: Vec<f64> = (0..160_u32).map(|row| f64::from(row / length % 2)).collect();
            let target = [class];
            assert!(!association(stream(), &place, &target).tells());
            assert!(runs(stream(), &target).tells(), "{length}");
        }
        assert!(!runs(stream(), &[noise(160)]).tells());
    }

    #[test]
    fn runs_are_scored_as_in_the_formula() {
        // Four of each: μ = 5, σ² = 4 · 3 / 7; two runs are three too few.
        let side = [true, true, true, true, false, false, false, false];
        let order: Vec<usize> = (0..8).collect();
        let expected = -3.0 / (12.0_f64 / 7.0).sqrt();
        assert!((runs_score(&side, &order) - expected).abs() < 1e-12);
        assert_eq!(runs_score(&[true; 8], &order), 0.0);
    }
}
