//! The link of classes without an order: where they lie among the scores, and how uneven they are.

use super::structure::ClassPlan;
use crate::data::nominal::Nominal;
use crate::numeric::draws::Draws;
use crate::numeric::rounding::digits;
use crate::spec::blueprint::Link;

/// Rows of the population that shares are fitted to.
const ROWS: usize = 1000;
/// Places that are tried for each class; the one farthest from other classes is taken.
const PLACES: usize = 12;
/// How far from the middle a class may lie, in standard deviations of an axis.
const EDGE: f64 = 2.2;
/// Rounds in which weights are fitted to shares.
const ROUNDS: usize = 25;
/// Steps of the search for the spread.
const STEPS: usize = 8;

/// Axes for so many classes: in a plane, dozens of classes would be slivers.
pub(super) fn axes(plan: ClassPlan) -> usize {
    if plan.count <= 8 { 2 } else { 3 }
}

/// A link whose classes have the plan's shares among `scores`, one vector per axis, and of which the
/// most likely class of a row is right with probability `certainty` in the mean.
pub(super) fn link(
    scores: &[Vec<f64>],
    plan: ClassPlan,
    certainty: f64,
    draws: &mut Draws,
) -> Link {
    let points: Vec<Vec<f64>> =
        scores.iter().map(|axis| axis.iter().copied().take(ROWS).collect()).collect();
    let mut shares: Vec<f64> = (0..plan.count)
        .map(|class| {
            let rank = class as f64 / (plan.count - 1).max(1) as f64;
            libm::pow(plan.ratio, -rank)
        })
        .collect();
    draws.shuffle(&mut shares);
    let sum: f64 = shares.iter().sum();
    for share in &mut shares {
        *share = digits(*share / sum);
    }
    let centres = centres(&points, plan.count, draws);
    let (mut low, mut high) = (0.05, 1.5);
    for _ in 0..STEPS {
        let spread = digits(f64::midpoint(low, high));
        let weights = fitted(&points, &centres, &shares, spread);
        let nominal = Nominal { centres: &centres, weights: &weights, spread };
        let chances = nominal.chances(&points);
        let top = |row: &[f64]| row.iter().copied().fold(0.0, f64::max);
        let rows = points.first().map_or(1, Vec::len) as f64;
        let certain = chances.chunks_exact(plan.count).map(top).sum::<f64>() / rows;
        if certain > certainty {
            low = spread;
        } else {
            high = spread;
        }
    }
    let spread = digits(f64::midpoint(low, high));
    let weights = fitted(&points, &centres, &shares, spread);
    Link::Nominal { centres, weights, shares, spread }
}

/// Places of classes that keep apart from each other, among those where there are rows.
fn centres(points: &[Vec<f64>], count: usize, draws: &mut Draws) -> Vec<Vec<f64>> {
    let rows = points.first().map_or(0, Vec::len);
    let mut centres: Vec<Vec<f64>> = Vec::with_capacity(count);
    for _ in 0..count {
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..PLACES {
            let row = draws.whole(0, rows - 1);
            let place = points.iter().map(|axis| axis[row].clamp(-EDGE, EDGE));
            let place: Vec<f64> = place.map(|at| (at * 1000.0).round() / 1000.0).collect();
            let apart = |centre: &Vec<f64>| -> f64 {
                centre.iter().zip(&place).map(|(one, other)| (one - other) * (one - other)).sum()
            };
            let apart = centres.iter().map(apart).fold(f64::INFINITY, f64::min);
            if best.as_ref().is_none_or(|(most, _)| apart > *most) {
                best = Some((apart, place));
            }
        }
        centres.extend(best.map(|(_, place)| place));
    }
    centres
}

/// Weights with which the mean chance of each class is its share (iterative scaling).
fn fitted(points: &[Vec<f64>], centres: &[Vec<f64>], shares: &[f64], spread: f64) -> Vec<f64> {
    let rows = points.first().map_or(1, Vec::len) as f64;
    let mut weights = vec![1.0; centres.len()];
    for _ in 0..ROUNDS {
        let chances = Nominal { centres, weights: &weights, spread }.chances(points);
        for (class, (weight, share)) in weights.iter_mut().zip(shares).enumerate() {
            let mean = chances.iter().skip(class).step_by(centres.len()).sum::<f64>() / rows;
            *weight = digits(*weight * share / mean.max(1e-9));
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    #[test]
    fn classes_have_their_shares_and_are_as_certain_as_asked() {
        for (count, ratio) in [(4, 1.0), (12, 8.0), (40, 50.0)] {
            let mut draws = Draws::new(Stream::root(3));
            let plan = ClassPlan { count, ratio, pictured: false };
            let scores: Vec<Vec<f64>> =
                (0..axes(plan)).map(|_| (0..1500).map(|_| draws.normal()).collect()).collect();
            let link = link(&scores, plan, 0.8, &mut draws);
            let Link::Nominal { shares, .. } = &link else { panic!("nominal") };
            let most = shares.iter().copied().fold(0.0, f64::max);
            let least = shares.iter().copied().fold(1.0, f64::min);
            assert!((most / least / ratio - 1.0).abs() < 0.01, "{most} to {least}");
            let chances = Nominal::from_link(&link).chances(&scores);
            let mut certain = 0.0;
            let mut found = vec![0.0; count];
            for row in chances.chunks_exact(count) {
                certain += row.iter().copied().fold(0.0, f64::max) / 1500.0;
                found.iter_mut().zip(row).for_each(|(sum, chance)| *sum += chance / 1500.0);
            }
            assert!((certain - 0.8).abs() < 0.06, "{count} classes: {certain}");
            for (found, share) in found.iter().zip(shares) {
                assert!((found - share).abs() < 0.02 + 0.3 * share, "{found}, not {share}");
            }
        }
    }
}
