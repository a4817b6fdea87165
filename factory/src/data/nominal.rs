//! Classes without an order: regions of the space that a target's scores span.

use crate::spec::blueprint::Link;

/// Classes as points with weights, which blur into each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nominal<'a> {
    /// Where each class lies, one coordinate per axis.
    pub(crate) centres: &'a [Vec<f64>],
    /// Relative chance of each class at its centre.
    pub(crate) weights: &'a [f64],
    /// How far classes blur into each other, in units of scores.
    pub(crate) spread: f64,
}

impl<'a> Nominal<'a> {
    /// The classes of a link.
    ///
    /// # Panics
    /// If it has none, or they have an order.
    pub(crate) fn from_link(link: &'a Link) -> Self {
        let Link::Nominal { centres, weights, spread, .. } = link else {
            panic!("the link has no classes without an order")
        };
        Self { centres, weights, spread: *spread }
    }

    /// The chance of each class for each row, of shape `[rows, classes]`; `axes` holds the scores,
    /// one vector per axis.
    pub(crate) fn chances(&self, axes: &[Vec<f64>]) -> Vec<f64> {
        let rows = axes.first().map_or(0, Vec::len);
        let mut chances = Vec::with_capacity(rows * self.centres.len());
        let logs: Vec<f64> = self.weights.iter().map(|weight| libm::log(*weight)).collect();
        let width = 2.0 * self.spread * self.spread;
        for row in 0..rows {
            let distance = |centre: &Vec<f64>| -> f64 {
                let gap = |(axis, at): (&Vec<f64>, &f64)| (axis[row] - at) * (axis[row] - at);
                axes.iter().zip(centre).map(gap).sum()
            };
            let start = chances.len();
            let centres = self.centres.iter().zip(&logs);
            chances.extend(centres.map(|(centre, log)| log - distance(centre) / width));
            let own = &mut chances[start..];
            let top = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for chance in own.iter_mut() {
                *chance = libm::exp(*chance - top);
            }
            let sum: f64 = own.iter().sum();
            for chance in own {
                *chance /= sum;
            }
        }
        chances
    }
}

/// Gives every class a row that has none: the likeliest row of a class that has several. `chances`
/// has shape `[rows, classes]`.
pub(crate) fn complete(values: &mut [usize], chances: &[f64]) {
    let Some(classes) = chances.len().checked_div(values.len()) else { return };
    let mut counts = vec![0_usize; classes];
    for class in values.iter() {
        counts[*class] += 1;
    }
    for class in 0..classes {
        if counts[class] > 0 {
            continue;
        }
        let spare = (0..values.len()).filter(|row| counts[values[*row]] > 1);
        let at = |row: usize| chances[row * classes + class];
        let Some(row) = spare.max_by(|one, other| at(*one).total_cmp(&at(*other))) else { return };
        counts[values[row]] -= 1;
        counts[class] = 1;
        values[row] = class;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_follow_distance_and_weight() {
        let centres = [vec![0.0, 0.0], vec![2.0, 0.0]];
        let nominal = Nominal { centres: &centres, weights: &[1.0, 3.0], spread: 1.0 };
        // Half way, weights alone count; at a centre, exp(-2) times as much for the other.
        let chances = nominal.chances(&[vec![1.0, 0.0], vec![5.0, 0.0]]);
        assert!((chances[1] - 0.75).abs() < 1e-12);
        let other = 3.0 * libm::exp(-2.0);
        assert!((chances[3] - other / (1.0 + other)).abs() < 1e-12);
    }

    #[test]
    fn every_class_gets_a_row() {
        let mut values = vec![0, 0, 1, 0];
        let chances = [0.5, 0.4, 0.1, 0.2, 0.2, 0.6, 0.1, 0.1, 0.8, 0.9, 0.05, 0.05];
        complete(&mut values, &chances);
        assert_eq!(values, [0, 2, 1, 0]);
    }
}
